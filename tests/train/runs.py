"""Runs of the tiny task: whole, stopped half way, compared."""

import signal

import torch

from weft.train import fit


def train(tiny, directory=None, *, model=None, loss_step=None, evaluate=True, resume=True, **changes):
    config = tiny.config(**changes)
    model = tiny.model() if model is None else model
    history = fit(
        model,
        tiny.batches(config),
        loss_step or tiny.loss_step,
        config,
        evaluate=tiny.evaluate if evaluate is True else evaluate or None,
        directory=directory,
        resume=resume,
        quiet=True,
    )
    return model, history


def stop_after(tiny, calls, number=signal.SIGINT):
    """A loss step that asks for a stop, as Ctrl-C does."""
    count = 0

    def loss_step(model, batch):
        nonlocal count
        count += 1
        if count == calls:
            signal.raise_signal(number)
        return tiny.loss_step(model, batch)

    return loss_step


def same_weights(a, b):
    return all(
        torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True)
    )

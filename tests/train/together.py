"""What two processes must get right, run by torchrun; each writes what it saw to ``DIRECTORY/RANK.json``."""

import atexit
import faulthandler
import json
import signal
import sys
from pathlib import Path

import tiny
import torch

from weft.errors import ConfigError, Interrupted
from weft.train import Batches, LengthBuckets, fit, pad
from weft.train.distributed import World, join

TASKS = Path("/proc/self/task")


def plain_collate(indices, generator):
    ids, mask = pad([tiny.SEQUENCES[i] for i in indices], tiny.PAD_ID)
    return {"ids": ids, "mask": mask, "labels": tiny.LABELS[indices]}


def plain_batches(config, world):
    lengths = [len(sequence) for sequence in tiny.SEQUENCES]
    plan = LengthBuckets(lengths, config.batch_size, seed=config.seed, rank=world.rank, world_size=world.size)
    return Batches(plan, plain_collate)


def joint_run(world, directory=None):
    """Without randomness: several processes must do what one does."""
    config = tiny.config(steps=8, threads=1)
    model = tiny.model(dropout=0.0)
    # A head that only the first process's batches use: DDP must not wait for it.
    model.spare = torch.nn.Linear(12, 1)
    torch.nn.init.ones_(model.spare.weight)
    torch.nn.init.zeros_(model.spare.bias)
    history = fit(
        model,
        plain_batches(config, world),
        tiny.loss_step,
        config,
        evaluate=tiny.evaluate,
        directory=directory,
        quiet=True,
    )
    return history, [parameter.detach().flatten().tolist() for parameter in model.parameters()]


def interrupted_run(world, directory):
    """With dropout and masks, stopped in one process, taken up in all, against the run in one piece."""
    config = tiny.config(steps=9, threads=1, processes=2)

    def run(loss_step, where):
        return fit(
            tiny.model(),
            tiny.batches(config, world),
            loss_step,
            config,
            evaluate=tiny.evaluate,
            directory=where,
            quiet=True,
        )

    calls = 0

    def stopping(model, batch):
        nonlocal calls
        calls += 1
        if calls == 7 and world.rank == 1:
            signal.raise_signal(signal.SIGINT)
        return tiny.loss_step(model, batch)

    whole = run(tiny.loss_step, None)
    try:
        run(stopping, directory)
        stopped = ""
    except Interrupted as error:
        stopped = str(error)
    rest = run(tiny.loss_step, directory)
    return {"whole": whole.losses, "stopped": stopped, "first_step": rest.first_step, "rest": rest.losses}


def entries_run(world, directory):
    """Each process notes what the other has not: nobody waits for it, and nothing is mixed up."""
    config = tiny.config(steps=2, threads=1, log_every=2, accumulation=1)

    def loss_step(model, batch):
        own = {"left": 1.0, "both": 2.0} if world.rank == 0 else {"right": 5.0, "both": 4.0, "more": 7.0}
        return {**tiny.loss_step(model, batch), **own}

    fit(tiny.model(), plain_batches(config, world), loss_step, config, directory=directory, quiet=True)


def contrast_run(world):
    """A loss over all pairs of a batch that the processes share; loss, and the mean gradient of the weights."""
    rows = torch.randn(8, 6, generator=torch.Generator().manual_seed(5))
    own = rows.chunk(world.size)[world.rank]
    torch.manual_seed(0)
    layer = torch.nn.Linear(6, 4)
    every = world.rows(layer(own))
    # Each row weighs as much as its place among all: a mixed-up order shows.
    weights = world.rows(torch.arange(8).chunk(world.size)[world.rank])
    loss = ((every @ every.T).softmax(dim=-1).square() * weights[:, None]).sum()
    loss.backward()
    return [loss.item(), *world.mean(layer.weight.grad).flatten().tolist()]


def write_threads(path):
    path.write_text("\n".join((task / "comm").read_text().strip() for task in TASKS.iterdir()))


def main():
    # Whatever hangs says where, and does not outlive the test.
    faulthandler.dump_traceback_later(280, exit=True)
    world, directory = World.launched(), Path(sys.argv[1])
    # Registered first, called last: after the group has been left.
    if TASKS.exists():
        atexit.register(write_threads, directory / f"{world.rank}.threads")
    seen = {"rank": world.rank, "size": world.size}
    history, weights = joint_run(world, directory / "joint")
    seen["joint"] = {"losses": history.losses, "evaluations": history.evaluations, "weights": weights}
    seen["interrupted"] = interrupted_run(world, directory / "interrupted")
    entries_run(world, directory / "entries")
    counted, device = join("cpu")
    seen["mean"] = counted.mean(torch.tensor([float(world.rank)])).item()
    seen["any"] = [counted.any(world.rank == 1, device), counted.any(False, device)]
    seen["contrast"] = contrast_run(counted)
    seen["gather"] = counted.gather(world.rank * 10)
    seen["first"] = counted.from_first(world.rank)
    try:
        fit(tiny.model(), plain_batches(tiny.config(), world), tiny.loss_step, tiny.config(processes=3))
    except ConfigError as error:
        seen["expected three"] = str(error)
    (directory / f"{world.rank}.json").write_text(json.dumps(seen))


if __name__ == "__main__":
    main()

import json
import signal
import threading
from itertools import islice

import pytest
import torch
from tests.train.runs import same_weights, stop_after, train
from torch import nn
from torch.utils.data import DataLoader

from weft.errors import (
    CheckpointError,
    ConfigError,
    InputError,
    Interrupted,
    NonFiniteError,
)
from weft.train import History, fit
from weft.train.optimizer import build_optimizer, set_learning_rate
from weft.train.snapshot import model_tensors


def test_a_tiny_model_overfits(tiny):
    model, history = train(tiny, model=tiny.model(dropout=0.0), steps=150, learning_rate=0.03)
    assert history.losses[0] > 0.5
    assert history.losses[-1] < 0.1
    assert tiny.evaluate(model.eval())["accuracy"] == 1.0
    assert history.best_step is not None
    assert history.stopped == "end"


def test_bf16_learns_too_and_keeps_float32_parameters(tiny):
    model, history = train(
        tiny, model=tiny.model(dropout=0.0), steps=100, learning_rate=0.03, precision="bf16"
    )
    assert history.losses[-1] < 0.2
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


def test_the_same_seed_gives_the_same_run_and_another_does_not(tiny):
    first, a = train(tiny)
    second, b = train(tiny)
    _, c = train(tiny, seed=1)
    assert a == b
    assert same_weights(first, second)
    assert a.losses != c.losses


def test_evaluation_does_not_change_training(tiny):
    _, with_evaluation = train(tiny)
    _, without = train(tiny, evaluate=False)
    assert with_evaluation.losses == without.losses


@pytest.mark.parametrize("calls", [1, 9, 24, 57])
def test_interrupted_and_resumed_is_bitwise_the_run_in_one_piece(tiny, tmp_path, calls):
    whole_model, whole = train(tiny)
    with pytest.raises(Interrupted, match=r"stopped after step \d+ of 30 \(run it again to go on\)"):
        train(tiny, tmp_path, loss_step=stop_after(tiny, calls))
    torch.manual_seed(999)  # what happens in between does not matter
    model, rest = train(tiny, tmp_path)
    assert rest.first_step == (calls + 1) // 2
    assert rest.losses == whole.losses[rest.first_step :]
    assert rest.evaluations == whole.evaluations
    assert same_weights(model, whole_model)
    records = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [r["step"] for r in records] == sorted(r["step"] for r in records)
    logged = [r["evaluation/loss"] for r in records if "evaluation/loss" in r]
    assert logged == [evaluation["loss"] for evaluation in whole.evaluations]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_interrupt_leaves_the_handlers_as_they_were(tiny, tmp_path, number):
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with pytest.raises(Interrupted):
        train(tiny, tmp_path, loss_step=stop_after(tiny, 3, number))
    train(tiny)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


@pytest.fixture
def default_interrupt():
    """Python's own handler: a shell that starts the tests in the background has SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("default_interrupt")
def test_a_second_ctrl_c_does_not_wait(tiny):
    def loss_step(model, batch):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        return tiny.loss_step(model, batch)

    with pytest.raises(KeyboardInterrupt):
        train(tiny, loss_step=loss_step)


def test_an_interrupt_without_a_directory_says_that_nothing_was_saved(tiny):
    with pytest.raises(Interrupted, match="nothing was saved") as caught:
        train(tiny, loss_step=stop_after(tiny, 3))
    assert caught.value.exit_code == 130


def test_it_trains_outside_the_main_thread(tiny):
    histories = []
    thread = threading.Thread(target=lambda: histories.append(train(tiny, steps=3)[1]))
    thread.start()
    thread.join()
    assert len(histories[0].losses) == 3


def test_a_finished_run_is_not_repeated(tiny, tmp_path):
    first, _ = train(tiny, tmp_path)
    second, again = train(tiny, tmp_path)
    assert again.losses == []
    assert again.step == 30
    assert same_weights(first, second)


def test_accumulation_equals_the_larger_batch(tiny):
    class Fixed:
        """Every batch of four examples, or all of them as batches of one."""

        def __init__(self, size):
            self.size = size

        def __len__(self):
            return 4 // self.size

        def epoch(self, epoch, start=0):
            batches = [list(range(i, i + self.size)) for i in range(0, 4, self.size)]
            for indices in batches[start:]:
                ids, mask = tiny.pad([tiny.SEQUENCES[i] for i in indices], 0, length=12)
                yield {"ids": ids, "mask": mask, "labels": tiny.LABELS[indices]}

    results = []
    for size in (4, 2, 1):
        config = tiny.config(steps=6, accumulation=4 // size)
        model = tiny.model(dropout=0.0)
        fit(model, Fixed(size), tiny.loss_step, config)
        results.append(model)
    for other in results[1:]:
        for a, b in zip(results[0].parameters(), other.parameters(), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_a_step_equals_its_equation(tiny, tmp_path):
    config = tiny.config(steps=3, accumulation=2, max_grad_norm=0.1, log_every=1)
    model, history = train(
        tiny, tmp_path, model=tiny.model(dropout=0.0), evaluate=False, steps=3, max_grad_norm=0.1, log_every=1
    )
    other = tiny.model(dropout=0.0)
    optimizer = build_optimizer(other, config, torch.device("cpu"))
    batches = tiny.batches(config).epoch(0)
    losses, lengths = [], []
    for step in range(3):
        set_learning_rate(optimizer, config.learning_rate * config.factor(step, 3))
        mean = sum(tiny.loss_step(other, batch)["loss"] for batch in islice(batches, 2)) / 2
        gradients = torch.autograd.grad(mean, list(other.parameters()))
        length = torch.cat([gradient.flatten() for gradient in gradients]).norm()
        for parameter, gradient in zip(other.parameters(), gradients, strict=True):
            parameter.grad = gradient * min(1.0, 0.1 / float(length))
        optimizer.step()
        losses.append(mean.item())
        lengths.append(float(length))
    assert min(lengths) > 0.1
    assert history.losses == pytest.approx(losses, rel=1e-4)
    logged = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [record["grad_norm"] for record in logged] == pytest.approx(lengths, rel=1e-4)
    for a, b in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_an_epochs_last_step_takes_the_batches_that_are_left(tiny):
    # 6 batches an epoch, 4 to a step: steps of 4 and 2.
    seen = []

    def loss_step(model, batch):
        seen.append(len(batch["labels"]))
        return tiny.loss_step(model, batch)

    _, history = train(tiny, loss_step=loss_step, steps=None, epochs=2, accumulation=4)
    assert len(history.losses) == 4
    assert len(seen) == 12


def test_gradients_are_clipped(tiny):
    lengths = []

    class Watched(torch.optim.AdamW):
        def step(self, closure=None):
            grads = [p.grad.flatten() for group in self.param_groups for p in group["params"]]
            lengths.append(torch.cat(grads).norm().item())
            return super().step(closure)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weft.train.optimizer.torch.optim.AdamW", Watched)
        train(tiny, steps=5, max_grad_norm=0.01)
    assert len(lengths) == 5
    assert max(lengths) <= 0.01 * 1.001


def scripted(values):
    """An evaluation whose loss follows a script."""
    numbers = iter(values)
    return lambda model: {"loss": next(numbers)}


@pytest.mark.parametrize("on_disk", [True, False])
def test_early_stopping_restores_the_best_weights(tiny, tmp_path, on_disk):
    directory = tmp_path if on_disk else None
    kept = {}

    def evaluate(model):
        kept[len(kept)] = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        return {"loss": [3.0, 1.0, 2.0, 1.0, 5.0][len(kept) - 1]}

    model, history = train(tiny, directory, evaluate=evaluate, patience=3)
    assert history.stopped == "early"
    assert (history.best_step, history.best, history.step) == (10, 1.0, 25)
    assert all(torch.equal(tensor, kept[1][name]) for name, tensor in model.state_dict().items())
    if on_disk:
        again, finished = train(tiny, directory, evaluate=evaluate, patience=3)
        assert finished.losses == []
        assert finished.stopped == "early"
        assert same_weights(model, again)


def test_a_higher_metric_can_be_the_better_one(tiny):
    _, history = train(tiny, evaluate=scripted([0.1, 0.5, 0.3, 0.2, 0.1, 0.0]), mode="max")
    assert (history.best_step, history.best) == (10, 0.5)


def test_the_last_weights_can_be_kept(tiny):
    last, _ = train(tiny, evaluate=False)
    model, _ = train(tiny, evaluate=scripted([1.0, 2.0, 2.0, 2.0, 2.0, 2.0]), restore_best=False)
    assert same_weights(model, last)


def test_a_loss_that_is_not_finite_is_named_by_its_step(tiny, tmp_path):
    count = 0

    def loss_step(model, batch):
        nonlocal count
        count += 1
        values = tiny.loss_step(model, batch)
        return {**values, "loss": values["loss"] * float("nan")} if count == 27 else values

    with pytest.raises(NonFiniteError, match="loss is nan at step 14"):
        train(tiny, tmp_path, loss_step=loss_step)
    # What was saved is from before.
    model, history = train(tiny, tmp_path)
    assert history.first_step == 12
    assert all(torch.isfinite(parameter).all() for parameter in model.parameters())


def test_a_gradient_that_is_not_finite_is_named(tiny):
    with pytest.raises(NonFiniteError, match="grad_norm is nan at step 1"):
        train(tiny, loss_step=lambda model, batch: {"loss": (model.head.weight.sum() * 0).sqrt()})


@pytest.mark.parametrize(
    ("endless", "told"), [(0, "query: NaN or infinity at step 3"), (2, "grad_norm is nan at step 2")]
)
def test_what_a_model_finds_in_its_tensors_is_named_by_its_step(tiny, endless, told):
    count = 0

    def loss_step(model, batch):
        nonlocal count
        count += 1
        if count == 3:
            raise NonFiniteError("NaN or infinity", where="query", hint="look at the inputs")
        loss = tiny.loss_step(model, batch)["loss"]
        return {"loss": loss + (model.head.weight.sum() * 0).sqrt() if count == endless else loss}

    with pytest.raises(NonFiniteError, match=told) as caught:
        train(tiny, loss_step=loss_step, accumulation=1)
    assert caught.value.where == "training"
    assert "lower the learning rate" in (caught.value.hint or "")


def test_without_a_bound_a_gradient_that_is_not_finite_is_named_too(tiny, tmp_path):
    count = 0

    def loss_step(model, batch):
        nonlocal count
        count += 1
        loss = tiny.loss_step(model, batch)["loss"]
        # The loss is a number; its gradient, in the last step, is none.
        return {"loss": loss + (model.head.weight.sum() * 0).sqrt() if count == 8 else loss}

    with pytest.raises(NonFiniteError, match="grad_norm is nan at step 4"):
        train(tiny, tmp_path, steps=4, max_grad_norm=None, loss_step=loss_step, evaluate=False)
    assert not list((tmp_path / "checkpoints").glob("*"))


def test_the_best_weights_are_those_of_the_step_that_is_best(tiny, tmp_path):
    # Killed after a better evaluation and before the next checkpoint; done again, that evaluation is worse.
    kept = {}

    def evaluation(losses):
        numbers = iter(losses)

        def evaluate(model):
            kept[len(kept)] = {name: tensor.clone() for name, tensor in model.state_dict().items()}
            return {"loss": next(numbers)}

        return evaluate

    class KilledError(Exception):
        pass

    def killed(model, batch):
        nonlocal count
        count += 1
        if count > 2 * 9:
            raise KilledError
        return tiny.loss_step(model, batch)

    count = 0
    plan = {"steps": 12, "eval_every": 4, "save_every": 6, "patience": None}
    with pytest.raises(KilledError):
        train(tiny, tmp_path, evaluate=evaluation([1.0, 0.5]), loss_step=killed, **plan)
    model, history = train(tiny, tmp_path, evaluate=evaluation([2.0, 3.0]), **plan)
    assert (history.first_step, history.best_step) == (6, 4)
    assert all(torch.equal(tensor, kept[0][name]) for name, tensor in model.state_dict().items())
    assert [path.name for path in tmp_path.glob("best-*")] == ["best-00000004.safetensors"]


def test_what_a_run_depends_on_is_the_same_when_it_is_taken_up(tiny, tmp_path):
    def run(**identity):
        config = tiny.config(steps=4)
        return fit(
            tiny.model(),
            tiny.batches(config),
            tiny.loss_step,
            config,
            directory=tmp_path,
            quiet=True,
            identity=identity,
        )

    assert run(data="1", learning="2").step == 4
    with pytest.raises(ConfigError, match="started with other settings or data: data"):
        run(data="3", learning="2")
    # What an older version did not note is not missed.
    assert run(data="1", other="5").losses == []


def test_another_config_is_refused_and_a_harmless_change_is_not(tiny, tmp_path):
    with pytest.raises(Interrupted):
        train(tiny, tmp_path, loss_step=stop_after(tiny, 9))
    with pytest.raises(ConfigError, match=r"another config: learning_rate 0.01 → 0.02, seed 0 → 4"):
        train(tiny, tmp_path, learning_rate=0.02, seed=4)
    with pytest.raises(ConfigError, match="batches_per_epoch"):
        fit(
            tiny.model(),
            tiny.batches(tiny.config(batch_size=16)),
            tiny.loss_step,
            tiny.config(),
            directory=tmp_path,
        )
    with pytest.raises(ConfigError, match="there is a run already"):
        train(tiny, tmp_path, resume=False)
    _, history = train(tiny, tmp_path, log_every=1, keep=5)
    assert history.step == 30


def test_another_model_is_refused(tiny, tmp_path):
    train(tiny, tmp_path, steps=4)
    other = tiny.model()
    other.head = nn.Linear(12, 3)
    with pytest.raises(CheckpointError, match=r"of another shape: head\.bias, head\.weight"):
        train(tiny, tmp_path, steps=4, model=other)
    other = tiny.model()
    other.extra = nn.Linear(2, 2)
    with pytest.raises(CheckpointError, match=r"missing: extra\.bias, extra\.weight"):
        train(tiny, tmp_path, steps=4, model=other)


def test_a_named_checkpoint_is_taken_up_and_later_ones_are_given_up(tiny, tmp_path):
    whole_model, whole = train(tiny, tmp_path, keep=3)
    assert sorted(p.name for p in (tmp_path / "checkpoints").iterdir()) == [
        "step-00000024",
        "step-00000028",
        "step-00000030",
    ]
    with pytest.raises(Interrupted):
        train(tiny, tmp_path, keep=3, resume="step-00000024", loss_step=stop_after(tiny, 3))
    assert sorted(p.name for p in (tmp_path / "checkpoints").iterdir()) == ["step-00000024", "step-00000026"]
    model, rest = train(tiny, tmp_path, keep=3)
    assert rest.losses == whole.losses[26:]
    assert same_weights(model, whole_model)
    with pytest.raises(CheckpointError, match=r"no checkpoint step-9 .*there: step-"):
        train(tiny, tmp_path, resume="step-9")
    with pytest.raises(ConfigError, match="no directory was given"):
        train(tiny, resume="step-9")


def test_what_a_loss_step_or_an_evaluation_must_give(tiny):
    with pytest.raises(ConfigError, match="loss_step gave accuracy; one entry must be called 'loss'"):
        train(tiny, loss_step=lambda model, batch: {"accuracy": torch.ones(())})
    with pytest.raises(ConfigError, match=r"loss of shape \(2,\)"):
        train(tiny, loss_step=lambda model, batch: {"loss": model.head.bias})
    with pytest.raises(ConfigError, match="metric is 'f1'; the evaluation gives loss, accuracy"):
        train(tiny, metric="f1")
    with pytest.raises(ConfigError, match="evaluate gave a NoneType"):
        train(tiny, evaluate=lambda model: None)
    with pytest.raises(NonFiniteError, match="loss is nan at step 5"):
        train(tiny, evaluate=scripted([float("nan")]))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda values: values["loss"], "loss_step gave a Tensor .it must give"),
        (lambda values: None, "loss_step gave a NoneType"),
        (lambda values: {"loss": 0.5}, "a loss that is a float; it must be a scalar tensor"),
        (lambda values: {"loss": values["loss"].detach()}, "a loss without a gradient"),
        (lambda values: {**values, "parts": torch.ones(3)}, r"an entry 'parts' of shape \(3,\)"),
        (lambda values: {**values, "name": "x"}, "an entry 'name' that is a str"),
        (
            lambda values: {**values, "step": torch.ones(())},
            "loss_step gave step, which the log has by itself",
        ),
        (lambda values: {**values, "grad_norm": torch.ones(())}, "grad_norm, which the log has by itself"),
    ],
)
def test_what_a_loss_step_must_not_give_is_named(tiny, change, told):
    with pytest.raises(ConfigError, match=told):
        train(tiny, loss_step=lambda model, batch: change(tiny.loss_step(model, batch)))


def test_plain_numbers_of_a_loss_step_are_logged(tiny, tmp_path):
    def loss_step(model, batch):
        return {**tiny.loss_step(model, batch), "rows": len(batch["labels"]), "share": 0.25}

    train(tiny, tmp_path, loss_step=loss_step, steps=2, log_every=1, evaluate=False)
    records = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [record["share"] for record in records] == [0.25, 0.25]
    assert all(record["rows"] >= 1 for record in records)


def test_an_entry_of_some_batches_is_the_mean_of_those(tiny, tmp_path):
    calls = 0

    def loss_step(model, batch):
        nonlocal calls
        calls += 1
        return {**tiny.loss_step(model, batch), **({"pairs": 3.0} if calls % 2 else {})}

    train(tiny, tmp_path, loss_step=loss_step, steps=2, accumulation=2, log_every=1, evaluate=False)
    records = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [record["pairs"] for record in records] == [3.0, 3.0]


def test_bad_batches_and_models_are_named(tiny):
    class Short:
        def __init__(self, promised):
            self.promised = promised

        def __len__(self):
            return self.promised

        def epoch(self, epoch, start=0):
            return iter([tiny.collate([0, 1], torch.Generator())][start:])

    config = tiny.config()
    with pytest.raises(InputError, match="no batches to train on"):
        fit(tiny.model(), Short(0), tiny.loss_step, config)
    with pytest.raises(InputError, match="epoch 0 ended before its 2 batches"):
        fit(tiny.model(), Short(2), tiny.loss_step, config)
    with pytest.raises(InputError, match="a DataLoader has no epoch"):
        fit(tiny.model(), DataLoader([1, 2]), tiny.loss_step, config)
    frozen = tiny.model().requires_grad_(False)
    with pytest.raises(InputError, match="no trainable parameter"):
        train(tiny, model=frozen)
    with pytest.raises(ConfigError, match="device is 'abacus'"):
        train(tiny, device="abacus")
    with pytest.raises(ConfigError, match=r"TrainConfig.processes is 2, and 1 took part"):
        train(tiny, processes=2)


def test_modes_are_left_as_the_evaluation_found_them(tiny):
    modes = []

    def evaluate(model):
        modes.append((model.training, torch.is_grad_enabled()))
        return {"loss": 1.0}

    def loss_step(model, batch):
        modes.append((model.training, torch.is_grad_enabled()))
        return tiny.loss_step(model, batch)

    train(tiny, evaluate=evaluate, loss_step=loss_step, steps=2, eval_every=1, accumulation=1)
    assert modes == [(True, True), (False, False), (True, True), (False, False)]


def test_shared_tensors_are_saved_once_and_stay_shared(tmp_path):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embeddings = nn.Embedding(5, 3)
            self.decoder = nn.Linear(3, 5, bias=False)
            self.decoder.weight = self.embeddings.weight

    assert list(model_tensors(Tied())) == ["embeddings.weight"]


def test_history_counts():
    assert History(first_step=4, losses=[1.0, 2.0]).step == 6

"""Bounded processes: whatever one item does, the others get their answer, in order."""

import math
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from weft.errors import InputError, LimitError, MissingExtraError
from weft.platform.processes import Limits, run_bounded, run_here, run_loaded
from weft.platform.processes.bounded import uninterrupted


def misbehave(item):
    match item:
        case "hang":
            time.sleep(60)
        case "die":
            os._exit(3)
        case "crash":
            os.abort()
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "cut":
            os.kill(os.getpid(), signal.SIGBUS)
        case "eat":
            return len(bytearray(8 << 30))
        case "return too much":
            # It fits once, and not a second time as a pickle.
            return bytearray(1200 << 20)
        case "return a lambda":
            return lambda: None
        case "refuse":
            raise InputError("not wanted", where="item")
        case "lack":
            raise MissingExtraError("angr", "angr")
        case "break":
            raise RuntimeError("a parser's own fault")
    return item.upper()


ENDS = {
    "hang": (LimitError, "hang: took more than 12 s"),
    "die": (InputError, "die: its worker process died (exit code 3)"),
    "crash": (InputError, "crash: its worker process died (SIGABRT)"),
    "killed": (InputError, "killed: its worker process died (SIGKILL)"),
    "cut": (InputError, "cut: its worker process died (SIGBUS: a file was cut short while it was read"),
    "eat": (LimitError, "eat: needs more than 2048 MiB"),
    "return too much": (LimitError, "return too much: needs more than 2048 MiB"),
    "return a lambda": (InputError, "return a lambda: cannot be analysed"),
    "refuse": (InputError, "item: not wanted"),
    "lack": (MissingExtraError, "angr is not installed (pip install '.[angr]' in the checkout)"),
    "break": (InputError, "break: cannot be analysed (RuntimeError: a parser's own fault)"),
}


def test_every_kind_of_failure_is_one_outcome_and_the_rest_goes_on():
    items = [name for number, end in enumerate(ENDS) for name in (end, f"good {number}")]
    outcomes = list(run_bounded(misbehave, items, workers=2, limits=Limits(seconds=12.0, mebibytes=2048)))
    assert [outcome.item for outcome in outcomes] == items
    for outcome in outcomes:
        if outcome.item in ENDS:
            kind, message = ENDS[outcome.item]
            assert type(outcome.error) is kind
            assert str(outcome.error).startswith(message)
            assert outcome.value is None
        else:
            assert (outcome.value, outcome.error) == (outcome.item.upper(), None)


def test_a_process_that_dies_takes_one_item_with_it():
    outcomes = list(run_bounded(misbehave, ["die"] * 3 + ["a"], workers=1, limits=Limits()))
    assert [outcome.error is None for outcome in outcomes] == [False, False, False, True]


def nap(seconds):
    time.sleep(seconds)
    return os.getpid()


def test_order_is_kept_and_processes_are_used_again():
    naps = [0.4, 0.0, 0.1, 0.0, 0.0]
    outcomes = list(run_bounded(nap, naps, workers=2, limits=Limits()))
    assert [outcome.item for outcome in outcomes] == naps
    assert len({outcome.value for outcome in outcomes}) == 2
    assert outcomes[0].seconds >= 0.4


def test_a_slow_item_does_not_pile_up_the_rest(monkeypatch):
    from weft.platform.processes import bounded

    monkeypatch.setattr(bounded, "_AHEAD", 2)
    seen = list(run_bounded(stamp, range(12), workers=2, limits=Limits()))
    first_done = seen[0].value
    assert sum(outcome.value < first_done for outcome in seen[1:]) <= 3


def stamp(number):
    time.sleep(0 if number else 0.8)
    return time.time()


def test_a_limit_below_the_one_asked_for_stays():
    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))

    code = (
        "import operator\nfrom weft.platform.processes import Limits, run_bounded\n"
        "if __name__ == '__main__':\n"
        "    print([o.value for o in run_bounded(operator.neg, [1], workers=1, limits=Limits(mebibytes=9999))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], preexec_fn=limited, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[-1]\n"


def test_what_was_loaded_before_is_not_the_memory_of_an_item():
    """Where others have begun to import a large library for processes to come, it lies in each of them."""
    code = (
        "from weft.platform.processes import Limits, get_ready, run_bounded\n"
        "if __name__ == '__main__':\n"
        "    get_ready('torch')\n"
        "    outcomes = run_bounded(bytes, [1 << 26, 1 << 29], workers=1, limits=Limits(mebibytes=256))\n"
        "    print([str(o.error) if o.value is None else len(o.value) for o in outcomes])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[67108864, '536870912: needs more than 256 MiB']\n"


def test_a_script_without_a_guard_is_not_run_again(tmp_path):
    script = tmp_path / "plain.py"
    script.write_text(
        "import operator\n"
        "from weft.platform.processes import Limits, run_bounded\n"
        "print([o.value for o in run_bounded(operator.neg, [1, 2, 3], workers=2, limits=Limits())])\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[-1, -2, -3]\n", "")


def test_stopping_early_leaves_no_process():
    generator = run_bounded(misbehave, ["a", "b", "hang"], workers=2, limits=Limits(seconds=60))
    assert next(generator).value == "A"
    generator.close()
    assert not multiprocessing.active_children()


def test_an_interrupt_ends_the_processes_at_once(tmp_path):
    script = tmp_path / "waits.py"
    script.write_text(
        "import os, signal, time\n"
        "from weft.platform.processes import Limits, run_bounded\n"
        # What was started in the background of a shell ignores the signal, and so would this.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def wait(item):\n"
        "    os.write(1, b'%d\\n' % os.getpid())\n"
        "    time.sleep(60)\n"
        "if __name__ == '__main__':\n"
        "    try:\n"
        "        list(run_bounded(wait, [1, 2], workers=2, limits=Limits()))\n"
        "    except KeyboardInterrupt:\n"
        "        print('interrupted', flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as run:
        assert run.stdout is not None
        children = [int(run.stdout.readline()) for _ in range(2)]
        # As a terminal does: to the whole group, the children among it.
        os.killpg(run.pid, signal.SIGINT)
        assert run.stdout.readline() == "interrupted\n"
        assert run.wait(10) == 0
    for child in children:
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)


@pytest.mark.parametrize("kind", ["sleeps", "lets no other thread run"])
def test_a_run_that_is_ended_takes_its_processes_with_it(tmp_path, kind):
    script = tmp_path / "ended.py"
    script.write_text(
        "import itertools, os, sys, time\n"
        "from weft.platform.processes import Limits, run_bounded\n"
        "def work(kind):\n"
        "    os.write(1, b'begun\\n')\n"
        "    time.sleep(600) if kind == 'sleeps' else all(itertools.repeat(True, 1 << 36))\n"
        "if __name__ == '__main__':\n"
        "    list(run_bounded(work, sys.argv[1:], workers=1, limits=Limits()))\n"
    )
    command = [sys.executable, str(script), kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "begun\n"
        run.terminate()
        try:
            # The output ends when all who could write to it are gone.
            assert run.communicate(timeout=60) == ("", None)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)
    assert run.returncode == -signal.SIGTERM


def test_an_interrupt_while_processes_start_is_no_traceback(tmp_path):
    (tmp_path / "slow.py").write_text(
        "import os, time\n"
        "def work(item):\n"
        "    time.sleep(600)\n"
        "os.write(1, b'%d\\n' % os.getpid())\n"
        "time.sleep(1.5)\n"
    )
    script = tmp_path / "starts.py"
    script.write_text(
        "import signal, sys\n"
        "from weft.platform.processes import Limits, run_loaded\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "try:\n"
        "    list(run_loaded(print, [1], workers=1, limits=Limits(), preload='slow'))\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', flush=True)\n"
    )
    paths = [str(tmp_path), os.environ.get("PYTHONPATH", "")]
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
    ) as run:
        assert run.stdout is not None
        assert int(run.stdout.readline()) != run.pid
        os.killpg(run.pid, signal.SIGINT)
        said, errors = run.communicate(timeout=60)
    assert (said, errors, run.returncode) == ("interrupted\n", "", 0)


def test_an_interrupt_waits_until_a_process_has_started():
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with uninterrupted():
        assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


def test_nothing_is_imported_from_the_folder_of_the_run(tmp_path):
    # What is looked at may be called as a module is: it is never run.
    for name in ("selectors", "numpy", "weft"):
        (tmp_path / f"{name}.py").write_text(f"open('{name}.run', 'w').close()\n")
    script = (
        "import os, sys\n"
        "sys.path.remove('')\n"
        "from weft.platform.processes import Limits, run_bounded\n"
        "(outcome,) = run_bounded(str.upper, ['a'], workers=1, limits=Limits(), preload='weft.errors')\n"
        "print(outcome.value, os.environ.get('PYTHONSAFEPATH'))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert (run.stdout, run.stderr) == ("A None\n", "")
    assert not list(tmp_path.glob("*.run"))


@pytest.mark.parametrize("seconds", [math.inf, 1e12])
def test_a_limit_of_time_may_be_as_good_as_none(seconds):
    (outcome,) = run_bounded(misbehave, ["a"], workers=1, limits=Limits(seconds=seconds))
    assert outcome.value == "A"


def break_down(items):
    os._exit(3)


class Named(NamedTuple):
    """An item that says what it is called, though it is a tuple."""

    path: str
    options: int

    def __str__(self):
        return self.path


def test_several_things_in_one_item_are_told_by_what_they_are_called():
    items = [(Path("a.so"),), (Named("b.so", 1), Named("c.so", 2)), Named("d.so", 3)]
    outcomes = run_bounded(break_down, items, workers=1, limits=Limits())
    assert [outcome.error and outcome.error.where for outcome in outcomes] == ["a.so", "b.so, c.so", "d.so"]


def load_counted():
    begun = time.monotonic()
    return lambda item: (os.getpid(), begun, time.sleep(item))


def load_nothing():
    raise InputError("there is no model", where="model")


def test_what_is_loaded_is_loaded_once_in_each_process_and_the_quick_do_not_wait():
    naps = [0.6, 0.0, 0.0, 0.0]
    run = run_loaded(load_counted, iter(naps), workers=2, limits=Limits(), preload=__name__, ordered=False)
    outcomes = list(run)
    assert [outcome.item for outcome in outcomes][-1] == 0.6
    assert len({outcome.value[:2] for outcome in outcomes}) == 2


def test_what_cannot_be_loaded_ends_the_run():
    run = run_loaded(load_nothing, [1, 2], workers=1, limits=Limits(), preload=__name__)
    with pytest.raises(InputError, match="there is no model"):
        next(run)
    assert not multiprocessing.active_children()


def test_items_are_not_asked_for_faster_than_they_are_worked_on():
    asked = []
    items = (asked.append(number) or number for number in range(50))
    run = run_loaded(load_naps, items, workers=2, limits=Limits(), preload=__name__, ordered=False)
    next(run)
    assert len(asked) <= 5
    run.close()


def load_naps():
    return lambda item: time.sleep(0.01)


def test_here_an_item_is_its_own_outcome_as_well():
    outcomes = list(run_here(misbehave, ["a", "break", "refuse"]))
    assert outcomes[0].value == "A"
    assert [str(outcome.error) for outcome in outcomes[1:]] == [
        "break: cannot be analysed (RuntimeError: a parser's own fault)",
        "item: not wanted",
    ]


@pytest.mark.parametrize("workers", [1, 3])
def test_nothing_to_do_is_nothing(workers):
    assert list(run_bounded(misbehave, [], workers=workers, limits=Limits())) == []


def test_a_process_loads_while_its_first_item_is_made(tmp_path):
    mark = tmp_path / "loaded"

    def made():
        until = time.monotonic() + 30
        while not mark.exists() and time.monotonic() < until:
            time.sleep(0.01)
        yield mark.read_text()

    (outcome,) = run_loaded(
        partial(load_and_tell, str(mark)), made(), workers=1, limits=Limits(), preload=__name__
    )
    assert outcome.value == ("loaded", "loaded")


def test_an_item_that_cannot_be_made_ends_the_process(tmp_path):
    mark = tmp_path / "loaded"

    def made():
        while not mark.exists():
            time.sleep(0.01)
        raise InputError("nothing can be made of it")
        yield

    with pytest.raises(InputError, match="nothing can be made"):
        list(
            run_loaded(
                partial(load_and_tell, str(mark)), made(), workers=1, limits=Limits(), preload=__name__
            )
        )
    assert not multiprocessing.active_children()


def load_and_tell(mark):
    Path(mark).write_text("loaded")
    return lambda item: (item, Path(mark).read_text())

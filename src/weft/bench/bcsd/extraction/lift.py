"""Lifting: functions per second, and thousands of damaged functions, none of which may harm the run."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from weft.bcsd.disassemble.native import NativeDisassembler
from weft.bcsd.lift.apart.bounded import BoundedLifter, LiftLimits
from weft.bcsd.lift.code import CodeBlock, FunctionCode, Surroundings
from weft.bcsd.lift.decode.processors import PROCESSORS
from weft.bcsd.lift.gather import code_of, surroundings_of
from weft.bcsd.lift.pcode import PcodeLifter
from weft.bcsd.read import open_image
from weft.bench.table import Row

_FILES = Path(__file__).parents[3] / "demo" / "zlib"
_LIMITS = LiftLimits(seconds=10.0, mebibytes=1024, deaths=1 << 30)
_BASE = 0x10000


def rows(quick: bool) -> Iterator[Row]:
    """The speed on one core and on two, then the damage."""
    (one,) = _rates(1)
    variant = f"{one.functions} functions of the demonstration's zlib, one process"
    yield Row("lifting, graph and features", variant, "-", "1/s", one.rate, 100.0, "higher", 1.0)
    both = _rates(2)
    variant = f"{sum(r.functions for r in both)} functions, two processes at once"
    rate = sum(r.rate for r in both)
    yield Row("lifting, graph and features", variant, "-", "1/s", rate, 200.0, "higher", 1.0)
    yield from _damage(100 if quick else 2000)


class Rate(NamedTuple):
    """What one process lifted: functions, and how many in a second of its processor."""

    functions: int
    rate: float


def _rates(processes: int) -> list[Rate]:
    """The demonstration's functions, all of them in each process at the same time."""
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_begin) as pool:
        list(pool.map(_lift_all, range(processes)))  # What is imported and read first is not counted.
        return list(pool.map(_lift_all, range(processes), chunksize=1))


def _begin() -> None:
    # As the lifting process does.
    gc.set_threshold(200_000, 50, 100)


def _lift_all(_: int) -> Rate:
    functions, seconds = 0, 0.0
    for path in sorted(path for path in _FILES.iterdir() if ".so" in path.name):
        image = open_image(path)
        codes = [code_of(image, function) for function in NativeDisassembler().functions(image)]
        begun = time.process_time()
        # A lifter of its own for each file: SLEIGH's start, and each distinct instruction, count.
        lifter, around = PcodeLifter(), surroundings_of(image)
        for code in codes:
            lifter.lift(code, around, graph=True)
        seconds += time.process_time() - begun
        functions += len(codes)
    return Rate(functions, functions / seconds)


def _damage(count: int) -> Iterator[Row]:
    """The process takes what kills it: the run itself must go on, within its bounds."""
    failed = deaths = 0
    longest = 0.0
    names = list(PROCESSORS)
    for number in range(count):
        dice = random.Random(number)
        architecture, big_endian, word = names[number % len(names)]
        around = Surroundings(architecture, big_endian, word, False, ((_BASE, _BASE + 0x4000),))
        bounded = BoundedLifter(around, _LIMITS)
        begun = time.monotonic()
        code = noise(dice, architecture == "arm" and dice.random() < 0.5)
        bounded.features(code)
        bounded.compute(code)
        longest = max(longest, time.monotonic() - begun)
        failed += bounded.failed
        deaths += bounded.deaths
    variant = f"random bytes, {len(names)} processors; features, then all that they compute"
    yield Row("lifting: functions given up", variant, "-", "functions", failed, 2 * count, target=0.05)
    yield Row("lifting: processes that died", variant, "-", "functions", deaths, 2 * count, target=0.05)
    # A process that died begins anew.
    yield Row("lifting: slowest function", variant, "-", "s", longest, _LIMITS.seconds, target=2.0)


def noise(dice: random.Random, thumb: bool = False) -> FunctionCode:
    """A function of random bytes in random blocks, with successors that may not exist."""
    number = dice.randint(1, 60)
    blocks: list[CodeBlock] = []
    address = _BASE
    for _ in range(number):
        lengths = tuple(dice.choice((2, 4)) if thumb else 4 for _ in range(dice.randint(1, 30)))
        data = dice.randbytes(sum(lengths))
        following = tuple(dice.randrange(number + 1) for _ in range(dice.randint(0, 3)))
        blocks.append(CodeBlock(address, data, lengths, following))
        address += len(data)
    code = b"".join(block.data for block in blocks)
    return FunctionCode(_BASE, address, tuple(blocks), thumb, code)

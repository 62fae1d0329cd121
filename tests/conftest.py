"""What every test starts from: one thread, a fixed seed, no hub, and the data folder if there is one.

And how a whole run is shared out to its workers: long rooms first, and what starts a service in one piece.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from multiprocessing import forkserver
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import settings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Nothing is left from one run for the next.
os.environ["WEFT_CACHE"] = ""
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import torch

torch.set_num_threads(1)

# `make test` draws the same examples each time and keeps none: the same verdict twice. `make fuzz` draws others.
settings.register_profile("same", derandomize=True, database=None)
settings.register_profile("fuzz", derandomize=False, print_blob=True)
settings.load_profile("same")

LONG = ("serve", "docs", "demo", "bcsd", "cli", "kg", "absa", "train")
"""Rooms that begin a run, the longest first: the short ones fill up what is left at its end."""
WHOLE = "tests/serve/"
"""Tests that share a service stay on one worker."""
WORKING = (
    "lief",
    "weft.bcsd.difference.compare",
    "weft.bcsd.disassemble.native",
    "weft.bcsd.matching.side",
    "weft.bcsd.show",
    "weft.bcsd.use.embed_files",
    "weft.kg.annotate.tree",
    "weft.kg.extraction.code",
    "weft.kg.extraction.text",
    "weft.kg.storage.query.sparql",
)
"""What bounded processes work with; the first one that is started decides what all of a run are forked from."""
MANY = 300


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        items.sort(key=_place)
    if len(items) >= MANY:
        multiprocessing.set_forkserver_preload(list(WORKING))
        forkserver.ensure_running()


def _place(item: pytest.Item) -> int:
    room = item.nodeid.removeprefix("tests/").partition("/")[0]
    return LONG.index(room) if room in LONG else len(LONG)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    from xdist.scheduler import LoadFileScheduling

    class Rooms(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return WHOLE if nodeid.startswith(WHOLE) else super()._split_scope(nodeid)

    if config.getvalue("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False
    return Rooms(config, log)


@pytest.fixture(autouse=True)
def _seeded():
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data that WEFT_DATA names; tests that need it skip where it is absent."""
    folder = os.environ.get("WEFT_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("WEFT_DATA names no folder of real data")
    return Path(folder)


@pytest.fixture(scope="module")
def recipe() -> Iterator[Callable[[str], ModuleType]]:
    """Imports a recipe by its name; none is left to the next file of tests."""
    folder = str(Path(__file__).parents[1] / "recipes")
    sys.path.insert(0, folder)
    try:
        yield import_module
    finally:
        sys.path.remove(folder)
        for name, module in list(sys.modules.items()):
            if Path(getattr(module, "__file__", None) or "").parent == Path(folder):
                del sys.modules[name]

"""What every test starts from: one thread, a fixed seed, no hub, and the data folder if there is one."""

from __future__ import annotations

import os
import random
from pathlib import Path

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

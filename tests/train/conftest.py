import importlib.util
import sys
from pathlib import Path

import pytest
import torch


@pytest.fixture(scope="session")
def tiny():
    """The module beside this file; it is a program too, so it lies in no package."""
    spec = importlib.util.spec_from_file_location("weft_tiny_task", Path(__file__).with_name("tiny.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def _own_random_state():
    """Training seeds the global generators: other tests must not notice."""
    with torch.random.fork_rng(devices=[]):
        yield

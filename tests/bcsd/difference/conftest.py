"""Two versions of one small program, each function of the new one changed in one way: ``files/patch.c``."""

from functools import lru_cache
from pathlib import Path

import pytest

from weft.bcsd.difference.compare import compare
from weft.bcsd.difference.version import VersionRequest, read_version
from weft.platform.processes import Limits

PATCH = Path(__file__).parent / "files"


@pytest.fixture(scope="session")
def patch():
    """The folder of both versions."""
    return PATCH


@pytest.fixture(scope="session")
def version_of():
    """Name of a committed file → that version."""

    @lru_cache
    def read(name):
        return read_version(VersionRequest(str(PATCH / f"patch-{name}.so")))

    return read


@pytest.fixture(scope="session")
def difference_of(version_of):
    """Names of two committed files → what changed; functions that need the model stay alone."""

    @lru_cache
    def differ(old, new, lifter="auto"):
        return compare(version_of(old), version_of(new), lambda pairing: None, Limits(120, 4096), lifter)

    return differ

"""No room writes by hand what `weft.platform.files` writes: a second way would be a worse one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import weft

SOURCE = Path(weft.__file__).parent
BY_HAND = re.compile(
    r"""os\.(replace|rename|fsync)\b|NamedTemporaryFile\(\)|\.part["'`}]\)?\.(open|replace|write)"""
    r"""|\.rename\(|with_suffix\("\.part"\)"""
)


@pytest.mark.parametrize("line", ["os.replace(a, b)", "    os.fsync(handle)", "place.rename(other)"])
def test_the_search_finds_what_it_looks_for(line: str) -> None:
    assert BY_HAND.search(line)


def test_files_are_renamed_into_place_in_one_module() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{number}"
        for path in SOURCE.rglob("*.py")
        if path != SOURCE / "platform" / "files.py"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if BY_HAND.search(line)
    ]
    assert found == []

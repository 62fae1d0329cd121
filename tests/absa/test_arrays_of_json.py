"""Files of one array of JSON: what makes lines of them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from weft.absa.read.given import is_table
from weft.absa.read.table import read_rows
from weft.errors import WeftError

ARRAYS = (
    '[{"text": "a"}, {"text": "b"}]',
    '[{"text": "a"},\n {"text": "b"}]\n',
    '\n[\n{"text": "a"}, {"text": "b"}]',
)


@pytest.mark.parametrize("content", ARRAYS)
@pytest.mark.parametrize("name", ["shop reviews.json", "shop.jsonl"])
def test_an_array_is_told_what_makes_lines_of_it(tmp_path: Path, name: str, content: str):
    file = tmp_path / name
    file.write_text(content)
    hints = list[str]()
    for read in (
        lambda: next(read_rows(str(file), ["text"])),
        lambda: next(read_rows(str(file), ["text"], "jsonl")),
        *((lambda: is_table(str(file)),) if name.endswith(".json") else ()),
    ):
        with pytest.raises(WeftError) as error:
            read()
        hints.append(str(error.value.hint))
    assert len(set(hints)) == 1
    command = hints[0].split("`")[1]
    assert command.startswith("jq -c '.[]' ")
    if shutil.which("jq"):
        subprocess.run(command, shell=True, check=True)
        (lines,) = tmp_path.glob("*-lines.jsonl")
        assert [row.cells["text"] for row in read_rows(str(lines), ["text"])] == ["a", "b"]


def test_an_array_behind_an_object_is_a_row_that_cannot_be_used(tmp_path: Path):
    file = tmp_path / "t.jsonl"
    file.write_text('{"text": "a"}\n["b"]\n')
    assert [row.problem for row in read_rows(str(file), ["text"])] == [None, "a JSON list, not an object"]

"""Numbers out of their range are refused by functions as by commands, before any file is read."""

import math
import re

import pyarrow as pa
import pytest

from weft.bcsd.components.identify import identify
from weft.bcsd.index.update import _below, add
from weft.bcsd.matching.files import match
from weft.bcsd.use.embed_files import Embedding
from weft.bcsd.use.extract_files import Extraction, find_binaries
from weft.bcsd.use.search import Searcher, search_file
from weft.cli.main import main
from weft.errors import ConfigError, InputError
from weft.platform.processes import Limits


def search(**given):
    return search_file("none", None, "none", Embedding(), **given)


def searcher(**given):
    return next(Searcher.search(Searcher.__new__(Searcher), pa.table({}), **given))


@pytest.mark.parametrize(
    ("call", "given", "said"),
    [
        (match, {"a": "none", "b": "none", "floor": 80}, "floor is 80; it must lie in [0, 1]"),
        (match, {"a": "none", "b": "none", "floor": math.nan}, "floor is nan; it must lie in [0, 1]"),
        (match, {"a": "none", "b": "none", "min_blocks": -1}, "min_blocks is -1; it must be at least 0"),
        (search, {"count": -3}, "count is -3; it must be at least 1"),
        (search, {"count": 0}, "count is 0; it must be at least 1"),
        (search, {"min_blocks": -1}, "min_blocks is -1; it must be at least 0"),
        (searcher, {"count": -3}, "count is -3; it must be at least 1"),
        (searcher, {"min_blocks": -1}, "min_blocks is -1; it must be at least 0"),
        (
            identify,
            {"path": "none", "index": "none", "min_blocks": 0},
            "min_blocks is 0; it must be at least 1",
        ),
        (Embedding, {"workers": 0}, "workers is 0; it must be at least 1"),
        (Embedding, {"min_blocks": -1}, "min_blocks is -1; it must be at least 0"),
        (Limits, {"seconds": math.nan}, "seconds is nan; it must be at least 0"),
        (Limits, {"mebibytes": -1}, "mebibytes is -1; it must be at least 0"),
        (Extraction, {"workers": -2}, "workers is -2; it must be at least 1"),
        (Extraction, {"min_blocks": -1}, "min_blocks is -1; it must be at least 0"),
    ],
)
def test_the_argument_is_named(call, given, said):
    with pytest.raises(ConfigError, match=re.escape(said)):
        call(**given)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["match", "a", "b", "--floor", "80"], "--floor is 80.0; it must lie in [0, 1]"),
        (["match", "a", "b", "--min-blocks", "-1"], "--min-blocks is -1; it must be at least 0"),
        (["search", "a", "--index", "i", "--hits", "0"], "--hits is 0; it must be at least 1"),
    ],
)
def test_a_command_names_its_option(words, said, capsys):
    assert main(["bcsd", *words]) == 2
    assert said in capsys.readouterr().err


def test_one_path_in_place_of_a_list_is_refused(tmp_path):
    for call in (lambda: find_binaries("a_O2"), lambda: add("a_O2", tmp_path / "index", Embedding())):
        with pytest.raises(InputError, match="one path in place of a list of paths"):
            call()
    assert not (tmp_path / "index").exists()
    with pytest.raises(InputError, match="one path in place of a list of paths"):
        _below({"/a_O2": None}, "/a_O2")

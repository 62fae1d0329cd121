"""What pyright infers of functions without a return annotation."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.errors import LimitError, WeftError
from weft.kg.annotate import infer
from weft.kg.annotate.check import checked
from weft.kg.annotate.infer import Said, Source, class_of, infer_returns, run_checker
from weft.kg.annotate.plan import missing
from weft.kg.annotate.tree import Annotated, Findings
from weft.kg.annotate.write import annotated
from weft.kg.languages.python import LANGUAGE

TEXT = """\
class Reader:
    def rows(self):
        return [1, 2]

    def maybe(self, flag):
        return "a" if flag else None


async def later():
    return {"a": 1}


def outer():
    def inner():
        return 1
    return inner()


def lost(x):
    return x


def smile(mark=":)", other=(")", "(")):
    return mark + "!"


def handler(x: int):
    def inner(y: str) -> None:
        return None
    return inner


def pair(x: int):
    return (x, handler)


def largest(ünder):
    return 1.5"""


def test_what_is_inferred_of_functions_that_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    tree = LANGUAGE.tree(tmp_path, ["pkg/__init__.py", "pkg/a.py"])
    parsed = LANGUAGE.parse(TEXT, "pkg/a.py")
    tree.add("pkg/a.py", parsed)
    asked = tree.open_questions("pkg/a.py", parsed)
    found = infer_returns({"pkg/a.py": Source(TEXT, "utf-8", asked)}, tmp_path)
    ends = {item.head.name for item in asked if item.relation == "returns"} - {
        item.head.name for _, item in found
    }
    ends = {name for name in ends if name.count(".") == 2}
    said = {item.head.name.removeprefix("pkg.a."): class_of(text) for (_, item), text in found.items()}
    assert said == {
        "Reader.rows": "list",
        "Reader.maybe": "str",
        "later": "dict",
        "outer": "int",
        "smile": "str",
        "lost": "",
        "largest": "float",
    }
    # A function is written "(y: str) -> None", which no annotation can be: such answers are none.
    assert {name.removeprefix("pkg.a.") for name in ends} == {"handler", "pair"}
    # The copy holds what was asked, every line of the source before it.
    written = (tmp_path / "pkg" / "a.py").read_text(encoding="utf-8")
    assert written.startswith(TEXT + "\nreveal_type(")


LEFT_OPEN = """\
from typing import Protocol


class Sized(Protocol):
    def size(self): ...


def maybe(flag: bool):
    if flag:
        return 1


def never() -> NoReturn:
    raise OSError


def surely(flag: bool):
    if flag:
        return "a"
    never()
"""


def test_none_is_a_checkers_word_once_and_not_of_what_others_fill_in(tmp_path: Path) -> None:
    text = LEFT_OPEN.replace("Protocol\n", "NoReturn, Protocol\n", 1)
    (tmp_path / "a.py").write_text(text)
    tree = LANGUAGE.tree(tmp_path, ["a.py"])
    parsed = LANGUAGE.parse(text, "a.py")
    tree.add("a.py", parsed)
    lacking = missing("a.py", text, tree, tree.open_questions("a.py", parsed), [], 0.9)
    file = Annotated(tmp_path / "a.py", "a.py", text, lacking)
    checked(Findings([file]), tmp_path, "pyright", 0.8)
    written = annotated(text, file.chosen(0.8), "a.py")
    assert "    def size(self): ...\n" in written
    assert "def maybe(flag: bool) -> int | None:\n" in written
    # What is seen of the call alone is that the function goes on behind it.
    assert "def surely(flag: bool) -> str:\n" in written


def test_the_one_class_of_a_type() -> None:
    assert class_of("list[int]") == "list"
    assert class_of("str | None") == class_of("Literal['a']") == "str"
    assert class_of("int | str") == class_of("Unknown") == class_of("Self") == ""
    assert class_of("(") == class_of("Generator[int, Any, None") == ""
    assert class_of("Generator[int, Any, None]") == "Generator"


def test_a_checker_that_answers_nothing_or_never(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(infer, "run_checker", lambda checker, options, folder: Said(2, "no JSON at all", ""))
    with pytest.raises(WeftError, match="no JSON at all"):
        infer.pyright(tmp_path)
    monkeypatch.setattr(infer, "_SECONDS", 0.2)
    with pytest.raises(LimitError, match=r"timeit took more than 0.2 s"):
        run_checker("timeit", ["-n", "1", "import time; time.sleep(9)"], tmp_path)


def test_a_checker_is_not_taken_from_the_tree_that_it_checks(tmp_path: Path) -> None:
    (tmp_path / "this.py").write_text("print('a module of the tree')")
    assert "Beautiful is better than ugly" in run_checker("this", [], tmp_path).out

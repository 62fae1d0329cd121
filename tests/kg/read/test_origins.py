"""The prose of Markdown and HTML knows the lines of its file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from weft.cli.main import main
from weft.kg.read.markdown import markdown_prose
from weft.kg.read.markup import html_prose
from weft.kg.read.origins import Traced, line_at, mark_of

MARKDOWN = """---
title: Ada
---

# Head

```
Ada Bo
```

Ada met *Bo*
and Cid.\\
Dee  left.

- Eve
  saw Fay
- Gil

| Hal | Ida |
|-----|-----|
| Jan | Kit |

<div>
Lea
<b>Max</b></div>

Ned.[^1]

[^1]: Ole left.
"""
HTML = """<!DOCTYPE html>
<html><head><title>Ada</title>
<style>
p { color: red }
</style></head><body><nav>Ada</nav>
<!-- Ada
Ada -->
<h1
  class="x">Head</h1><p>Ada met
  <b>Bo</b>&nbsp;and Cid.</p>
<script>
if (a<b) { "Dee" }
</script><p>Dee</p>
<ul><li>Eve<li>
Fay</ul><table>
<tr><td rowspan=2>Gil<td>Hal<td>&nbsp;
<tr><td>Ida
</table>
<p title="a > b">Jan<sup>
[1]</sup></p></body>
"""


def lines(prose: Traced) -> dict[str, int]:
    """The line of each name, the last one where it stands twice."""
    words = (word.strip(".,:*") for word in prose.text.split())
    return {word: line_at(prose.origins, prose.text.rindex(word)) for word in words if word.istitle()}


def in_file(text: str, names: str) -> dict[str, int]:
    rows = text.split("\n")
    return {name: max(number for number, row in enumerate(rows, 1) if name in row) for name in names.split()}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_of_markdown(end: str) -> None:
    found = lines(markdown_prose(MARKDOWN.replace("\n", end)))
    assert found == in_file(MARKDOWN, "Head Ada Bo Cid Dee Eve Fay Gil Hal Ida Jan Kit Lea Max Ned Ole")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_of_html(end: str) -> None:
    prose = html_prose(HTML.replace("\n", end))
    assert lines(prose) == in_file(HTML, "Head Ada Bo Cid Dee Eve Fay Hal Ida Jan") | {"Gil": 16}
    assert prose.text.endswith("Gil | Hal\nGil: Ida\n\nJan")


def test_characters_of_marks_in_a_page_are_its_own() -> None:
    text = f"one {mark_of(7)} two"
    assert html_prose(f"<p>{text}</p>") == Traced(text)
    assert markdown_prose(f"{text}\n") == Traced(text)


def test_a_page_without_text_has_no_lines() -> None:
    assert html_prose("<p>&nbsp;</p>\n<p>&#8203;</p>") == Traced("")
    assert markdown_prose("") == Traced("")


@pytest.mark.parametrize("name", ["a.md", "a.html"])
def test_facts_name_the_line_of_the_file(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "Peter Lang founded Lang Pumps in Graz in 1990."
    front = (
        "---\ntitle: A\n---\n\n# News\n\n```\ncode\n```\n\n"
        if name == "a.md"
        else "<script>\n\n</script><p>\n\n"
    )
    (tmp_path / name).write_text(f"{front}{said}\n", encoding="utf-8")
    assert main(["kg", "facts", str(tmp_path / name), "--json"]) == 0
    line = front.count("\n") + 1
    assert {fact["line"] for fact in json.loads(capsys.readouterr().out)} == {line}
    assert (
        main(["kg", "extract", str(tmp_path), "-o", str(tmp_path / "store"), "--quiet", "--name", "c"]) == 0
    )
    assert main(["kg", "show", str(tmp_path / "store"), "Lang Pumps"]) == 0
    assert f"c/{name}:{line}" in capsys.readouterr().out

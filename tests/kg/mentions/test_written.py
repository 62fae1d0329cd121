"""``recipes/kg_text_written.py``: marked texts as they stand, none trained on that chooses or measures."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from weft.kg.read.documents import TextDocument
from weft.kg.schema import Schema
from weft.platform.models import find_model

ROOT = Path(__file__).parents[3]
BLOCKS = """# news
[Anna Roth|P1] of [Lund|L1] leads [Roth AB|O1].
~
In [1999|T1] [Roth|P1] moved to [Berlin|L2].
> P1 employer O1
> P1 residence L2
> O1 headquarters L1 ?

# letter
[Bo|P1] and [Ida|P2] met.
> P1 spouse P2
"""


@pytest.fixture(scope="module")
def written(recipe: Callable[[str], ModuleType]) -> ModuleType:
    return recipe("kg_text_written")


def test_marks_become_mentions_and_lines_facts(written: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "written.txt"
    path.write_text(BLOCKS, encoding="utf-8")
    first, second = written.read_written(path)
    assert first.text == "Anna Roth of Lund leads Roth AB.\n\nIn 1999 Roth moved to Berlin."
    names = [(first.text[m.start : m.end], m.entity, m.name, m.type) for m in first.mentions]
    assert names[0] == ("Anna Roth", 0, "Anna Roth", "PER")
    assert names[4] == ("Roth", 0, "Anna Roth", "PER")
    assert [kind for _, _, _, kind in names] == ["PER", "LOC", "ORG", "TIME", "PER", "LOC"]
    # What may be read or not counts as read, with what follows from it; or it is left out.
    assert {fact.relation for fact in first.facts} == {"employer", "residence", "headquarters", "located_in"}
    bare = written.read_written(path, open_ones=False)[0]
    assert {fact.relation for fact in bare.facts} == {"employer", "residence"}
    assert {(fact.head, fact.tail) for fact in second.facts} == {(0, 1), (1, 0)}


def test_the_texts_are_in_the_schema_and_nothing_is_trained_on_that_chooses(written: ModuleType) -> None:
    every: list[TextDocument] = written.read_written()
    relations = set(Schema.load(find_model("kg", "kg-text-small") / "schema.json").names)
    stated = {fact.relation for text in every for fact in text.facts}
    assert stated <= relations
    assert len(stated) > 80
    assert all(text.mentions and "[" not in text.text and "|" not in text.text for text in every)
    parts = [
        {text.id for text in part()} for part in (written.trained_on, written.choosing, written.measuring)
    ]
    assert sum(map(len, parts)) == len(every)
    assert set.union(*parts) == {text.id for text in every}
    assert min(map(len, parts)) > 20


def test_no_text_shares_six_words_with_those_that_are_asked(written: ModuleType) -> None:
    asked: set[tuple[str, ...]] = set()
    for name in ("other_texts/texts.yaml", "plain_texts/claim.yaml", "plain_texts/choice.yaml"):
        for record in yaml.safe_load((ROOT / "examples/kg" / name).read_text(encoding="utf-8")):
            asked |= _grams(record["text"])
    for text in written.read_written():
        assert asked.isdisjoint(_grams(text.text)), text.text


def _grams(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[i : i + 6]) for i in range(len(words) - 5)}

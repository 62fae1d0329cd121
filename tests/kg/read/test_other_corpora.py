"""CrossRE, FewRel and labelled texts: exact spans, facts, and what cannot be read is listed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from weft.errors import InputError
from weft.kg.read.funnel import Funnel
from weft.kg.read.labelled_texts import read_labelled_texts
from weft.kg.read.redocred import redocred_schema
from weft.kg.read.sentences_with_entities import read_crossre, read_fewrel

EXAMPLES = Path(__file__).parents[3] / "examples" / "kg" / "other_texts"

CROSSRE = {
    "doc_key": "x-1",
    "sentence": ["Ada", "Byron", ",", "of", "London", ",", "wrote", "Notes", "."],
    "ner": [[0, 1, "writer"], [4, 4, "city"], [7, 7, "book"]],
    "relations": [[0, 1, 7, 7, "artifact", "", False, False], [0, 1, 4, 4, "origin", "", True, False]],
}


def test_crossre(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    broken = [
        {**CROSSRE, "ner": [[5, 99, "city"]]},
        {**CROSSRE, "relations": [[1, 1, 7, 7, "artifact"]]},
        {**CROSSRE, "sentence": "Ada Byron, of London, wrote Notes."},
    ]
    path.write_text("\n".join([json.dumps(CROSSRE), "", "{", *map(json.dumps, broken)]))
    funnel = Funnel()
    (document,) = read_crossre(path, funnel)
    assert document.text == "Ada Byron, of London, wrote Notes."
    shown = [(document.text[item.start : item.end], item.type, item.entity) for item in document.mentions]
    assert shown == [("Ada Byron", "writer", 0), ("London", "city", 1), ("Notes", "book", 2)]
    assert [tuple(fact) for fact in document.facts] == [(0, "artifact", 2), (0, "origin", 1)]
    assert funnel.listed["sentences that cannot be read"] == [
        "x.json: line 3: is not JSON: Expecting property name enclosed in double quotes",
        "x.json: line 4: names a word that it does not have",
        "x.json: line 5: a relation of words [1, 1], which are no entity",
        "x.json: line 6: a text in place of a list of words",
    ]


def test_fewrel(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    record = {
        "tokens": ["Ann", "is", "Bo", "'s", "mother", "."],
        "h": ["bo", "Q1", [[2]]],
        "t": ["ann", "Q2", [[0]]],
    }
    uncut = {**record, "tokens": "Ann is Bo's mother."}
    bad = [{**record, "h": ["bo", "Q1", [[9]]]}, {}, uncut]
    path.write_text(json.dumps({"P25": [record, *bad], "P26": "none"}))
    funnel = Funnel()
    (document,) = read_fewrel(path, funnel)
    assert [document.text[item.start : item.end] for item in document.mentions] == ["Bo", "Ann"]
    assert [tuple(fact) for fact in document.facts] == [(0, "P25", 1)]
    assert len(funnel.listed["sentences that cannot be read"]) == 4
    path.write_text("[]")
    with pytest.raises(InputError, match="JSON object of relations"):
        next(read_fewrel(path, funnel))


@pytest.mark.data
def test_the_real_files(data: Path) -> None:
    funnel = Funnel()
    crossre = [
        item for path in sorted((data / "crossre").glob("*-dev.json")) for item in read_crossre(path, funnel)
    ]
    assert len(crossre) > 1900
    assert len(list(read_fewrel(data / "fewrel" / "val_wiki.json", funnel))) == 11_200
    assert not funnel.listed


def test_the_labelled_texts_are_whole() -> None:
    texts = read_labelled_texts(EXAMPLES / "texts.yaml", frozenset(redocred_schema().names))
    assert (len(texts), sum(len(item.facts) for item in texts)) == (30, 220)
    for item in texts:
        text = " ".join(item.text.casefold().split())
        for fact in (*item.facts, *item.also):
            assert any(name in text for name in fact.head), (item.id, fact)
            assert any(name in text for name in fact.tail), (item.id, fact)
        assert not set(item.facts) & set(item.also), item.id


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ("{}", "list of texts"),
        ("[]", "list of texts"),
        ("- {id: a}", "a text has id"),
        ("- {id: a, text: b, fact: []}", "a text has id"),
        ("- {id: a, text: }", "text 1: the text is empty, or no text: None"),
        ("- {id: a, text: [b, c]}", r"text 1: the text is empty, or no text: \['b', 'c'\]"),
        ("- {id: , text: b}", "text 1: the id is empty"),
        ("- {id: a, text: b, facts: [a | spouse]}", "head | relation | tail"),
        ("- {id: a, text: b, facts: [a | likes | b]}", "no relation 'likes'"),
        ("- {id: a, text: b, facts: [a | spuose | b]}", "did you mean spouse"),
        ("[{id: a, text: b}, {id: b, text: b}, {id: a, text: c}]", "text 3: the id 'a' is that of text 1"),
    ],
)
def test_what_is_no_labelled_text_is_named(tmp_path: Path, content: str, wrong: str) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(content)
    with pytest.raises(InputError, match=wrong.replace("|", r"\|")):
        read_labelled_texts(path, frozenset({"spouse"}))


def test_a_fact_that_stands_twice_is_asked_for_once(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text("- {id: a, text: b, facts: [A | spouse | B=C, a  | spouse | c=b, b | spouse | a]}")
    (text,) = read_labelled_texts(path, frozenset({"spouse"}))
    assert len(text.facts) == 2

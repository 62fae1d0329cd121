"""The page of marked texts: whole, offline, harmless; a name leads to its facts and a fact to its places."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest
from tests.platform.pages import EVIL, Page, browse, with_script

from weft.cli.main import main
from weft.errors import OutputError
from weft.kg.extraction.entity_fact import EntityFact
from weft.kg.extraction.text import Marked
from weft.kg.mentions.document import with_mentions
from weft.kg.page.texts import texts_page, write_texts_page
from weft.kg.read.documents import Mention, TextDocument
from weft.kg.storage.layout import Evidence
from weft.platform.models import find_model

TEXT = "Ada was born in Lund. Later Ada ran Acme."


def fact(head: str, relation: str, tail: str, places: tuple[tuple[int, int], ...], sure: float) -> EntityFact:
    return EntityFact(head, relation, tail, sure, places[0], places[1], (0, len(TEXT)), "PER", "LOC")


def evidence(item: EntityFact) -> Evidence:
    return Evidence(
        head=item.head,
        relation=item.relation,
        tail=item.tail,
        confidence=item.confidence,
        start=item.place[0],
        end=item.place[1],
        chunk_start=0,
        chunk_end=len(TEXT),
        line=1,
        sentence=TEXT,
    )


def read(name: str = "a.txt", extra: str = "") -> Marked:
    mentions = (
        Mention(0, 3, 0, "Ada", "PER"),
        Mention(16, 20, 1, "Lund", "LOC"),
        Mention(28, 31, 0, "Ada", "PER"),
        Mention(36, 40, 2, f"Acme{extra}", "ORG"),
        Mention(38, 40, 3, "me", "ORG"),
    )
    facts = [
        fact("Ada", "place_of_birth", "Lund", ((0, 3), (16, 20)), 0.9),
        fact("Ada", "employer", f"Acme{extra}", ((28, 31), (36, 40)), 0.4),
    ]
    return Marked(TextDocument(name, TEXT + extra, mentions), facts, [evidence(item) for item in facts], {})


def data(page: str) -> dict:
    return json.loads(Page(page).texts["data"][0])


def test_every_character_is_there_and_every_fact_points_at_its_names() -> None:
    found = data(texts_page([read(), read("b.txt")], "both"))
    assert [item["id"] for item in found["documents"]] == ["a.txt", "b.txt"]
    pieces = found["documents"][0]["pieces"]
    assert "".join(item if isinstance(item, str) else item["text"] for item in pieces) == TEXT
    marked = [item["text"] for item in pieces if not isinstance(item, str)]
    assert marked == ["Ada", "Lund", "Ada", "Acme"]  # what lies inside another mention is not marked again
    first, second = found["documents"][0]["facts"]
    assert [pieces[place]["text"] for place in first["places"]] == ["Ada", "Lund"]
    assert second["places"] == [4, 6]
    assert first["relation"] == "place of birth"


def test_odd_names_are_text() -> None:
    page = texts_page([read(EVIL, EVIL)], EVIL)
    assert data(page)["documents"][0]["pieces"][-1].startswith(".")
    assert data(page)["documents"][0]["facts"][1]["tail"] == f"Acme{EVIL}"


def test_a_text_without_names_and_no_text() -> None:
    plain = Marked(TextDocument("empty", "nothing here"), [], [], {})
    assert data(texts_page([plain], "x"))["documents"][0]["pieces"] == ["nothing here"]
    assert data(texts_page([], "x"))["documents"] == []


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError):
        write_texts_page([read()], "x", tmp_path / "no" / "page.html")


@pytest.mark.slow
def test_a_browser_shows_what_was_pressed(tmp_path: Path) -> None:
    script = """
      const buttons = () => [...panel.querySelectorAll("li button")].map((item) => item.textContent);
      const all = buttons();
      slider.value = "0.3";
      slider.dispatchEvent(new Event("input"));
      const more = buttons();
      document.querySelectorAll("mark")[1].click();
      const lund = buttons();
      panel.querySelector("li button").click();
      const lit = [...document.querySelectorAll("mark.chosen")].map((item) => item.textContent);
      const same = document.querySelectorAll("mark.same").length;
      document.body.dataset.seen = JSON.stringify([all, more, lund, lit, same]);"""
    page = tmp_path / "page.html"
    page.write_text(with_script(texts_page([read()], "x"), script), encoding="utf-8")
    seen = re.search(r'data-seen="([^"]*)"', browse(page, "", tmp_path))
    assert seen is not None
    birth, job = "0.90Ada place of birth Lund", "0.40Ada employer Acme"
    assert json.loads(html.unescape(seen[1])) == [[birth], [birth, job], [birth], ["Ada", "Lund"], 3]


def test_the_command_marks_a_folder_and_names_what_it_could_not_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, page = tmp_path / "notes", tmp_path / "page.html"
    folder.mkdir()
    (folder / "a.txt").write_text("Anna Lindberg was born in Uppsala, Sweden.", encoding="utf-8")
    (folder / "b.jsonl").write_text("{", encoding="utf-8")
    command = ["kg", "facts", str(folder), "--html", str(page), "--at-least", "0.2"]
    assert main([*command, "--json"]) == 9
    printed = capsys.readouterr()
    assert "not read: b.jsonl:1" in printed.err
    facts = json.loads(printed.out)
    assert facts
    assert {fact["document"] for fact in facts} == {"a.txt"}
    found = data(page.read_text(encoding="utf-8"))
    assert [item["id"] for item in found["documents"]] == ["a.txt"]
    assert len(found["documents"][0]["facts"]) == len(facts)
    assert {"Anna Lindberg", "Uppsala", "Sweden"} <= {
        item["text"] for item in found["documents"][0]["pieces"] if not isinstance(item, str)
    }
    for wrong in (("--limit", "-1"), ("--at-least", "3"), ("--target-precision", "-.1")):
        assert main(["kg", "facts", str(folder), *wrong]) == 2
        assert f"{wrong[0]} is " in capsys.readouterr().err
    assert main(["kg", "facts", str(folder), "--relation", "date_of_brith"]) == 3
    assert "did you mean date_of_birth?" in capsys.readouterr().err
    (folder / "b.jsonl").unlink()
    (folder / "c.txt").write_text("Anna Lindberg was\nborn in Uppsala, Sweden.", encoding="utf-8")
    assert main(["kg", "facts", str(folder), "--at-least", "0.2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["document", "line", "sure", "head", "relation", "tail", "sentence"]
    assert {line.split()[0] for line in lines[1:-1]} == {"a.txt", "c.txt"}
    assert lines[-2].endswith("Anna Lindberg was born in Uppsala, Sweden.")
    (tmp_path / "code.py").write_text("x = 1\n", encoding="utf-8")
    assert main(["kg", "facts", str(tmp_path / "code.py"), "--html", str(page)]) == 2
    assert "--html marks texts" in capsys.readouterr().err


def test_a_name_ends_before_a_line_with_a_label() -> None:
    from weft.kg.extraction.entities import EntityExtractor

    extractor = EntityExtractor.load(find_model("kg", "kg-text-small"))
    text = (
        "Founded: 1987\nChairwoman of the board: Lone Friis\nParent company: Nordhaven Ferries (since 2019)\n"
    )
    found = with_mentions(extractor.model, extractor.tokenizer, TextDocument("a", text)).mentions
    assert all("\n" not in text[item.start : item.end] for item in found)
    assert "Lone Friis" in {item.name for item in found}
    wrapped = "She had studied in the old town at Chalmers\nUniversity of Technology, and went abroad."
    names = with_mentions(extractor.model, extractor.tokenizer, TextDocument("b", wrapped)).mentions
    assert any("\n" in wrapped[item.start : item.end] for item in names)
    letter = "Dear Martin Oakes,\n\nI studied at the University of Novi Sad\n\nLanguages: Serbian (native)\n"
    found = with_mentions(extractor.model, extractor.tokenizer, TextDocument("c", letter)).mentions
    said = {letter[item.start : item.end] for item in found}
    assert {"Martin Oakes", "University of Novi Sad"} <= said

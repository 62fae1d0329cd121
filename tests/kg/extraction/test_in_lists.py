"""Facts of lists: items are read by themselves, too, and lend each other nothing; datelines state nothing."""

from __future__ import annotations

import pytest

from weft.kg.extraction.entities import EntityExtractor
from weft.kg.extraction.entity_fact import EntityFact
from weft.kg.extraction.lists import in_lists, item_documents
from weft.kg.read.documents import Mention, TextDocument
from weft.kg.read.items import items_of
from weft.kg.read.markdown import markdown_text
from weft.platform.models import find_model

STAFF = "- Ben Amsel, born 1982 in Trier, works for Siemens\n- Lotte Vink, born 1991 in Breda, works for Philips\n"


@pytest.fixture(scope="module")
def shipped() -> EntityExtractor:
    return EntityExtractor.load(find_model("kg", "kg-text-small"))


def stated(extractor: EntityExtractor, text: str) -> set[tuple[str, str, str]]:
    facts = extractor.facts_of(TextDocument("a", text), least=0.5)
    return {(fact.head, fact.relation, fact.tail) for fact in facts}


@pytest.mark.parametrize("form", ["-", "*", "•", "–", "Markdown"])
def test_each_has_a_job_of_their_own(shipped: EntityExtractor, form: str) -> None:
    text = markdown_text(STAFF) if form == "Markdown" else STAFF.replace("-", form)
    jobs = {fact for fact in stated(shipped, text) if fact[1] in ("employer", "date_of_birth")}
    assert jobs == {
        ("Ben Amsel", "date_of_birth", "1982"),
        ("Ben Amsel", "employer", "Siemens"),
        ("Lotte Vink", "date_of_birth", "1991"),
        ("Lotte Vink", "employer", "Philips"),
    }


def test_who_is_married_stands_in_the_item_above(shipped: EntityExtractor) -> None:
    text = (
        "- Ana Prieto – born in Bilbao, lives in Esbjerg\n- Leo Frank – born in Basel, lives in Ribe\n"
        "- Noor Jansen – born in Delft, lives in Kolding\n  - married to Piet Bos\n"
    )
    found = stated(shipped, text)
    assert {fact for fact in found if fact[1] == "spouse"} == {
        ("Noor Jansen", "spouse", "Piet Bos"),
        ("Piet Bos", "spouse", "Noor Jansen"),
    }


def test_a_dateline_is_nobodys_birthday(shipped: EntityExtractor) -> None:
    text = (
        "BRUNSHOLM, 2 May 2016. Ingrid Falk succeeds Marit Solvang as chief executive officer of Havnfjord.\n\n"
        "Falk was born in Uppsala, Sweden, in 1971 and studied at Chalmers University of Technology.\n"
    )
    found = stated(shipped, text)
    assert ("Ingrid Falk", "date_of_birth", "1971") in found
    assert not {fact for fact in found if "BRUNSHOLM" in fact or "2 May 2016" in fact}


def fact(head: str, relation: str, tail: str, sure: float, place: int = 0) -> EntityFact:
    return EntityFact(head, relation, tail, sure, (place, place + 3), (place, place + 3), (0, 9))


def test_what_another_item_says_of_another_is_lent() -> None:
    text = "Intro Per.\n\n- Ida Rom\n- Ann Ulm\n- Siv"
    names = {name: text.index(name) for name in ("Per", "Ida", "Rom", "Ann", "Ulm", "Siv")}
    mentions = tuple(Mention(at, at + 3, number, name) for number, (name, at) in enumerate(names.items()))
    document, items = TextDocument("a", text, mentions), items_of(text)
    (first, one), (second, other) = item_documents(document, items)
    assert (one.text, other.text) == ("- Ida Rom\n", "- Ann Ulm\n")
    whole = [
        fact("Ida", "born", "Rom", 0.5),
        fact("Ann", "born", "Rom", 0.9),
        fact("Ulm", "of", "Ida", 0.9),
        fact("Siv", "met", "Rom", 0.9),
        fact("Per", "born", "Rom", 0.9),
    ]
    parts = [(first, [fact("Ida", "born", "Rom", 0.9, 2)]), (second, [fact("Ann", "born", "Ulm", 0.8, 2)])]
    found = {
        (item.head, item.relation, item.tail): item
        for item in in_lists(document, items, whole, parts, {"of": "born", "born": "of"})
    }
    sure = {key: item.confidence for key, item in found.items()}
    assert sure["Ida", "born", "Rom"] == pytest.approx(0.6 * 0.9 + 0.4 * 0.5)
    assert found["Ida", "born", "Rom"].place[0] == names["Ida"]
    assert sure["Ann", "born", "Ulm"] == pytest.approx(0.6 * 0.8)
    # The item of Rom says who was born there, that of Ulm likewise by the inverse.
    assert sure["Ann", "born", "Rom"] == pytest.approx(0.2 * 0.9)
    assert sure["Ulm", "of", "Ida"] == pytest.approx(0.2 * 0.9)
    # No item says the like of these, or one of the names stands outside of the list.
    assert sure["Siv", "met", "Rom"] == 0.9
    assert sure["Per", "born", "Rom"] == 0.9

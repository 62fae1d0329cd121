from dataclasses import replace

import numpy as np
import pytest

from weft.absa import load
from weft.absa.find.domain import Category, common_categories
from weft.absa.find.finder import Finder
from weft.absa.find.grouping import Grouping, Said, digest, learnt, read_learnt, write_learnt


def said(sentence, term):
    start = sentence.index(term)
    return Said(term, sentence, start, start + len(term))


@pytest.fixture(scope="module")
def common():
    return Grouping(load("absa-any"), common_categories())


def test_a_word_of_a_users_category_decides_and_endings_do_not(tagging):
    group = Grouping(tagging, [Category("battery", ("charge",)), Category("people", ("waitress", "staff"))])
    terms = [said(term, term) for term in ("Battery life", "charges", "waitresses", "the staff")]
    assert group(terms) == ["battery", "battery", "people", "people"]
    assert group(terms[::-1]) == ["people", "people", "battery", "battery"]
    assert group([]) == []


def test_the_last_word_that_is_known_decides(tagging):
    group = Grouping(tagging, [Category("price"), Category("food")])
    assert group([said("price of the food", "price of the food"), said("food price", "food price")]) == [
        "food",
        "price",
    ]


def test_the_map_was_fitted_on_the_list_that_ships():
    """Whoever edits the list fits again: ``recipes/absa_any_grouping.py``."""
    assert (learnt().of == digest(common_categories())).all()
    assert len(learnt().map) == len(learnt().glosses) + 1 == len(common_categories()) + 1
    assert len(learnt().phrases) == sum(1 + len(category.words) for category in common_categories())


def test_shipped_what_is_stored_is_what_the_layers_make(common):
    words = [text for c in common.categories for text in (c.name, *c.words)]
    some = range(0, len(words), 70)
    read, stored = common.read([words[n] for n in some]), learnt().phrases[some] @ learnt().basis
    cosines = (read * stored).sum(axis=1) / np.linalg.norm(stored, axis=1)
    assert cosines.min() > 0.85


def test_weights_are_stored_to_a_fifteenth(tmp_path):
    path = tmp_path / "weights.safetensors"
    write_learnt(path, learnt())
    again = read_learnt(path)
    for name, value in vars(learnt()).items():
        assert np.allclose(getattr(again, name), value, atol=2e-3 * np.abs(value).max()), name


def test_shipped_the_sentence_tells_the_sense_of_a_word(common):
    terms = [
        said("Half the keys stick and the space bar rattles.", "keys"),
        said("Reception lost the keys to our room twice.", "keys"),
        said("The bar makes the best negroni in town.", "bar"),
        said("Bluetooth drops out and the only port is loose.", "port"),
    ]
    assert common(terms) == ["keyboard", "check-in", "drinks", "connectivity"]


def test_shipped_what_no_category_is_about_keeps_its_name(common):
    assert common([said("The drawbridge was a highlight for the children.", "drawbridge")]) == [None]


def test_the_map_is_for_its_list_and_its_layers_alone(common, tagging):
    asker = common._asker
    assert common.mapped
    assert not Grouping(asker, common_categories()[:-1]).mapped
    assert not Grouping(asker, common_categories(), replace(learnt(), probe=-learnt().probe)).mapped
    tiny = Grouping(tagging, common_categories())
    assert not tiny.mapped
    assert tiny([said("the staff", "staff")]) == ["service"]


def test_a_term_behind_what_is_read_at_once_is_read_alone(tagging):
    group = Grouping(tagging, [Category("price")])
    room = tagging.representation.max_length
    far = said("the " * (2 * room) + "rent", "rent")
    vectors = group.vectors([far, said("the rent is dear", "rent")])
    assert np.array_equal(vectors.there[0], vectors.alone[0])
    assert not np.allclose(vectors.there[1], vectors.alone[1], atol=1e-3)
    assert np.allclose(np.linalg.norm(np.stack(vectors), axis=-1), 1, atol=1e-5)


def test_terms_of_a_long_table_are_not_all_remembered(tagging, monkeypatch):
    monkeypatch.setattr("weft.absa.find.grouping._REMEMBERED", 3)
    group = Grouping(tagging, [Category("wages")])
    for number in range(9):
        group([said(f"rent {number}", f"rent {number}"), said(f"fare {number}", f"fare {number}")])
    assert len(group._alone) <= 5


def test_shipped_one_word_is_of_two_categories_in_one_text():
    text = "The portion size is great. The size of the room was awful."
    (found,) = Finder(load("absa-any"), common_categories()).find([text])
    assert [finding.category for finding in found if finding.term and "size" in finding.term] == [
        "portions",
        "room",
    ]

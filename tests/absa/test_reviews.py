"""The sources of reviews in one format, from small samples written here."""

import json

import pytest

from weft.absa.read.mams import read_mams
from weft.absa.read.quadruples import read_acos, read_mabsa
from weft.absa.read.reviews import Opinion, Review, agreed, category_words, polarity_of, questions
from weft.absa.read.semeval import read_semeval
from weft.absa.read.three_lines import read_three_lines
from weft.errors import InputError

TERMS = """<?xml version="1.0" encoding="utf-8"?>
<sentences>
 <sentence><text>Dull walls, sweet cook.</text><aspectTerms>
  <aspectTerm from="5" to="10" polarity="negative" term="walls"/>
  <aspectTerm from="18" to="22" polarity="positive" term="cook"/></aspectTerms></sentence>
 <sentence><text>Nothing like it.</text><aspectTerms>
  <aspectTerm from="0" to="4" polarity="positive" term="fish"/></aspectTerms></sentence>
 <sentence><text>Nothing.</text></sentence>
</sentences>"""
CATEGORIES = """<sentences><sentence><text>They smiled all evening.</text><aspectCategories>
  <aspectCategory category="staff" polarity="positive"/>
  <aspectCategory category="menu" polarity="neutral"/></aspectCategories></sentence></sentences>"""


def written(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_mams_terms_are_read_and_what_cannot_be_used_is_listed(tmp_path):
    found = read_mams(written(tmp_path, "a.xml", TERMS))
    assert [review.text for review in found.reviews] == ["Dull walls, sweet cook."]
    assert found.reviews[0].opinions == (Opinion("negative", "walls"), Opinion("positive", "cook"))
    assert not found.reviews[0].complete
    assert [problem.where for problem in found.problems.shown] == ["a.xml sentence 2", "a.xml sentence 3"]
    assert "'fish' is not in the text" in found.problems.shown[0].what


def test_mams_categories_are_complete(tmp_path):
    (review,) = read_mams(written(tmp_path, "a.xml", CATEGORIES)).reviews
    assert review.complete
    assert review.opinions == (Opinion("positive", category="staff"), Opinion("neutral", category="menu"))


@pytest.mark.parametrize("text", ["", "<sentences>", "<a/>"])
def test_mams_that_is_none_is_one_error(tmp_path, text):
    with pytest.raises(InputError):
        read_mams(written(tmp_path, "a.xml", text))


@pytest.mark.parametrize("encoding", ["shift_jis", "nonsense"])
@pytest.mark.parametrize("read", [read_mams, read_semeval])
def test_an_encoding_that_xml_is_not_read_in_is_told(tmp_path, read, encoding):
    path = written(tmp_path, "a.xml", f'<?xml version="1.0" encoding="{encoding}"?><sentences/>')
    with pytest.raises(InputError, match=r"a\.xml: not read: .*encoding.*\(save it as UTF-8\)"):
        read(path)


def test_three_lines_of_one_text_become_one_review(tmp_path):
    lines = [
        *("good $T$ , loud fan", "keys", "Positive"),
        *("good keys , loud $T$", "fan", "Negative "),
        *("no place", "fan", "Negative"),
        *("the $T$ !", "lid", "splendid"),
        "rest",
    ]
    found = read_three_lines(written(tmp_path, "a.seg", "\n".join(lines)), "laptops")
    (review,) = found.reviews
    assert review.text == "good keys , loud fan"
    assert review.opinions == (Opinion("positive", "keys"), Opinion("negative", "fan"))
    assert found.problems.count == 3


def test_a_term_that_is_judged_both_ways_is_left_out(tmp_path):
    lines = ["$T$ and app", "app", "Positive", "app and $T$", "app", "Negative", "$T$ !", "lid", "Neutral"]
    found = read_three_lines(written(tmp_path, "a.seg", "\n".join(lines)), "apps")
    assert [review.text for review in found.reviews] == ["lid !"]
    assert "two polarities" in found.problems.shown[0].what


def test_acos_quadruples(tmp_path):
    good = (
        '{"text": "dear but loud", "labels": [{"aspect": "NULL", "opinion": "dear", "polarity": "negative", '
        '"category": "LAPTOP#DESIGN_FEATURES"}]}'
    )
    path = written(tmp_path, "a.jsonl", "\n".join([good, "{", '{"text": "x", "labels": 3}', "[]"]))
    found = read_acos(path, "laptops")
    assert found.reviews[0].opinions == (Opinion("negative", None, "laptop design features", "dear"),)
    assert found.reviews[0].complete
    assert found.problems.count == 3


def test_acos_texts_that_cannot_be_written_are_named(tmp_path):
    lines = [json.dumps({"text": text, "labels": []}) for text in ("fine", "\ud83d", "\u200b")]
    found = read_acos(written(tmp_path, "a.jsonl", "\n".join(lines)), "x")
    assert [problem.what for problem in found.problems.shown] == ["the text is not UTF-8", "no text"]


def test_mabsa_lines(tmp_path):
    lines = [
        "A bed like a board .####[['bed', 'rooms comfort', 'NEG'], ['NULL', 'hotel general', 'Neu']]",
        "Nothing .####[]",
        "broken####[['bed']]",
        "no mark",
        "x####[['a', 'b', 'conflict']]",
        "",
        "\u200b####[['bed', 'rooms comfort', 'NEG']]",
        "soft####[['bed', '\\ud83d', 'NEG']]",
        "odd####{[]: 1}",
    ]
    found = read_mabsa(written(tmp_path, "hotel-dev.txt", "\n".join(lines)))
    assert [review.domain for review in found.reviews] == ["hotel", "hotel"]
    assert found.reviews[0].opinions == (
        Opinion("negative", "bed", "rooms comfort"),
        Opinion("neutral", None, "hotel"),
    )
    assert [problem.where for problem in found.problems.shown] == [
        f"hotel-dev.txt line {number}" for number in (3, 4, 5, 7, 8, 9)
    ]
    assert [problem.what for problem in found.problems.shown[3:]] == [
        "no text",
        "'\\ud83d' is not UTF-8",
        "the labels are no list",
    ]
    assert len(questions(found.reviews).sentences) == 2


@pytest.mark.parametrize(
    "read", [read_mabsa, lambda path: read_acos(path, "x"), lambda p: read_three_lines(p, "x")]
)
def test_files_that_hold_nothing_are_errors(tmp_path, read):
    with pytest.raises(InputError):
        read(tmp_path / "missing")
    with pytest.raises(InputError):
        read(written(tmp_path, "empty", "\n"))
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(InputError, match="UTF-8"):
        read(tmp_path / "bytes")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("LAPTOP#DESIGN_FEATURES", "laptop design features"),
        ("Overall#Overall", "overall"),
        ("food general", "food"),
        ("general", "general"),
        ("After-sales Service#Exchange/Warranty", "after sales service exchange warranty"),
        ("Course_General_Feedback", "course feedback"),
    ],
)
def test_categories_are_words(name, words):
    assert category_words(name) == words


def test_what_is_said_both_ways_is_neither():
    single, split = agreed(
        [("a", "positive"), ("a", "neutral"), ("b", "positive"), ("b", "negative"), ("c", "neutral")]
    )
    assert single == {"a": "positive", "c": "neutral"}
    assert split == {"b"}


def test_questions_ask_the_most_frequent_categories_and_skip_what_is_said_both_ways():
    reviews = [
        Review("one", (Opinion("positive", category="a"), Opinion("negative", category="b")), "x", True),
        Review("two", (Opinion("positive", category="a"), Opinion("negative", category="a")), "x", True),
        Review("three", (Opinion("neutral", category="c"),), "x", True),
        Review("four", (Opinion("neutral", category="b"),), "x", True),
    ]
    corpus = questions(reviews, categories=2)
    asked = [[context.aspect for context in sentence.contexts] for sentence in corpus.sentences]
    assert asked == [["a", "b"], ["b"], ["a", "b"], ["a", "b"]]
    assert [sentence.polarities for sentence in corpus.sentences] == [
        ("positive", "negative"),
        ("none",),
        ("none", "none"),
        ("none", "neutral"),
    ]
    assert len(questions(reviews, limit=1).sentences) == 1
    with pytest.raises(InputError):
        questions(reviews[:0])


def test_a_polarity_that_is_none_of_ours_is_an_error():
    assert polarity_of("POS ") == "positive"
    for name in ("conflict", None, 3, ""):
        with pytest.raises(InputError):
            polarity_of(name)

import json
import os
from pathlib import Path

import numpy as np
import pytest

from weft.absa.evaluate.metrics import floors
from weft.absa.evaluate.report import scored
from weft.absa.read.labelled import Columns, read_labelled
from weft.absa.read.semeval import CATEGORIES, TERM_ASPECT, read_semeval
from weft.absa.read.sentihood import ALL_ASPECTS, read_sentihood
from weft.absa.records import Context, Corpus, Problems, Sentence
from weft.errors import ConfigError, InputError

EXAMPLES = Path(__file__).parents[2] / "examples" / "absa"
DATA = os.environ.get("WEFT_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="WEFT_DATA names no data folder")


def test_sentihood_sample():
    corpus = read_sentihood(EXAMPLES / "sentihood.json")
    assert corpus.polarities == ("none", "positive", "negative")
    assert not corpus.problems.count
    assert [len(sentence.contexts) for sentence in corpus.sentences] == [4, 8, 4, 4, 8, 4]
    second = dict(zip(corpus.sentences[1].contexts, corpus.sentences[1].polarities, strict=True))
    assert second[Context("transit-location", "LOCATION1")] == "positive"
    assert second[Context("transit-location", "LOCATION2")] == "negative"
    assert second[Context("price", "LOCATION2")] == "none"
    everything = read_sentihood(EXAMPLES / "sentihood.json", ALL_ASPECTS)
    assert everything.aspects == tuple(sorted(ALL_ASPECTS))
    assert sum(gold != 0 for gold in everything.gold()) == 11
    assert everything.only(["nightlife"]).gold() == [0, 0, 0, 0, 0, 0, 0, 1]


def test_semeval_sample():
    corpus = read_semeval(EXAMPLES / "restaurants.xml")
    assert len(corpus.sentences) == 4
    assert corpus.aspects == tuple(sorted(CATEGORIES))
    assert corpus.sentences[0].polarities == ("none", "none", "negative", "none", "positive")
    assert "one & a view" in corpus.sentences[1].text
    assert corpus.sentences[3].polarities[2] == "conflict"


def test_semeval_terms_are_targets():
    """Beside the categories; a term that is felt about in two ways is ``conflict``."""
    plain = read_semeval(EXAMPLES / "restaurants.xml")
    corpus = read_semeval(EXAMPLES / "restaurants.xml", terms=True)
    assert corpus.only(CATEGORIES) == plain
    asked = [
        (context.target, context.aspect, polarity)
        for sentence in corpus.sentences
        for context, polarity in zip(sentence.contexts, sentence.polarities, strict=True)
        if context.target is not None
    ]
    assert asked == [
        ("soup", TERM_ASPECT, "negative"),
        ("waiter", TERM_ASPECT, "positive"),
        ("dishes", TERM_ASPECT, "conflict"),
        ("kitchen", TERM_ASPECT, "neutral"),
    ]


@pytest.mark.data
@needs_data
def test_published_sizes_and_floors():
    folder = Path(DATA) / "sentihood"
    train, dev = (read_sentihood(folder / f"sentihood-{part}.json") for part in ("train", "dev"))
    assert (len(train.sentences), len(dev.sentences)) == (2977, 747)
    assert (len(train.gold()), len(dev.gold())) == (15008, 3748)
    assert train.problems.count == dev.problems.count == 0
    free = floors(scored(dev, np.full((3748, 3), 1 / 3)))
    assert free["all_none_strict"] == pytest.approx(0.458, abs=5e-4)
    assert free["all_positive_sentiment"] == pytest.approx(0.666, abs=5e-4)
    restaurants = read_semeval(Path(DATA) / "semeval2014" / "Restaurants_Train.xml")
    assert len(restaurants.sentences) == 3044
    assert len(restaurants.gold()) == 15220
    assert restaurants.problems.count == 0
    terms = read_semeval(Path(DATA) / "semeval2014" / "Restaurants_Train.xml", terms=True)
    assert terms.problems.count == 0
    assert terms.only(CATEGORIES).sentences == restaurants.sentences
    # 3,693 terms are annotated; the rest stand in their text twice.
    assert len(terms.gold()) - len(restaurants.gold()) == 3664


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ({"text": "LOCATION1", "opinions": None}, "no list of opinions"),
        ({"opinions": []}, "no text"),
        ("LOCATION1", "a str, not an object"),
        ({"text": "nowhere", "opinions": []}, "neither LOCATION1 nor LOCATION2"),
        ({"text": "LOCATION1", "opinions": [7]}, "not an object"),
        (
            {
                "text": "LOCATION1",
                "opinions": [{"target_entity": "LOCATION2", "aspect": "price", "sentiment": "Positive"}],
            },
            "'LOCATION2', which is not in the text",
        ),
        (
            {
                "text": "LOCATION1",
                "opinions": [{"target_entity": "LOCATION1", "aspect": "price", "sentiment": "Good"}],
            },
            "sentiment 'Good'",
        ),
        (
            {
                "text": "LOCATION1",
                "opinions": [
                    {"target_entity": "LOCATION1", "aspect": "price", "sentiment": mood}
                    for mood in ("Positive", "Negative")
                ],
            },
            "two different sentiments",
        ),
        (
            {
                "text": "LOCATION1",
                "opinions": [{"target_entity": "LOCATION1", "aspect": "price", "sentiment": ["Positive"]}],
            },
            "sentiment ['Positive']",
        ),
        ({"text": "LOCATION1 \ud83d", "opinions": []}, "the text is not UTF-8"),
        (
            {
                "text": "LOCATION1",
                "opinions": [{"target_entity": "LOCATION1", "aspect": "\ud83d", "sentiment": "Positive"}],
            },
            "the aspect '\\ud83d' is not UTF-8",
        ),
    ],
)
def test_a_broken_sentihood_entry_is_named_and_the_rest_goes_through(tmp_path, entry, what):
    good = {"text": "LOCATION2 is fine", "opinions": []}
    path = tmp_path / "data.json"
    path.write_text(json.dumps([good, entry, good]))
    corpus = read_sentihood(path)
    assert len(corpus.sentences) == 2
    assert corpus.problems.count == 1
    assert str(corpus.problems.shown[0]).startswith("data.json entry 2: ")
    assert what in corpus.problems.shown[0].what


@pytest.mark.parametrize(
    ("content", "what"),
    [(b"[", "not JSON"), (b"{}", "a dict at the top"), (b'["\xff"]', "is not UTF-8: byte 0xff")],
)
def test_a_broken_sentihood_file_is_one_error(tmp_path, content, what):
    path = tmp_path / "data.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=what):
        read_sentihood(path)
    with pytest.raises(InputError, match="is not there"):
        read_sentihood(tmp_path / "absent.json")


def test_broken_semeval(tmp_path):
    path = tmp_path / "data.xml"
    path.write_text(
        "<sentences><sentence id='1'><text>ok</text></sentence><sentence id='2'/>"
        "<sentence id='3'><text>x</text><aspectCategories>"
        "<aspectCategory category='wine' polarity='positive'/></aspectCategories></sentence>"
        "<sentence><text>x</text><aspectCategories>"
        "<aspectCategory category='food' polarity='great'/></aspectCategories></sentence></sentences>"
    )
    corpus = read_semeval(path)
    assert [sentence.text for sentence in corpus.sentences] == ["ok"]
    assert [problem.where for problem in corpus.problems.shown] == [
        "data.xml sentence 2",
        "data.xml sentence 3",
        "data.xml sentence 4",
    ]
    assert "wine" in corpus.problems.shown[1].what
    for term, what in (
        ("wine' polarity='positive", "'wine' is not in"),
        ("ok' polarity='great", "polarity 'great'"),
    ):
        path.write_text(
            "<sentences><sentence><text>ok</text><aspectCategory category='food' polarity='positive'/>"
            f"<aspectTerm term='{term}'/></sentence></sentences>"
        )
        assert read_semeval(path).problems.count == 0
        (problem,) = read_semeval(path, terms=True).problems.shown
        assert what in problem.what
    laptop = "<a><sentence><text>x</text><aspectTerm term='x' polarity='positive'/></sentence></a>"
    later = "<a><sentence><text>x</text><Opinion target='x' category='FOOD#QUALITY'/></sentence></a>"
    for content, what in (
        ("<a>", "not well-formed"),
        ("<a/>", "no <sentence>"),
        (laptop, "no <aspectCategory>.*laptops"),
        (later, "no <aspectCategory>.*SemEval-2015 and 2016"),
        ("<?xml version='1.0' encoding='gbk'?><a/>", "not read: .*encod"),
    ):
        path.write_text(content)
        with pytest.raises(InputError, match=what):
            read_semeval(path)
    with pytest.raises(InputError, match="is not there"):
        read_semeval(tmp_path / "absent.xml")


def test_labelled_table_groups_the_rows_of_a_text():
    corpus = read_labelled(str(EXAMPLES / "labelled.csv"), Columns(target="target"))
    assert corpus.polarities == ("none", "negative", "positive")
    assert [len(sentence.contexts) for sentence in corpus.sentences] == [3, 3]
    assert corpus.sentences[1].contexts[0] == Context("price", "Lark")
    assert corpus.sentences[1].polarities == ("positive", "negative", "none")


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ("text,aspect\na,b\n", "no column 'polarity'; there are 'text', 'aspect'"),
        ("text,aspect,polarity\n", "holds no row"),
        ("text,aspect,polarity\n,b,positive\n", "row 1: column 'text' is empty"),
        ("text,aspect,polarity\na,b,none\n", "every polarity is 'none'; another one is needed"),
    ],
)
def test_a_labelled_table_that_cannot_be_used(tmp_path, rows, what):
    path = tmp_path / "labelled.csv"
    path.write_text(rows)
    with pytest.raises(InputError, match=what):
        read_labelled(str(path))


def test_contradicting_labels_name_the_later_row(tmp_path):
    path = tmp_path / "labelled.csv"
    path.write_text("text,aspect,polarity\na,b,positive\na,b,negative\nc,b,negative\n")
    corpus = read_labelled(str(path))
    assert len(corpus.sentences) == 2
    assert corpus.problems.shown[0].where.endswith("row 2")


def test_labels_that_contradict_but_for_the_letter_case_of_the_aspect_are_told(tmp_path):
    path = tmp_path / "labelled.csv"
    rows = "a,Akku,,positive\na,AKKU,,negative\na,akku,,positive\nb,Akku,US,positive\nb,akku,us,negative\n"
    path.write_text(f"text,aspect,target,polarity\n{rows}")
    corpus = read_labelled(str(path))
    (told,) = corpus.problems.lines()
    assert (
        "row 2: the same text and context, but for letter case ('Akku'), has polarity 'positive' in" in told
    )
    assert [[context.aspect for context in sentence.contexts] for sentence in corpus.sentences] == [
        ["Akku", "akku"],
        ["Akku", "akku"],
    ]


def test_records_refuse_what_is_no_question():
    with pytest.raises(InputError, match="at least one word"):
        Context("  ")
    with pytest.raises(InputError, match="the target"):
        Context("price", "")
    with pytest.raises(InputError, match=r"the target 'caf\\udce9' is not UTF-8"):
        Context("price", "caf\udce9")
    with pytest.raises(InputError, match=r"the aspect '\\udcff' is not UTF-8"):
        Context("\udcff")
    with pytest.raises(InputError, match="row 3: the text is empty"):
        Sentence(" \n", (Context("price"),), (), "row 3")
    with pytest.raises(InputError, match="1 contexts but 2"):
        Sentence("a", (Context("price"),), ("none", "none"))
    with pytest.raises(ConfigError, match="begin with 'none'"):
        Corpus((), ("positive", "none"))


def test_problems_are_all_counted_and_some_shown():
    problems = Problems(keep=2)
    for number in range(5):
        problems.add(f"row {number}", "bad")
    assert list(problems.lines()) == ["row 0: bad", "row 1: bad", "… and 3 more"]

"""Findings: which terms, in which category, judged how and by which words."""

import time
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from weft.absa.find.domain import Category, Phrases, common_categories, read_domain
from weft.absa.find.finder import Finder
from weft.absa.find.places import passages, sides_below_heads
from weft.absa.find.spans import Span, spans_of_windows
from weft.absa.model.terms import TAGS
from weft.absa.records import Context
from weft.absa.use.sides import leaning
from weft.absa.use.store import load
from weft.absa.use.windows import sentence_begins
from weft.cli.main import main
from weft.errors import ConfigError, InputError
from weft.platform.models import find_model

CATEGORIES = [Category("price", ("rent",)), Category("place", ("location",))]


def answering(monkeypatch, asker, shares_of):
    """Let a model answer with the shares that a function gives for each question."""

    def answer(_, asked):
        return [np.array([shares_of(context) for context in sentence.contexts]) for sentence in asked]

    monkeypatch.setattr(type(asker), "answer", answer)


def test_a_text_gives_terms_with_category_polarity_and_words(tagging):
    (found,) = Finder(tagging, CATEGORIES).find(["the rent is dear , the location is good"])
    assert [(f.term, f.category) for f in found] == [("rent", "price"), ("location", "place")]
    assert [f.words for f in found] == [("dear",), ("good",)]
    text = "the rent is dear , the location is good"
    for finding in found:
        assert text[slice(*finding.span)] == finding.term
        assert [text[a:b] for a, b in finding.places] == list(finding.words)
        assert finding.polarity in tagging.classes_[1:]
        assert 0.5 <= finding.confidence <= 1


def both(tagging, text, term, passage=None):
    """What is said of a term that one sentence names."""
    whole, near = (
        tagging.predict([text], [term])[0, 0],
        tagging.predict([passage or text], [(term, "general")])[0, 0],
    )
    return np.sqrt(whole * near)


@pytest.mark.parametrize("before", ["", "the location is bad . "])
@pytest.mark.parametrize(
    "behind", ["", " . the transit is good", " . the transit is good . the transit is bad"]
)
def test_the_answer_for_a_term_is_the_mean_of_the_text_about_it_and_its_passage(tagging, before, behind):
    """The passage is its sentence and the next."""
    text = f"{before}the rent is cheap{behind}"
    (finding,) = [finding for finding in Finder(tagging).find([text])[0] if finding.term == "rent"]
    begins = [*sentence_begins(text), len(text)]
    at = 1 if before else 0
    shares = both(tagging, text, "rent", text[begins[at] : begins[min(at + 2, len(begins) - 1)]])[1:]
    assert finding.polarity == tagging.classes_[1 + int(shares.argmax())]
    assert np.isclose(finding.confidence, shares.max() / shares.sum())
    assert finding.category is None


def test_a_term_that_is_answered_none_is_no_finding(tagging):
    """What is told in its place has its words."""
    text = "the rent is dear , the location is good"
    general = tagging.predict([text], ["general"])[0, 0]
    rows = np.array([both(tagging, text, "rent"), both(tagging, text, "location"), general])
    rent, location, whole = rows[:, 1:].max(1) / (rows[:, 1:].max(1) + rows[:, 0])
    assert rent != location
    high = max([(rent, "rent", "dear"), (location, "location", "good")])
    (found,) = Finder(tagging.calibrated(1.0, (rent + location) / 2), CATEGORIES).find([text])
    assert [(f.term, f.words) for f in found] == [(high[1], (high[2],))]
    assert high[0] < whole
    (found,) = Finder(tagging.calibrated(1.0, (high[0] + whole) / 2), CATEGORIES).find([text])
    assert [(f.term, f.category, f.words) for f in found] == [(None, "general", ("dear", "good"))]
    assert Finder(tagging.calibrated(1.0, 1.0), CATEGORIES, ask=True).find([text]) == [[]]


def test_terms_have_a_threshold_of_their_own(tagging):
    """What names nothing keeps the other."""
    text = "the rent is dear , the location is good"
    asker = tagging.calibrated(1.0, 0.0)
    for limit, count in ((None, 2), (0.0, 2), (1.0, 0)):
        asker.config = replace(asker.config, term_threshold=limit)
        (found,) = Finder(asker, CATEGORIES).find([text])
        assert sum(finding.term is not None for finding in found) == count
        assert [finding.category for finding in found if finding.term is None] == ["general"] * (count == 0)
    with pytest.raises(ConfigError, match=r"AbsaConfig.term_threshold is 1.5; it must be in \[0, 1\]"):
        replace(asker.config, term_threshold=1.5)


def test_words_beside_a_term_that_is_left_out_are_of_its_category(tagging, monkeypatch):
    answering(
        monkeypatch,
        tagging,
        lambda c: (0.9, 0.05, 0.05) if c.target or c.aspect in ("rent", "location") else (0.1, 0.8, 0.1),
    )
    finder = Finder(tagging.calibrated(1.0, 0.5), CATEGORIES, ask=True)
    (found,) = finder.find(["the rent is dear , the location is good"])
    assert [(f.term, f.category, f.words) for f in found] == [
        (None, "price", ("dear",)),
        (None, "place", ("good",)),
    ]


def test_shipped_what_is_asked_and_stated_is_not_judged():
    finder = Finder(load(find_model("absa", "absa-any")))
    asked, stated, judged = finder.find(
        ["Does the battery last all day?", "The shop opens at nine.", "The battery lasts all day."]
    )
    assert asked == stated == []
    assert [(finding.term, finding.polarity) for finding in judged] == [("battery", "positive")]


def test_a_passage_is_a_sentence_and_the_next_one_that_does_not_name_the_term():
    text = "The app dies. Hate it. Oh. Well. The App and the app are fine! The bus came. Bus or no bus."
    starts = [text.index("app"), text.index("App"), text.rindex("app"), text.index("bus"), text.rindex("Bus")]
    found = passages(text, [Span(start, start + 3, "term") for start in starts])
    assert [text[slice(*span)] for span in found] == [
        "The app dies. Hate it. ",
        "The App and the app are fine! The bus came. ",
        "The App and the app are fine! The bus came. ",
        "The bus came. ",
        "Bus or no bus.",
    ]
    assert passages("", []) == []


def test_a_passage_holds_the_whole_of_its_term():
    text = "I was in pain. Then I saw Dr. Jr. Smith. He was kind! Later Dr. Jr. Smith moved."
    names = "Dr. Jr. Smith"
    terms = [Span(at, at + len(names), "term") for at in (text.index(names), text.rindex(names))]
    assert [text[slice(*span)] for span in passages(text, terms)] == [
        "Then I saw Dr. Jr. Smith. He was kind! ",
        "Later Dr. Jr. Smith moved.",
    ]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Good.” Bad.", ["Good.” ", "Bad."]),
        ("See Dr. Who on St. Ann St. It shut.", ["See Dr. Who on St. Ann St. It shut."]),
        ("First.\n\nSecond\n\nThird", ["First.\n\n", "Second\n\n", "Third"]),
        ("Pros:\n- quick\n- cheap", ["Pros:\n", "- quick\n", "- cheap"]),
        ("one\ntwo lines", ["one\ntwo lines"]),
        ("Good.<br /><br />Bad", ["Good.<br /><br />", "Bad"]),
    ],
)
def test_where_sentences_begin(text, parts):
    begins = [*sentence_begins(text), len(text)]
    assert [text[a:b] for a, b in pairwise(begins)] == parts


def test_a_text_of_dots_takes_time_in_proportion_to_its_length():
    begun = time.process_time()
    assert sentence_begins("." * 100_000) == [0]
    assert time.process_time() - begun < 5


def test_a_term_of_two_sentences_is_asked_where_it_stands(tagging):
    sentences = ["the rent is cheap . ", "the rent is dear"]
    (found,) = Finder(tagging).find(["".join(sentences)])
    assert [finding.term for finding in found] == ["rent", "rent"]
    for finding, sentence in zip(found, sentences, strict=True):
        shares = tagging.predict([sentence], [("rent", "general")])[0, 0, 1:]
        assert np.isclose(finding.confidence, shares.max() / shares.sum())


def test_what_is_said_of_a_term_in_one_way_counts_once_in_a_sentence(tagging):
    text = "the rent is dear , the rent is bad , the location is good"
    found, alone = Finder(tagging, CATEGORIES).find([text, "the rent is dear , the rent is bad"])
    assert [(f.term, f.span, f.words) for f in found] == [
        ("rent", (4, 8), ("dear", "bad")),
        ("location", (41, 49), ("good",)),
    ]
    assert [text[a:b] for a, b in found[0].places] == ["dear", "bad"]
    assert [f.term for f in alone] == ["rent"]


def test_what_is_said_in_two_ways_counts_twice(tagging, monkeypatch):
    """Letter case tells mentions apart, so that each has an answer of its own."""
    answering(
        monkeypatch, tagging, lambda c: (0, 0.9, 0.1) if "Rent" in (c.target, c.aspect) else (0, 0.1, 0.9)
    )
    (found,) = Finder(tagging).find(["the Rent is good , the rent is bad , the rent is dear"])
    assert [(f.term, f.polarity, f.words) for f in found] == [
        ("Rent", "positive", ("good",)),
        ("rent", "negative", ("bad", "dear")),
    ]


def test_a_place_that_only_names_what_another_judges_is_no_finding(tagging):
    """The limit is between what the two sentences have; below it both count, above it the whole text has a say."""
    sentences = ["the rent is cheap . ", "the rent is dear"]
    text = "".join(sentences)

    def share(row):
        return row[1:].max() / (row[1:].max() + row[0])

    def alone(asked):
        return share(tagging.predict([asked], [("rent", "general")])[0, 0])

    low, high = sorted(sentences, key=alone)
    (found,) = Finder(tagging.calibrated(1.0, (alone(low) + alone(high)) / 2)).find([text])
    assert [text[slice(*f.span)] for f in found] == ["rent"]
    assert found[0].span[0] // len(sentences[0]) == sentences.index(high)
    (found,) = Finder(tagging).find([text])
    assert len(found) == 2
    with_text = [share(both(tagging, text, "rent", sentence)) for sentence in sentences]
    assert alone(high) < max(with_text)
    limit = (alone(high) + max(with_text)) / 2
    (found,) = Finder(tagging.calibrated(1.0, limit)).find([text])
    places = [sentence for sentence, mean in zip(sentences, with_text, strict=True) if mean > limit]
    assert [sentences[f.span[0] // len(sentences[0])] for f in found] == places


def test_shipped_a_term_is_told_of_once_where_it_is_judged():
    texts = [
        "Ferry late, ferry dirty, ferry expensive.",
        "The assistant was rude to my mother, and the assistant was rude to me.",
        "I parked on the car deck and locked the car. The car deck was badly lit.",
    ]
    found = Finder(load(find_model("absa", "absa-any"))).find(texts)
    assert [[(f.term, f.polarity) for f in some] for some in found[:2]] == [
        [("Ferry", "negative")],
        [("assistant", "negative")],
    ]
    assert [f.span for f in found[2] if f.term == "car deck"] == [(49, 57)]


def test_a_term_of_a_text_longer_than_is_read_at_once(tagging):
    passage = "the rent is cheap . the transit is good . "
    text = "the location is bad . " * 4 + passage + "the transit is good . " * 3
    assert len(tagging.tags([text])[0]) > 1
    (finding,) = [finding for finding in Finder(tagging).find([text])[0] if finding.term == "rent"]
    shares = both(tagging, text, "rent", passage)[1:]
    assert np.isclose(finding.confidence, shares.max() / shares.sum())


def test_shipped_praise_and_blame_of_one_thing_are_two_judgements():
    text = (
        "The booking app crashes every single time, I hate it. The booking app is brilliant and never fails."
    )
    asker = load(find_model("absa", "absa-any"))
    (found,) = Finder(asker).find([text])
    assert [finding.polarity for finding in found if finding.term == "booking app"] == [
        "negative",
        "positive",
    ]


def test_a_text_that_names_nothing_is_asked_in_the_whole(tagging):
    assert Finder(tagging.calibrated(1.0, 1.0)).find(["the very in"]) == [[]]
    (found,) = Finder(tagging).find(["the very in"])
    shares = tagging.predict(["the very in"], ["general"])[0, 0]
    assert [finding.category for finding in found] == ["general"]
    assert np.isclose(found[0].confidence, shares[1:].max())
    assert all(f.term is None and f.span is None for f in found)


def test_categories_of_the_user_are_asked_of_every_text(tagging):
    finder = Finder(tagging, CATEGORIES, ask=True, faint=True)
    (found,) = finder.find(["the rent is dear"])
    assert found[0].term == "rent"
    assert [(f.category, f.faint) for f in found if f.term is None] == [("place", True)]
    assert Finder(tagging, CATEGORIES, ask=True).find(["the rent is dear"]) == [found[:1]]


def test_shipped_faint_judgements_are_told_where_texts_are_compared():
    asker = load(find_model("absa", "absa-any"))
    categories = [Category("route planning"), Category("map detail"), Category("tracking")]
    texts = ["The planner sent us over a cliff.", "Every path is drawn in.", "It lost me in the fog."]
    plain = Finder(asker, categories, ask=True).find(texts)
    with_faint = Finder(asker, categories, ask=True, faint=True).find(texts)
    assert [[f for f in found if not f.faint] for found in with_faint] == plain
    faint = [f for found in with_faint for f in found if f.faint]
    assert faint
    assert all(f.term is None and 0.3 < f.confidence <= 0.6 for f in faint)


def test_a_polarity_below_what_is_asked_is_unsure_and_says_what_it_likely_is(tagging):
    texts = ["the rent is dear , the location is good"]
    (told,) = Finder(tagging, CATEGORIES).find(texts)
    least, most = sorted(finding.confidence for finding in told)
    (found,) = Finder(tagging, CATEGORIES, abstain=(least + most) / 2).find(texts)
    for one, before in zip(found, told, strict=True):
        if before.confidence == most:
            assert one == before
        else:
            assert one == replace(before, polarity="unsure", likely=before.polarity)
    assert Finder(tagging, CATEGORIES, abstain=least).find(texts) == [told]
    with pytest.raises(ConfigError, match=r"abstain is 2; it must be in \[0, 1\]"):
        Finder(tagging, abstain=2)


def test_shipped_what_no_category_of_the_user_is_about_is_general():
    finder = Finder(load(find_model("absa", "absa-any")), [Category("price"), Category("speed")], ask=True)
    texts = ["I would not go there again.", "Far too expensive.", "We were there."]
    verdict, dear, fact = finder.find(texts)
    assert [(f.term, f.category, f.polarity) for f in verdict] == [(None, "general", "negative")]
    assert [(f.term, f.category, f.polarity) for f in dear] == [(None, "price", "negative")]
    assert {f.category for f in fact} <= {"price", "speed", "general"}


def test_many_texts_are_answered_like_each_alone(tagging):
    texts = ["the rent is dear", "the location is good", "a", "the transit is bad ."]
    finder = Finder(tagging, CATEGORIES)
    together = finder.find(texts)
    for text, found in zip(texts, together, strict=True):
        (alone,) = finder.find([text])
        assert [(f.term, f.category, f.polarity, f.words) for f in alone] == [
            (f.term, f.category, f.polarity, f.words) for f in found
        ]
    assert finder.find([]) == []


def test_what_windows_share_counts_once_and_the_longer():
    text = "the pad thai was good"
    offsets = [(0, 3), (4, 7), (8, 12), (13, 16), (17, 21)]
    begins, goes_on = TAGS.index("B-term"), TAGS.index("I-term")
    short = offsets, np.array([0, begins, 0, 0, 0])
    long = offsets, np.array([0, begins, goes_on, 0, 0])
    for windows in ([short, long], [long, short], [long, long]):
        found = spans_of_windows(text, windows)
        assert [text[span.start : span.stop] for span in found] == ["pad thai"]


def test_a_long_text_is_read_in_windows_and_its_places_are_its_own(tagging):
    text = " . ".join(["the rent is dear"] * 12)
    windows = tagging.tags([text])[0]
    assert len(windows) > 1
    for offsets, tags in windows:
        assert {text[start:stop] for start, stop in offsets if stop > start} == {
            "the",
            "rent",
            "is",
            "dear",
            ".",
        }
        assert len(tags) == len(offsets)
    (found,) = Finder(tagging).find([text])
    spans = [finding.span for finding in found]
    assert spans == sorted(set(spans))
    assert spans[0][0] < 20
    assert spans[-1][1] > len(text) - 20
    assert all(text[slice(*finding.span)] == finding.term for finding in found)


def test_common_categories_are_distinct():
    names = [category.name for category in common_categories()]
    assert len(names) == len(set(names)) > 30


def test_a_domain_is_read(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("# mine\nbattery: charge, power\n\nwaiting time\n")
    battery, waiting = read_domain(path)
    assert battery == Category("battery", ("charge", "power"))
    assert battery.question == "battery: charge, power"
    assert waiting.question == "waiting time"


def test_a_sign_inside_a_word_begins_no_comment(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("C#: language  # of code\n")
    assert read_domain(path) == [Category("C#", ("language",))]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("# nothing\n", "names no category"),
        ("a\nA: b\n", "'a' twice"),
        ("a\n: charge, power\n", "line 2: has words but no category"),
    ],
)
def test_a_domain_that_is_none_is_told(tmp_path, text, what):
    path = tmp_path / "mine.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=what):
        read_domain(path)


@pytest.mark.parametrize(
    ("term", "category"),
    [
        ("battery life", "battery"),
        ("the life of the battery", "battery"),
        ("delivery time", "delivery"),
        ("waiting times", "waiting time"),
        ("time", "waiting time"),
        ("rooms at the bank", None),
        ("room of the staff", "service"),
        ("Tower of London", None),
        ("of", None),
        ("comfort of the seats", "comfort of use"),
    ],
)
def test_phrases_and_words_decide_and_little_words_do_not(term, category):
    """What no word decides is left to the vectors, which are told apart by nothing here."""
    categories = [
        Category("battery", ("battery life",)),
        Category("waiting time", ("wait",)),
        Category("delivery"),
        Category("comfort of use", ("park of cars", "bank of the river")),
        Category("service", ("staff",)),
    ]
    number = Phrases(categories)(term)
    assert (None if number is None else categories[number].name) == category


def test_one_text_in_place_of_a_list_is_refused(tagging):
    with pytest.raises(InputError, match="one text in place of a list"):
        Finder(tagging).find("the rent is cheap")


def test_own_categories_are_not_written_over(tmp_path, capsys):
    domain = tmp_path / "domain.csv"
    domain.write_text("price: rent\n", encoding="utf-8")
    table = tmp_path / "texts.csv"
    table.write_text("text\nthe rent is dear\n", encoding="utf-8")
    for option in ("-o", "--html"):
        assert main(["absa", "find", str(table), "--domain", str(domain), option, str(domain)]) == 2
        assert "the output is the input" in capsys.readouterr().err
    assert domain.read_text(encoding="utf-8") == "price: rent\n"


def test_a_term_leans_to_what_its_text_or_the_head_above_it_asks_for(tagging):
    finder = Finder(tagging)
    text = "the rent is dear"
    shares = both(tagging, text, "rent")
    for side in ("pros", "cons"):
        (found,) = finder.find([text], side)[0]
        leant = leaning(shares / shares.sum(), side, tagging.classes_)[1:]
        assert np.isclose(found.confidence, leant.max() / leant.sum())
        assert found.polarity == tagging.classes_[1 + int(leant.argmax())]
    assert finder.find([text, text], ["cons", None]) == [
        finder.find([text], "cons")[0],
        finder.find([text])[0],
    ]
    # An answer that names nothing of what it was asked for is read as any text.
    denied = "nothing , the rent is dear"
    assert finder.find([denied], "cons") == finder.find([denied])
    for sides, what in ((["pros"], "1 sides of 2 texts"), ("con", "is no side")):
        with pytest.raises(InputError, match=what):
            finder.find([text, text], sides)


def test_what_is_left_behind_a_denial_judges_by_itself(tagging, monkeypatch):
    heard = []

    def answer(_, asked):
        heard.extend(asked)
        return [np.array([[0.3, 0.6, 0.1]] * len(sentence.contexts)) for sentence in asked]

    monkeypatch.setattr(type(tagging), "answer", answer)
    categories = [Category("general"), Category("price", ("rent",))]
    finder = Finder(tagging, categories, ask=True)
    (found,) = finder.find(["nothing , it was a very the"], "cons")
    assert heard[1].text == "it was a very the"
    assert heard[1].contexts == (Context("general"), Context("price: rent"))
    assert {f.polarity for f in found} == {"positive"}
    for nothing in ("nothing", "nothing. &lt;b&gt;", "-"):
        assert not [f for f in finder.find([nothing], "cons")[0] if f.term is None]


def test_sides_of_terms_below_heads():
    text = "Pros: the lift. Cons: the wifi. And none of it was cheap"
    terms = [Span(text.index(word), text.index(word) + 4) for word in ("lift", "wifi", "chea")]
    assert sides_below_heads(text, terms) == ["pros", "cons", "cons"]
    assert sides_below_heads("the lift", [Span(4, 8)]) == [None]
    text = "Pros: nothing, the lift was dirty. Cons: the wifi"
    terms = [Span(text.index(word), text.index(word) + 4) for word in ("lift", "wifi")]
    assert sides_below_heads(text, terms) == [None, "cons"]

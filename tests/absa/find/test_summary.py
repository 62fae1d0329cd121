"""The summary of a table, and its page."""

import re

import pytest

from weft.absa.find.finding import Finding
from weft.absa.find.page import page
from weft.absa.find.summary import Summary
from weft.cli.absa.find import _told


def finding(term="soup", polarity="positive", confidence=0.9, category="food", span=(4, 8), **rest):
    return Finding(term, span if term else None, category, polarity, confidence, **rest)


def some():
    summary = Summary()
    summary.add(1, "The soup was hot", [finding(words=("hot",), places=((13, 16),))])
    summary.add(2, "The soup was <q>cold</q>", [finding(polarity="negative", confidence=0.7)])
    summary.add(3, "The Soup!", [finding(term="Soup", confidence=0.95)])
    summary.add(4, "dear", [finding(term=None, category="price", polarity="negative")])
    summary.add(5, "we went there", [])
    return summary


def test_aspects_by_frequency_and_polarity():
    summary = some()
    assert (summary.texts, summary.silent) == (5, 1)
    food, price = summary.aspects()
    assert (food.name, food.total, dict(food.polarities)) == ("food", 3, {"positive": 2, "negative": 1})
    assert food.terms.most_common() == [("soup", 3)]
    assert (price.name, price.total, price.terms.total()) == ("price", 1, 0)
    assert [e.row for e in food.examples("positive")] == [3, 1]
    assert summary.aspects(least=2) == [food]


def test_a_term_is_one_aspect_however_it_is_written():
    summary = Summary()
    for row, term in enumerate(("Front desk", "front\n desk", "front&nbsp;desk", "front<br>Desk"), start=1):
        summary.add(row, term, [finding(term=term, category=None, span=(0, len(term)))])
    (desk,) = summary.aspects()
    assert (desk.name, desk.total, dict(desk.terms)) == ("front desk", 4, {"front desk": 4})


def test_polarities_that_are_a_models_own_are_shown_behind_the_others():
    summary = some()
    summary.add(6, "The soup was so-so", [finding(polarity="<mixed>", confidence=0.8)])
    assert summary.polarities() == ("positive", "neutral", "conflict", "negative", "<mixed>")
    head, line = _told(summary).splitlines()[1:3]
    assert head.split()[2:7] == ["positive", "neutral", "conflict", "negative", "<mixed>"]
    assert line.split()[:7] == ["food", "4", "2", "0", "0", "1", "1"]
    shown = page(summary)
    assert "1 &lt;mixed&gt;" in shown
    assert "so-so" in shown
    assert shown.count("<rect") == 4


def test_unsure_polarities_are_counted_apart_and_compared_as_likely():
    summary = Summary(by="branch")
    for row, confidence in enumerate([0.9, 0.4] * 3, start=1):
        one = finding(polarity="negative", confidence=confidence).told_from(0.5)
        summary.add(row, "The soup was <q>cold</q>", [one], group="A")
    (food,) = summary.aspects()
    assert (dict(food.polarities), summary.polarities()[-1]) == ({"negative": 3, "unsure": 3}, "unsure")
    assert summary.groups is not None
    assert dict(summary.groups.of("food")["A"].polarities) == {"negative": 6}
    shown = page(summary)
    assert ("<h3>unsure</h3>" in shown, '<rect class="pale"' in shown) == (True, True)


def test_without_a_category_the_term_is_the_aspect():
    summary = Summary()
    summary.add(1, "The Soup", [finding(term="Soup", category=None)])
    assert [aspect.name for aspect in summary.aspects()] == ["soup"]


def test_examples_are_bounded_and_the_surest_stay():
    summary = Summary()
    for row in range(200):
        summary.add(row, f"The soup {row}", [finding(confidence=row / 200)])
    rows = [example.row for example in summary.aspects()[0].examples("positive", 5)]
    assert rows == [199, 198, 197, 196, 195]
    assert len(summary.aspects()[0].kept["positive"]) == 25


def test_of_a_long_text_what_is_judged_is_shown():
    summary = Summary()
    text = "x" * 1000 + " soup good " + "y" * 1000
    summary.add(1, text, [finding(span=(1001, 1005), words=("good",), places=((1006, 1010),))])
    (example,) = summary.aspects()[0].examples("positive")
    assert example.text[slice(*example.term)] == "soup"
    assert [example.text[a:b] for a, b in example.words] == ["good"]
    assert len(example.text) < 400


def test_a_part_of_a_text_is_cut_between_words_and_says_so():
    summary = Summary()
    text = "Once upon a time " * 30 + "the soup was cold " + "and so on and so forth " * 30
    at = text.index("soup")
    summary.add(1, text, [finding(span=(at, at + 4), words=("cold",), places=((at + 9, at + 13),))])
    (example,) = summary.aspects()[0].examples("positive")
    assert example.text[slice(*example.term)] == "soup"
    assert [example.text[a:b] for a, b in example.words] == ["cold"]
    first, *_, last = example.text.split()
    assert (first, last) == ("…", "…")
    assert set(example.text.split()) <= {*text.split(), "…"}


@pytest.mark.parametrize("named", ["soup", "so" * 50])
def test_one_line_shows_what_is_judged(named):
    text = (
        "We came late,\nsat down at a table by the window and\twaited. The "
        + named
        + "'s smell "
        + "went on " * 30
    )
    at = text.index(named)
    summary = Summary()
    summary.add(1, text, [finding(term=named, span=(at, at + len(named)))])
    line = summary.aspects()[0].examples("positive")[0].line(60)
    assert named in line
    assert len(line) <= max(60, len(named) + 8)
    assert line.startswith("… ")
    assert line.endswith(" …")
    assert "\n" not in line


def test_a_short_text_is_one_line_as_it_is():
    summary = Summary()
    summary.add(1, "dear  and\ncold", [finding(term=None, category="price")])
    assert summary.aspects()[0].examples("positive")[0].line() == "dear and cold"


def test_sentences_stand_there_as_a_web_page_shows_them():
    text = "Came late.<br />The <b>front&nbsp;desk</b> wasn&#39;t kind.&lt;br&gt;" + " on" * 200 + "&amp;"
    start, stop = text.index("front"), text.index("</b>")
    judged = text.index("wasn"), text.index(".&lt;")
    summary = Summary()
    summary.add(1, text, [finding(span=(start, stop), words=("…",), places=(judged,))])
    (example,) = summary.aspects()[0].examples("positive")
    assert example.text.startswith("Came late.\nThe  front desk  wasn't kind.<br> on on")
    assert example.text[slice(*(example.term or ()))] == "front desk"
    assert [example.text[a:b] for a, b in example.words] == ["wasn't kind"]
    assert example.text.endswith(" on …")
    assert '<mark class="for18">front desk</mark>  <u>wasn&#x27;t kind</u>.&lt;br&gt;' in page(summary)


def test_the_page_says_how_texts_were_read():
    summary = Summary()
    summary.add(1, "Sehr gut", [finding()], "the text seems to be in another language than English: de")
    summary.add(2, "batery", [finding()], "read as meant: batery as battery")
    summary.add(3, "batery", [finding()], "read as meant: batery as battery")
    shown = page(summary)
    assert (
        "<p>1 text seems to be in another language than English, which the models do not read.</p>" in shown
    )
    assert "<p>2 texts have words that are read as what is likely meant.</p>" in shown


def test_one_of_each_is_said_so():
    summary = Summary()
    summary.add(1, "The soup was hot", [finding()])
    assert "<p>1 text, 1 judgement, 1 aspect; 0 without a judgement.</p>" in page(summary)


def test_as_plain_data():
    told = some().as_json(examples=1)
    assert told["texts"] == 5
    assert told["aspects"][0]["examples"] == {
        "positive": ["The Soup!"],
        "negative": ["The soup was <q>cold</q>"],
    }


def test_the_page_shows_bars_and_sentences_and_trusts_no_text():
    shown = page(some())
    assert "<q>cold" not in shown
    assert "&lt;q&gt;cold" in shown
    assert '<mark class="for18">soup</mark> was <u>hot</u>' in shown
    widths = [float(width) for width in re.findall(r'<rect class="\w+" x="[\d.]+" width="([\d.]+)"', shown)]
    assert widths == [66.67, 33.33, 33.33]
    assert "http" not in re.sub(r"http-equiv", "", shown)
    assert shown.count("<details>") == 2


def test_what_is_praised_and_blamed_has_a_colour_of_its_own():
    summary = some()
    summary.add(6, "The soup was hot but thin", [finding(polarity="conflict")])
    told = page(summary)
    assert '<rect class="torn"' in told
    assert "1 conflict" in told
    assert summary.as_json()["aspects"][0]["polarities"]["conflict"] == 1


def test_an_empty_table_has_a_page():
    assert "0 texts" in page(Summary())
    assert 'class="key"' not in page(Summary())
    assert 'class="key"' in page(some())

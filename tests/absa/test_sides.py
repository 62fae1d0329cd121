"""Answers to a question for what was good, or for what was not: what they are read as, and where they stand."""

import csv
import json

import numpy as np
import pytest

from weft.absa.read.fields import Fields, fields_of, in_row
from weft.absa.read.separated import TableRow
from weft.absa.read.table import read_rows
from weft.absa.records import Context, Sentence
from weft.absa.represent.denied import behind_denial
from weft.absa.represent.meant import sides_by_layout
from weft.absa.use.predict import Asked
from weft.absa.use.sides import FITTED, Odds, knows_sides, leaning, rest_of, side_of
from weft.absa.use.store import save
from weft.cli.main import main
from weft.errors import ConfigError, InputError

CLASSES = ("none", "positive", "negative", "neutral", "conflict")


def test_what_was_asked_for_is_added_in_nats_to_opinions_alone():
    rows = np.array([[0.2, 0.5, 0.1, 0.15, 0.05], [0.05, 0.9, 0.03, 0.01, 0.01]])
    odds = Odds(0.8, 1.5, -0.5, -0.25)
    for side, first, second in (("pros", 1.5, -0.5), ("cons", -0.5, 1.5)):
        expected = rows[:, 1:] ** 0.8 * np.exp([first, second, -0.25, 0.0])
        expected *= (1 - rows[:, :1]) / expected.sum(axis=1, keepdims=True)
        found = leaning(rows, side, CLASSES, odds)
        assert np.allclose(found[:, 1:], expected)
        assert (found[:, 0] == rows[:, 0]).all()
    assert leaning(rows, None, CLASSES) is rows
    # The order of the classes is the model's.
    turned = [4, 3, 2, 1, 0]
    found = leaning(rows[:, turned], "cons", tuple(CLASSES[n] for n in turned), odds)
    assert np.allclose(found[:, turned], leaning(rows, "cons", CLASSES, odds))


def test_what_nobody_holds_for_possible_stays_a_number():
    rows = np.array([[0.0, 1.0, 0.0, 0.0, 0.0]])
    found = leaning(rows, "cons", CLASSES)
    assert np.isfinite(found).all()
    assert found.argmax() == 1


def test_a_wish_is_blame_and_praise_in_the_wrong_field_stays_praise():
    wish, praise = [0.1, 0.6, 0.25, 0.05, 0.0], [0.01, 0.985, 0.003, 0.001, 0.001]
    assert leaning(np.array([wish]), "cons", CLASSES).argmax() == 2
    assert leaning(np.array([praise]), "cons", CLASSES).argmax() == 1
    assert FITTED.asked > 0 > FITTED.other


def test_classes_without_praise_and_blame_have_no_sides():
    assert not knows_sides(("none", "1", "2"))
    with pytest.raises(ConfigError, match="no class 'positive'"):
        leaning(np.ones((1, 3)) / 3, "pros", ("none", "1", "2"))


@pytest.mark.parametrize(
    "text",
    [
        "nothing",
        "Nothing, the staff were lovely",
        "nothing really, it was fine",
        "N/A",
        "n/a.",
        "none so far",
        "Honestly? Nothing!",
        "no, all of it was delicious",
        "No complaints from us",
        "I can't think of anything",
        "Can’t fault it. Sync is instant",
        "not much. rooms cold",
        "nothing - loved it",
        "None at all, tyre never goes flat",
        "None from our side, it was a nice evening",
        "can not say, first trip",
        "cant say, first trip",
        "Don't know, my son set it up",
        "not that I noticed",
        "dont have any issue so far",
        "Hm, at the moment not a single thing",
        "No\u00a0complaints",
        "no  complaints",
        "N.A.",
        "No Negative",
        "No Positive",
        "nothing…",
        "*nothing*",
        "nope👍",
        "There is nothing",
        "nothing to be honest",
        "no issues with the app",
        "I really can't fault the ladies who run it",
        " " * 420 + "nothing",
        "-",
        "…",
        "<p>nothing</p>",
    ],
)
def test_an_answer_that_names_nothing(text):
    assert behind_denial(text) is not None
    assert side_of(text, "cons") is side_of(text, "pros") is None


@pytest.mark.parametrize(
    "text",
    [
        "nothing worked in the flat",
        "no parking",
        "Not enough sockets",
        "not much parking near the hall",
        "none of the lifts worked",
        "price",
        "everything",
        "Nothing Phone charger",
        "No. 7 bus is always late",
        "class times, nothing after 19:00",
        "I was cold",
        "I can't find the exit",
        "do not use bleach",
        "zero-hours contracts",
        "no-show fees",
        "no-one answers the phone",
        "no (free) parking",
        "No. of lockers too low",
        "nothing (apart from the wifi)",
        "Don't know why there is no lift",
        "can't tell which rooms are free",
        "do not complain to the manager, he is rude",
        "I can't complain enough about the noise",
        "No comments field in the app",
        "No issues list, better search",
        "no changes to the menu in years",
        "👍",
        ":)",
        "no, better wifi please",
        "Nothing major, just better wifi",
        "N/A - better wifi",
        " " * 420 + "price",
        "-" * 420 + " better wifi",
    ],
)
def test_an_answer_that_names_something(text):
    assert behind_denial(text) is None
    assert (side_of(text, "cons"), side_of(text, None)) == ("cons", None)


def test_what_is_left_behind_a_denial():
    for text, rest in (
        ("nothing - loved it", "loved it"),
        ("Nothing, the staff were lovely", "the staff were lovely"),
        ("n/a", ""),
        ("none so far.", ""),
        ("…", ""),
        ("<p>no complaints</p>", ""),
        ("nothing. &lt;b&gt;", ""),
        ("nope 👍", "👍"),
    ):
        assert rest_of(text, "cons") == rest
        assert rest_of(text, None) == ("" if text == "…" else None)
    assert rest_of("the lift", "cons") is None


def test_what_stands_below_heads():
    text = "Pros: the lift, staff. Cons: better wifi please"
    found = [(text[start:stop].strip(), side) for start, stop, side in sides_by_layout(text)]
    assert found == [("the lift, staff.", "pros"), ("better wifi please", "cons")]
    text = "Cons:\n\n- wifi\n- price\n\nPros:\n- lift\n\nWe would come again, the garden is a dream."
    found = [(text[start:stop], side) for start, stop, side in sides_by_layout(text)]
    assert found == [("- wifi\n- price", "cons"), ("- lift", "pros")]
    for alone in ("Cons: wifi", "no heads", "Pro: Smith\nCon: Jones\nThe motion was voted down."):
        assert sides_by_layout(alone) == []
    text = "Pros:\n\n- quiet\n\n- the tutor\n\nCons:\n\n- price\n\n- window\nOverall: a fine bar"
    found = [(text[start:stop], side) for start, stop, side in sides_by_layout(text)]
    assert found == [("- quiet\n\n- the tutor", "pros"), ("- price\n\n- window", "cons")]
    text = "&nbsp;Pros: <b>lift</b>\nCons: wifi"
    assert [text[start:stop] for start, stop, _ in sides_by_layout(text)][1] == "wifi"


def test_rows_with_several_texts():
    rows = [
        TableRow(1, {"good": "lift", "bad": "wifi", "all": "fine"}),
        TableRow(2, {"good": " ", "bad": None, "all": "so so"}),
        TableRow(3, {}, "too few fields"),
        TableRow(4, {"good": 7, "bad": "", "all": ""}),
    ]
    fields = fields_of("all", None, ("good",), ("bad",))
    given = list(fields.of(rows))
    assert [(row.number, row.column, row.side) for row in given] == [
        (1, "all", None),
        (1, "good", "pros"),
        (1, "bad", "cons"),
        (2, "all", None),
        (3, None, None),
        (4, "good", "pros"),
    ]
    assert (fields.empty, fields.all) == (4, 9)
    assert fields.lines() == ["4 of 9 fields empty"]
    assert in_row(given[1], {"text": "lift"}) == {"row": 1, "column": "good", "text": "lift"}
    assert fields_of(None, None, (), ()).columns == ["text"]
    assert fields_of(None, None, ("good",), ()).columns == ["good"]
    one = fields_of("all", "cons", (), ())
    (row,) = one.of(rows[:1])
    assert (row.side, row.column, one.several) == ("cons", None, False)
    assert in_row(row, {}) == {"row": 1}


def test_lines_that_leave_out_what_nobody_filled_in(tmp_path):
    table = tmp_path / "form.jsonl"
    table.write_text('{"good": "wifi"}\n{"bad": "price"}\n{"good": "lift", "bad": "x"}\n', encoding="utf-8")
    fields = fields_of(None, None, ("good",), ("bad",))
    rows = read_rows(str(table), fields.columns, left_out=fields.left_out)
    assert [(row.number, row.column) for row in fields.of(rows)] == [
        (1, "good"),
        (2, "bad"),
        (3, "good"),
        (3, "bad"),
    ]
    assert (fields.empty, fields.all) == (2, 6)
    # A column that no line has is a slip of the keyboard.
    fields = fields_of(None, None, ("good",), ("badd",))
    with pytest.raises(InputError, match="no column 'badd'"):
        list(fields.of(read_rows(str(table), fields.columns, left_out=fields.left_out)))
    nan = [TableRow(1, {"good": float("nan"), "bad": "price"})]
    assert [row.column for row in fields_of(None, None, ("good",), ("bad",)).of(nan)] == ["bad"]


def test_columns_that_cannot_be():
    for fields, what in (
        (("text", "cons", ("good",), ()), "not both"),
        ((None, None, ("good",), ("good",)), "'good' is named twice"),
        (("bad", None, (), ("bad",)), "'bad' is named twice"),
        (("", None, (), ()), "no column"),
    ):
        with pytest.raises(ConfigError, match=what):
            Fields(*fields)
    with pytest.raises(InputError, match="nobody filled in 'good' or 'bad'"):
        list(Fields(None, None, ("good",), ("bad",)).of([TableRow(1, {"good": "", "bad": None})]))


def test_a_text_is_heard_by_what_it_was_asked_for(make):
    asker = make()
    contexts = (Context("price"), Context("staff"))
    plain, pros, denied = asker.answer(
        [
            Sentence("more staff", contexts),
            Sentence("more staff", contexts, side="pros"),
            Sentence("nothing", contexts, side="pros"),
        ]
    )
    assert np.allclose(pros, leaning(plain, "pros", asker.classes_))
    assert np.allclose(denied, asker.answer([Sentence("nothing", contexts)])[0])
    assert np.allclose(asker.predict(["more staff"], contexts, "pros")[0], pros)
    assert Sentence("a", contexts, side="cons").only([1]).side == "cons"
    for side in ("con", "positive", ""):
        with pytest.raises(InputError, match="is no side"):
            asker.predict(["a"], contexts, side)
        with pytest.raises(InputError, match="is no side"):
            Sentence("a", contexts, side=side)


def test_a_long_text_is_heard_by_what_it_was_asked_for(make):
    asker = make()
    text = "the rent is dear . " * 40
    contexts = (Context("price"),)
    (plain,), (cons,) = (asker.hear([Sentence(text, contexts, side=side)]) for side in (None, "cons"))
    assert plain.parts is not None
    assert np.allclose(cons.parts, leaning(plain.parts, "cons", asker.classes_), equal_nan=True)


def test_questions_of_rows_with_several_texts():
    asked = Asked(("price",))
    row = TableRow(3, {"good": "lift"}, column="good", side="pros")
    sentence = asked.sentence(row, "row 3")
    assert (sentence.text, sentence.side) == ("lift", "pros")


@pytest.fixture
def form(tmp_path):
    path = tmp_path / "form.csv"
    path.write_text(
        "id,What did you like?,What could be better?\n"
        "1,the location is good,the rent is dear\n2,,the rent\n3,the location is good,nothing\n",
        encoding="utf-8",
    )
    return path


def test_predict_of_both_columns(make, form, tmp_path, capfd):
    save(tmp_path / "model", make())
    known = ["--model", str(tmp_path / "model"), "--device", "cpu"]
    sides = ["--pros", "What did you like?", "--cons", "What could be better?"]
    out = tmp_path / "out.jsonl"
    asked = ["absa", "predict", str(form), "--aspect", "price", *known]
    assert main([*asked, *sides, "-o", str(out)]) == 0
    assert "1 of 6 fields empty" in capfd.readouterr().err
    told = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [(one["row"], one["column"]) for one in told] == [
        (1, sides[1]),
        (1, sides[3]),
        (2, sides[3]),
        (3, sides[1]),
        (3, sides[3]),
    ]
    assert main(["absa", "predict", "the rent", "--aspect", "price", "--side", "cons", "--json", *known]) == 0
    (alone,) = json.loads(capfd.readouterr().out)
    assert alone["probabilities"] == told[2]["probabilities"]
    table = tmp_path / "out.csv"
    assert main([*asked, *sides, "-o", str(table), "--quiet"]) == 0
    with table.open(newline="", encoding="utf-8") as file:
        assert [row["column"] for row in csv.DictReader(file)] == [one["column"] for one in told]
    for wrong, what in (
        (["--side", "cons", *sides], "not both"),
        (["--pros", "liked"], "no column 'liked'"),
        (["--pros", sides[1], "--cons", sides[1]], "named twice"),
        (["--side", "bad"], "--side"),
    ):
        assert main([*asked, *wrong]) in (2, 3)
        assert what in capfd.readouterr().err
    assert main(["absa", "predict", "the rent", "--aspect", "price", "--pros", "x", *known]) == 2
    assert "--pros names a column of a table" in capfd.readouterr().err

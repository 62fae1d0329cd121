"""Columns of texts that hold no words: told, with those that do."""

import pytest

from weft.absa.read.fields import fields_of
from weft.absa.read.separated import TableRow
from weft.cli.main import main


def told(rows, *named):
    fields = fields_of(*named) if named else fields_of("comment", None, (), ())
    list(fields.of(TableRow(number, cells) for number, cells in enumerate(rows, 1)))
    return fields.lines()


def test_a_column_of_numbers_names_those_with_words():
    rows = [
        {"comment": "42", "shop": "Wien", "said": "the pool is cold", "score": "3"},
        {"comment": "3.5", "shop": "Graz", "said": "", "score": 4},
        {"comment": "", "shop": None, "said": "", "score": 4},
    ]
    assert told(rows) == ["the column 'comment' holds no words; there are some in 'said', 'shop'"]
    many = [{"comment": "1"} | {f"c{n}": "x" * (9 - n) for n in range(7)}]
    (line,) = told(many)
    assert line.endswith("there are some in 'c0', 'c1', 'c2', 'c3', 'c4', …")
    assert told([{"comment": "2026-11-30"}, {"comment": "??"}]) == [
        "the column 'comment' holds no words; nor does another that was read"
    ]


@pytest.mark.parametrize("text", ["ok", "10/10 food", "👍", "★★★★☆", "とても良い", "плохо"])
def test_one_word_is_enough(text):
    assert told([{"comment": "42", "said": "x"}, {"comment": text, "said": "x"}]) == []


def test_what_nobody_filled_in_is_no_column_of_numbers():
    assert told([{"comment": "", "said": "x"}, {"comment": None, "said": "x"}]) == []


def test_each_column_of_a_form_is_told():
    rows = [{"good": "7", "bad": "noise", "all": "3"}, {"good": "", "bad": "5", "all": "4"}]
    assert told(rows, "all", None, ("good",), ("bad",)) == [
        "1 of 6 fields empty",
        "the column 'all' holds no words; there are some in 'bad'",
        "the column 'good' holds no words; there are some in 'bad'",
    ]


def test_predict_tells_it(trained, tmp_path, capfd):
    file = tmp_path / "t.csv"
    file.write_text("score,comment\ngood,42\nbad,17\n", encoding="utf-8")
    asked = [str(file), "--text-column", "comment", "--aspect", "price"]
    assert main(["absa", "predict", *asked, "--model", str(trained), "--device", "cpu"]) == 0
    told = "weft absa predict: the column 'comment' holds no words; there are some in 'score'"
    assert told in capfd.readouterr().err

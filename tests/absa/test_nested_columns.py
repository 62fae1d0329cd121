"""Columns inside the objects of JSON lines and Parquet: reached by their paths, and proposed by them."""

import json

import pytest

from weft.absa.read.fields import Fields
from weft.absa.read.labelled import Columns, given_cell, read_labelled
from weft.absa.read.nested import paths, with_paths
from weft.absa.read.table import read_rows
from weft.absa.use.predict import Asked
from weft.cli.main import main
from weft.errors import InputError

ROWS = [
    {"id": 1, "review": {"lang": "en", "text": "The sauna is filthy", "by": {"shop": "Wien"}}},
    {"id": 2, "review": {"lang": "en", "text": "Trainer Malik is great", "by": {"shop": "Graz"}}},
]


def lines(tmp_path, rows):
    file = tmp_path / "t.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return str(file)


@pytest.mark.parametrize(
    ("cells", "path", "found"),
    [
        ({"a": {"b": 1}}, "a.b", 1),
        ({"a": {"b": {"c": None}}}, "a.b.c", None),
        ({"a": {"b": 1}, "a.b": 2}, "a.b", 2),
        ({"a.b": {"c": 1}}, "a.b.c", 1),
        ({"a": {"b.c": 1}}, "a.b.c", 1),
        ({"a": {"b": 0}, "a.b": {"c": 1}}, "a.b.c", 1),
    ],
)
def test_a_path_reaches_into_objects_where_no_key_has_its_name(cells, path, found):
    assert with_paths(cells, [path])[path] == found


@pytest.mark.parametrize(
    ("cells", "path"),
    [
        ({"a": {"b": 1}}, "a.c"),
        ({"a": {"b": 1}}, "b"),
        ({"a": [{"b": 1}]}, "a.0.b"),
        ({"a": "b"}, "a.b"),
        ({"a": None}, "a.b"),
        ({"a": {"": 1}}, "a"),
    ],
)
def test_what_is_no_path_of_a_row_gives_nothing(cells, path):
    assert with_paths(cells, [path]) == cells


def test_every_column_may_be_a_path(tmp_path):
    file = lines(tmp_path, ROWS)
    fields = Fields("review.text", by="review.by.shop")
    rows = list(fields.of(read_rows(file, fields.columns, left_out=fields.left_out)))
    assert [(row.cells["review.text"], row.group) for row in rows] == [
        ("The sauna is filthy", "Wien"),
        ("Trainer Malik is great", "Graz"),
    ]
    forms = [{"f": {"good": "pool", "of": "pool", "about": "price"}}, {"f": {"bad": "showers"}}]
    fields = Fields(None, pros=("f.good",), cons=("f.bad",))
    rows = fields.of(read_rows(lines(tmp_path, forms), fields.columns, left_out=fields.left_out))
    assert [(row.column, row.side) for row in rows] == [("f.good", "pros"), ("f.bad", "cons")]
    asked = Asked((), (), "f.good", "f.of", "f.about")
    row = next(read_rows(lines(tmp_path, forms), asked.columns))
    (context,) = asked.sentence(row, "").contexts
    assert (context.target, context.aspect) == ("pool", "price")


def test_a_labelled_table_may_have_paths_and_so_may_its_target(tmp_path):
    rows = [{"r": {"text": "the pool is cold", "about": "pool"}, "aspect": "heat", "polarity": "negative"}]
    (sentence,) = read_labelled(lines(tmp_path, rows), Columns("r.text", target="r.about")).sentences
    assert (sentence.text, sentence.contexts[0].target) == ("the pool is cold", "pool")


@pytest.mark.parametrize(
    ("column", "proposed"),
    [
        ("text", "did you mean 'review.text' for 'text'? --text-column names another"),
        ("Text", "did you mean 'review.text' for 'Text'?"),
        ("review.txt", "did you mean 'review.text' for 'review.txt'?"),
        ("reviews.text", "did you mean 'review.text' for 'reviews.text'?"),
        ("shop", "did you mean 'review.by.shop' for 'shop'?"),
        ("comment", "None"),
    ],
)
def test_the_nearest_path_is_proposed(tmp_path, column, proposed):
    what = f"no column '{column}'; there are 'id', 'review.lang', 'review.text', 'review.by.shop'"
    with pytest.raises(InputError, match=what) as error:
        list(read_rows(lines(tmp_path, ROWS), [column]))
    assert str(error.value.hint) == proposed


def test_an_object_in_place_of_a_text_names_the_texts_in_it():
    with pytest.raises(InputError) as error:
        given_cell(ROWS[0], "review")
    texts = "'review.text', 'review.by.shop', 'review.lang'"
    assert error.value.what == f"column 'review' holds an object; in it there is {texts}"
    with pytest.raises(InputError, match="in it there is no text"):
        given_cell({"review": {"stars": 3}}, "review")


def test_paths_that_are_shown_have_a_bound():
    deep = {"a": 1}
    for _ in range(3000):
        deep = {"a": deep}
    assert paths(deep) == [".".join("a" * 8)]
    assert len(paths({"a": {str(n): n for n in range(1000)}})) == 100
    assert paths({"a": {}, "b": []}) == ["a", "b"]


def test_objects_of_parquet_are_reached_too(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    file = str(tmp_path / "t.parquet")
    parquet.write_table(pyarrow.Table.from_pylist([*ROWS, {"id": 3, "review": None}]), file)
    rows = list(read_rows(file, ["review.text", "review.by.shop"], also=["id", "review.lang"]))
    assert rows[0].cells["review.text"] == "The sauna is filthy"
    assert (rows[0].cells["id"], rows[0].cells["review.lang"]) == (1, "en")
    assert "review.text" not in rows[2].cells
    with pytest.raises(InputError, match="no column 'text'") as error:
        list(read_rows(file, ["text"]))
    assert "did you mean 'review.text' for 'text'?" in str(error.value.hint)


def test_find_reads_a_path(trained, tmp_path, capfd):
    file = lines(tmp_path, [{"r": {"text": "LOCATION1 is cheap"}}])
    told = ["--model", str(trained), "--device", "cpu"]
    assert main(["absa", "predict", file, "--text-column", "r.text", "--aspect", "price", *told]) == 0
    assert json.loads(capfd.readouterr().out)["text"] == "LOCATION1 is cheap"

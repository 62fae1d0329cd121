import json
from itertools import chain, repeat

import pyarrow
import pyarrow.parquet
import pytest

from weft.absa.read.given import is_table
from weft.absa.read.separated import separator_of
from weft.absa.read.table import TableRow, TableWriter, format_of, read_rows
from weft.absa.records import Problems
from weft.errors import ConfigError, InputError, OutputError

RECORDS = [{"text": 'a, "b"\nc', "n": 1}, {"text": "日本 \t\r😀", "n": 2}]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_what_is_written_is_read(tmp_path, suffix):
    path = str(tmp_path / f"table{suffix}")
    with TableWriter(path, ["text", "n"], {"n": int}) as writer:
        writer.write(RECORDS[:1])
        assert not (tmp_path / f"table{suffix}").exists()
        writer.write([])
        writer.write(RECORDS[1:])
    rows = list(read_rows(path, ["text", "n"]))
    assert [row.number for row in rows] == [1, 2]
    assert [(row.cells["text"], int(row.cells["n"])) for row in rows] == [
        (r["text"], r["n"]) for r in RECORDS
    ]
    assert [entry.name for entry in tmp_path.iterdir()] == [f"table{suffix}"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_failed_write_leaves_nothing(tmp_path, suffix):
    broken = [*RECORDS, {"text": "no number"}]
    with (
        pytest.raises(KeyError),
        TableWriter(str(tmp_path / f"table{suffix}"), ["text", "n"], {"n": int}) as writer,
    ):
        writer.write(broken)
    assert list(tmp_path.iterdir()) == []


def test_broken_csv_rows_are_named_and_the_rest_goes_through(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"text,n\nfine,1\nshort\na,b,c\nbad \xff byte,2\n\nlast,3\n")
    rows = list(read_rows(str(path), ["text"]))
    assert [row.number for row in rows] == [1, 2, 3, 4, 6]
    assert [row.problem for row in rows] == [
        None,
        "1 field; the header has 2",
        "3 fields; the header has 2",
        "column 'text' is not UTF-8",
        None,
    ]


def test_an_empty_line_of_one_column_is_an_empty_cell(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('text\nfirst\n\n\n""\nlast\n\n\n')
    rows = list(read_rows(str(path), ["text"]))
    assert [(row.number, row.cells["text"]) for row in rows] == [
        (1, "first"),
        (2, ""),
        (3, ""),
        (4, ""),
        (5, "last"),
    ]
    path.write_text("text\n\n\n")
    with pytest.raises(InputError, match="holds no row"):
        list(read_rows(str(path), ["text"]))


def test_a_quote_that_never_closes(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('text,n\nfine,1\n"open,2\n')
    rows = list(read_rows(str(path), ["text"]))
    assert rows[0].problem is None
    assert rows[1].problem is not None
    assert rows[1].problem.startswith("not CSV")


def test_broken_json_lines(tmp_path):
    path = tmp_path / "t.jsonl"
    lines = [json.dumps({"text": "fine"}), "{", "[]", json.dumps({"other": 1}), "", "[" * 100_000]
    path.write_text("\n".join(lines) + "\n")
    rows = list(read_rows(str(path), ["text"]))
    assert [row.number for row in rows] == [1, 2, 3, 4, 6]
    assert [(row.problem or "").split(":")[0] for row in rows] == [
        "",
        "is not JSON",
        "a JSON list, not an object",
        "no 'text'",
        "is JSON that is nested too deeply",
    ]


def test_json_lines_that_all_lack_a_column_are_one_error(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"Text": "a"}\n\n[]\n{"Text": "b", "text2": "c"}\n')
    with pytest.raises(
        InputError, match=r"t\.jsonl: no column 'text'; there are 'Text' \(did you mean 'Text'"
    ):
        list(read_rows(str(path), ["text"]))
    with path.open("a") as file:
        file.write('{"text": "c"}\n')
    assert [row.problem for row in read_rows(str(path), ["text"])][-1] is None
    path.write_text("[]\n")
    assert [row.number for row in read_rows(str(path), ["text"])] == [1]


def test_plain_lines_and_tab_separated(tmp_path):
    lines = tmp_path / "t.txt"
    lines.write_text("one\r\ntwo\n")
    assert [row.cells for row in read_rows(str(lines), ["text"])] == [{"text": "one"}, {"text": "two"}]
    tabs = tmp_path / "t.tsv"
    tabs.write_text("\ufefftext\tn\na,b\t1\n")
    assert [row.cells for row in read_rows(str(tabs), ["text"])] == [{"text": "a,b", "n": "1"}]


def test_reading_is_a_stream(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("text\n" + "word\n" * 10)
    rows = read_rows(str(path), ["text"])
    assert next(rows).number == 1
    rows.close()


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("t.csv", b"a,b\n1,2\n", "no column 'text'; there are 'a', 'b'"),
        ("t.csv", b"", "no column 'text'; there are none$"),
        ("t.csv", b"text,n\n", "t.csv: holds no row$"),
        ("t.tsv", b"text\n\n", "t.tsv: holds no row$"),
        ("t.jsonl", b"\n", "t.jsonl: holds no row$"),
        ("t.txt", b"", "t.txt: holds no row$"),
        ("t.parquet", b"PAR1 nonsense", "not a Parquet file"),
        ("t.csv", b"text,n,text\n1,2,3\n", "column 'text' stands there more than once"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_error(tmp_path, name, content, what):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=what):
        list(read_rows(str(path), ["text"]))
    with pytest.raises(InputError, match="is not there"):
        list(read_rows(str(tmp_path / ("absent" + path.suffix)), ["text"]))


def test_a_parquet_file_without_the_column(tmp_path):
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"a": [1]}), path)
    with pytest.raises(InputError, match="no column 'text'; there are 'a'"):
        list(read_rows(str(path), ["text"]))


def test_values_that_come_late_have_their_type(tmp_path):
    """A whole chunk without targets, then one with them; and no chunk at all."""
    path = str(tmp_path / "t.parquet")
    with TableWriter(path, ["text", "n"], {"n": float}) as writer:
        writer.write([{"text": None, "n": 1}])
        writer.write([{"text": "late", "n": 2.5}])
    assert [row.cells for row in read_rows(path, ["text", "n"])] == [
        {"text": None, "n": 1.0},
        {"text": "late", "n": 2.5},
    ]
    with TableWriter(path, ["text", "n"], {"n": float}):
        pass
    assert pyarrow.parquet.read_table(path).to_pylist() == []
    with pytest.raises(InputError, match="holds no row"):
        list(read_rows(path, ["text", "n"]))


def test_a_damaged_page_ends_a_parquet_file(tmp_path):
    path = tmp_path / "t.parquet"
    table = pyarrow.table({"text": [f"text number {i}" for i in range(2000)]})
    pyarrow.parquet.write_table(table, path, row_group_size=1000, compression="zstd", use_dictionary=False)
    content = bytearray(path.read_bytes())
    second = pyarrow.parquet.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
    content[second + 10 : second + 200] = b"\xff" * 190
    path.write_bytes(bytes(content))
    rows = list(read_rows(str(path), ["text"]))
    assert len(rows) < 2000
    assert "damaged from here on" in rows[-1].problem
    assert all(row.problem is None for row in rows[:-1])


def test_parquet_text_that_is_not_utf8_spoils_its_own_row(tmp_path):
    path = tmp_path / "t.parquet"
    kept = pyarrow.py_buffer(b"\0\0\0\0\2\0\0\0\4\0\0\0\7\0\0\0")
    texts = pyarrow.Array.from_buffers(pyarrow.string(), 3, [None, kept, pyarrow.py_buffer(b"ok\xff\xfeyes")])
    pyarrow.parquet.write_table(pyarrow.table({"text": texts, "n": [1, 2, 3]}), path, row_group_size=2)
    assert list(read_rows(str(path), ["text", "n"])) == [
        TableRow(1, {"text": "ok", "n": 1}),
        TableRow(2, {}, "column 'text' is not UTF-8"),
        TableRow(3, {"text": "yes", "n": 3}),
    ]


def test_formats():
    assert format_of("A.CSV") == "csv"
    with pytest.raises(ConfigError, match="by its suffix"):
        format_of("a.docx")
    for place in ("a.txt", "/dev/stdout"):
        with pytest.raises(ConfigError, match=r"known are \.csv, \.jsonl, \.ndjson, \.parquet, \.tsv\)"):
            TableWriter(place, ["text"])
    with pytest.raises(ConfigError, match="cannot write records"):
        TableWriter("a.txt", ["text"])
    with pytest.raises(ConfigError, match="standard input"):
        list(read_rows("-", ["text"], "parquet"))


def test_an_output_that_cannot_be_opened(tmp_path):
    for suffix in (".csv", ".parquet"):
        with (
            pytest.raises(OutputError, match="cannot be written"),
            TableWriter(str(tmp_path / "absent" / f"t{suffix}"), ["text", "n"], {"n": int}) as writer,
        ):
            writer.write(RECORDS)


@pytest.mark.parametrize(
    ("name", "content", "cells"),
    [
        ("t.csv", "text;place\na, b;Hotel\n", {"text": "a, b", "place": "Hotel"}),
        ("t.csv", '\ufeff"text";"a place, any"\n"a; b";Hotel\n', {"text": "a; b", "a place, any": "Hotel"}),
        ("t.csv", "text\tplace\na; b, c\tHotel\n", {"text": "a; b, c", "place": "Hotel"}),
        ("t.csv", "place;no,text\nHotel;1,a; b\n", {"place;no": "Hotel;1", "text": "a; b"}),
        ("t.csv", "score|text\n3|a, b; c\n", {"score": "3", "text": "a, b; c"}),
        ("t.csv", "n|text|a,b\n3|x|y\n", {"n": "3", "text": "x", "a,b": "y"}),
        ("t.csv", "text,a|b\nx|y,z\n", {"text": "x|y", "a|b": "z"}),
        ("t.csv", "text\na; b | c\n", {"text": "a; b | c"}),
        ("t.tsv", "text\tno;text\na;b\tc\n", {"text": "a;b", "no;text": "c"}),
    ],
)
def test_fields_between_semicolons_tabs_or_pipes(tmp_path, name, content, cells):
    file = tmp_path / name
    file.write_text(content, encoding="utf-8")
    assert list(read_rows(str(file), ["text"])) == [TableRow(1, cells)]


def test_a_header_may_have_line_breaks(tmp_path):
    file = tmp_path / "t.csv"
    for mark in (",", ";", "\t", "|"):
        lines = [["id", '"Your review\n(required)"', "text"], ["short"], ["1", '"x\ny"', "good"]]
        file.write_text("".join(mark.join(line) + "\n" for line in lines), encoding="utf-8")
        rows = list(read_rows(str(file), ["text"]))
        assert [row.number for row in rows] == [1, 2]
        assert rows[0].problem is not None
        assert rows[1].cells == {"id": "1", "Your review\n(required)": "x\ny", "text": "good"}


def test_no_more_than_a_header_is_kept():
    taken = []
    separator_of(taken, chain(['text;"a";"b\n'], repeat('c";"d\n')), ["text"], (",", ";", "\t"))
    assert len(taken) <= 1000


@pytest.mark.parametrize("suffix", [".txt", ".jsonl", ".csv"])
def test_a_line_that_is_too_long_spoils_no_other_row(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr("weft.absa.read.table.LINE_CHARACTERS", 64)
    long = "x" * 64 * 3
    texts = ["first", long, "x" * 50, long, long[:-1], "last"]
    lines = [json.dumps({"text": text}) if suffix == ".jsonl" else text for text in texts]
    file = tmp_path / f"t{suffix}"
    file.write_text(("text\n" if suffix == ".csv" else "") + "\n".join(lines), encoding="utf-8")
    rows = list(read_rows(str(file), ["text"]))
    assert [(row.number, row.cells.get("text")) for row in rows] == [
        (n, None if len(text) > 64 else text) for n, text in enumerate(texts, start=1)
    ]
    what = "field larger than field limit" if suffix == ".csv" else "is longer than 16,777,216 characters"
    assert all(what in str(row.problem) for row in rows if not row.cells)


def test_a_long_line_of_fields_is_no_row(tmp_path, monkeypatch):
    """Nor where what is read of it has as many fields as the header."""
    monkeypatch.setattr("weft.absa.read.table.LINE_CHARACTERS", 64)
    file = tmp_path / "t.csv"
    file.write_text("a,text\n1," + "x" * 100 + '\n2,"y\n' + "z" * 100 + '"\n3,fine\n', encoding="utf-8")
    rows = list(read_rows(str(file), ["text"]))
    assert [row.cells.get("text") for row in rows] == [None, None, "fine"]


def test_an_open_quote_costs_its_own_row_alone(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text('text,n\na,1\n"b,2\nc,3\nd,"4\n"e\ne",5\nf,6\n', encoding="utf-8")
    rows = list(read_rows(str(file), ["text"]))
    assert [(row.number, row.cells.get("text")) for row in rows] == [
        *((1, "a"), (2, None), (3, "c"), (4, None), (5, "e\ne"), (6, "f"))
    ]
    assert {row.problem.partition("; ")[2] for row in rows if row.problem} == {"a quote in it is not closed"}
    file.write_text('text,n\na,1\n"b,2\nc,3\n', encoding="utf-8")
    assert [row.cells.get("text") for row in read_rows(str(file), ["text"])] == ["a", None, "c"]


def test_between_tabs_or_pipes_quotes_may_be_the_texts_own(tmp_path):
    """As in exports whose programs quote nothing; one that closes further down would swallow rows without a word."""
    texts = ["fine", '"Best" buy', '"open', '15" wide', 'the 15"', "x\ny", '"also open', "last"]
    quoted = [f'"{text}"' if "\n" in text else text for text in texts]
    rows = [f"{number:03}\t{text}\t5\n" for number, text in enumerate(quoted, start=1)]
    content = "id\ttext\tstars\n" + "".join(rows)
    for name, mark in (("t.tsv", "\t"), ("t.csv", "\t"), ("p.csv", "|")):
        file = tmp_path / name
        file.write_text(content.replace("\t", mark), encoding="utf-8")
        found = list(read_rows(str(file), ["text"]))
        assert [(row.number, row.cells.get("text"), row.problem) for row in found] == [
            (number, text, None) for number, text in enumerate(texts, start=1)
        ]


def test_many_open_quotes_take_their_time_once(tmp_path, monkeypatch):
    monkeypatch.setattr("weft.absa.read.separated._AGAIN", 1000)
    file = tmp_path / "t.csv"
    file.write_text("text,n\n" + '"a\n"",""\n' * 200 + "f,6\n", encoding="utf-8")
    rows = list(read_rows(str(file), ["text"]))
    lost = [row for row in rows if row.problem and "are lost" in row.problem]
    assert lost[0].problem.endswith("the next 2 lines are lost, a quote in them is not closed")


def test_a_first_line_may_name_the_separator(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("\ufeffsep=|\r\nid|text\r\n007|a, b; c\r\n", encoding="utf-8")
    assert [row.cells for row in read_rows(str(file), ["text"])] == [{"id": "007", "text": "a, b; c"}]


def test_plain_lines_have_no_columns(tmp_path, monkeypatch):
    file = tmp_path / "t.txt"
    file.write_text("text,place\nfine,Hotel\n", encoding="utf-8")
    assert [row.cells["text"] for row in read_rows(str(file), ["text"])] == ["text,place", "fine,Hotel"]
    for columns in (["text", "place"], ["place"]):
        with pytest.raises(ConfigError, match=r"read as plain lines, which have no column 'place'") as error:
            next(read_rows(str(file), columns))
        assert "--input-format csv" in str(error.value.hint)
    assert next(read_rows(str(file), ["text", "place"], "csv")).cells == {"text": "fine", "place": "Hotel"}


def test_a_column_that_no_separator_gives_is_named_beside_those_that_are_there(tmp_path):
    file = tmp_path / "t.csv"
    for mark in (";", "|"):
        file.write_text(f"review{mark}place\na, b{mark}Hotel\n", encoding="utf-8")
        with pytest.raises(InputError, match="no column 'text'; there are 'review', 'place'"):
            next(read_rows(str(file), ["text"]))


def test_a_workbook_is_told_how_to_become_a_table(tmp_path):
    file = tmp_path / "shop.xlsx"
    file.write_bytes(b"PK")
    with pytest.raises(InputError, match=r"shop\.xlsx: is a workbook of a spreadsheet") as error:
        is_table(str(file))
    assert "CSV UTF-8" in str(error.value.hint)


def test_the_option_that_names_the_texts_is_hinted_at_where_only_they_are_missing(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("review,place\na,b\n", encoding="utf-8")
    for columns, hint in ((["text"], "--text-column names another"), (["review", "target"], None)):
        with pytest.raises(InputError, match="no column") as error:
            next(read_rows(str(file), columns))
        assert error.value.hint == hint


def test_rows_that_are_not_utf8_get_a_way_out():
    some, none = Problems(), Problems()
    some.add("r.csv row 1", "column 'comment' is not UTF-8")
    none.add("r.csv row 1", "the text is empty")
    assert list(some.lines())[-1].startswith("`iconv -f windows-1252 -t utf-8 FILE > NEW` converts")
    assert not any("iconv" in line for line in none.lines())
    with pytest.raises(InputError) as error:
        some.check_used(0, "r.csv")
    assert "iconv" in (error.value.hint or "")
    with pytest.raises(InputError) as error:
        none.check_used(0, "r.csv")
    assert error.value.hint is None

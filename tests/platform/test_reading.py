"""Bounds on what is read: each is one error that names the file, the place and the bound."""

from __future__ import annotations

import csv
import os
import threading
import time
from pathlib import Path

import pytest

from weft.errors import InputError
from weft.platform import reading
from weft.platform.undecodable import undecodable


@pytest.mark.parametrize("place", ["/dev/zero", "folder", "pipe", "missing", "file/below"])
def test_only_regular_files_are_read_whole(tmp_path: Path, place: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError) as caught:
        reading.read_bytes(tmp_path / place)
    assert str(tmp_path / place) in str(caught.value)


def test_a_pipe_is_read_line_by_line(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text("a\nb\n"))
    writer.start()
    assert list(reading.lines(pipe)) == ["a\n", "b\n"]
    writer.join()
    with pytest.raises(InputError, match="no file but a device"):
        list(reading.lines("/dev/zero"))


def test_size(tmp_path: Path) -> None:
    place = tmp_path / "f"
    place.write_bytes(b"x" * 2000)
    assert len(reading.read_bytes(place, 2000)) == 2000
    with pytest.raises(InputError, match="larger than 1,999 bytes"):
        reading.read_bytes(place, 1999)
    with place.open("ab") as file:
        file.truncate(3 * reading.MEBIBYTE)
    with pytest.raises(InputError, match="larger than 1 MiB"):
        reading.read_yaml(place)


def test_utf8(tmp_path: Path) -> None:
    place = tmp_path / "f"
    place.write_bytes("\ufeffä".encode())
    assert reading.read_text(place) == "ä"
    assert list(reading.lines(place)) == ["ä"]
    place.write_bytes(b"a\nb\xff")
    with pytest.raises(InputError, match="line 2: is not UTF-8: byte 0xff"):
        reading.read_text(place)
    with pytest.raises(InputError, match="line 2: is not UTF-8: byte 0xff"):
        list(reading.lines(place))
    place.write_bytes(b"\xef\xbb\xbfab\n\xff\n")
    with pytest.raises(InputError, match="line 2: is not UTF-8: byte 0xff"):
        reading.read_text(place)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"a\n" * 700_000 + b"\xe9\n", (700_001, 0xE9)),
        (b"x" * ((1 << 20) - 1) + "ä\nb\n".encode() + b"\xc3(", (3, 0xC3)),
        (b"a\nb\nc\xc3", (3, 0xC3)),
        ("ä\n€".encode(), None),
        (b"", None),
    ],
)
def test_where_a_text_stops_being_utf8(tmp_path: Path, content: bytes, found: tuple[int, int] | None) -> None:
    """Characters across pieces are whole; what the file ends within is none."""
    place = tmp_path / "f"
    place.write_bytes(content)
    assert undecodable(place) == found
    assert undecodable(tmp_path) is None


def test_json_values() -> None:
    assert reading.parse_json('{"a": [1, 2.5, -3, 18446744073709551615, true]}', "x") == {
        "a": [1, 2.5, -3, 2**64 - 1, True]
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ("9" * 5_000, "a number of 5,000 characters"),
        ("[1." + "0" * 5_000 + "]", "a number of 5,002 characters"),
        ('{"a":\n 1,}', "x, line 2, column 4: is not JSON"),
        ("", "is not JSON"),
    ],
)
def test_json_bounds(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        reading.parse_json(text, "x")


def test_what_is_just_within_the_bounds_is_read() -> None:
    digits = "9" * reading.DIGITS
    assert reading.parse_json(digits, "x") == reading.parse_yaml(digits, "x") == int(digits)
    deep = reading.parse_yaml("[" * reading.YAML_DEPTH + "]" * reading.YAML_DEPTH, "x")
    assert str(deep) == "[" * reading.YAML_DEPTH + "]" * reading.YAML_DEPTH
    for parse, text in ((reading.parse_json, digits + "9"), (reading.parse_yaml, digits + "9")):
        with pytest.raises(InputError, match="a number of 101 characters"):
            parse(text, "x")
    with pytest.raises(InputError, match="nested deeper than 50"):
        reading.parse_yaml("[" * (reading.YAML_DEPTH + 1) + "]" * (reading.YAML_DEPTH + 1), "x")


def bomb(levels: int) -> str:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(rows)


def test_yaml_values() -> None:
    text = "a: &x {b: 1, c: 2.5}\nd: {<<: *x, e: ~}\nf: 2026-11-22\ng: '9'\n" + bomb(3)
    assert reading.parse_yaml(text, "x")["d"] == {"b": 1, "c": 2.5, "e": None}
    assert reading.parse_yaml("", "x") is None
    nested = "a: {b: {c: &c {<<: {d: 1}, d: 2}}}\ne: {<<: *c, d: 3}\n1: f\n'1': g"
    assert reading.parse_yaml(nested, "x") == {"a": {"b": {"c": {"d": 2}}}, "e": {"d": 3}, 1: "f", "1": "g"}
    assert reading.parse_yaml("a: '" + "9" * 5000 + "'", "x") == {"a": "9" * 5000}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (bomb(9), "holds more than 200,000 values, its aliases written out"),
        ("a: &a [*a]", r"line 1, column 8: the alias \*a contains itself"),
        ("[" * 100_000, "nested deeper than 50"),
        ("\n".join(" " * n + "a:" for n in range(500)), "nested deeper than 50"),
        ("a: " + "9" * 5_000, "a number of 5,000 characters"),
        ("a: 0x" + "f" * 5_000, "a number of 5,002 characters"),
        ("a: 2026-99-99", "is not YAML: month must be in 1..12"),
        ("a: !!python/object/apply:os.system [true]", "could not determine a constructor"),
        ("a: [1", "x, line 2, column 1: is not YAML"),
        ("a:\n  b: 1\nc: 2\na:\n  d: 3", "x, line 4, column 1: is not YAML: the key 'a' stands twice"),
        ("- {b: 1, c: 2, 'b': 3}", "x, line 1, column 16: is not YAML: the key 'b' stands twice"),
        ('a: !!int ""', "x: is not YAML: a value that is not of its tag"),
        ("a: !!bool foo", "x: is not YAML: a value that is not of its tag"),
        ("a: !!timestamp foo", "x: is not YAML: a value that is not of its tag"),
        ("? [a]\n: 1", "found unhashable key"),
        ("a: \x00", "is not YAML"),
        ("*a", "undefined alias"),
    ],
)
def test_yaml_bounds(text: str, message: str) -> None:
    began = time.monotonic()
    with pytest.raises(InputError, match=message):
        reading.parse_yaml(text, "x")
    assert time.monotonic() - began < 5


def test_lines_and_fields(tmp_path: Path) -> None:
    place = tmp_path / "f.csv"
    place.write_text('a,b\n"1\n2",3\n')
    rows = reading.csv_reader(reading.lines(place, newline=""))
    assert list(rows) == [["a", "b"], ["1\n2", "3"]]
    place.write_text("a\n" + "x" * 3000)
    with pytest.raises(InputError, match="line 2: is longer than 2,999 characters"):
        list(reading.lines(place, 2999))
    with pytest.raises(csv.Error, match="field larger than field limit"):
        list(reading.csv_reader(reading.lines(place), limit=2999))
    with pytest.raises(csv.Error, match="expected after"):
        list(reading.csv_reader(['"a"b\n']))

"""Dates and amounts have one spelling each; what is neither, or is said oddly, has none."""

from __future__ import annotations

import pytest

from weft.kg.values import Value, value_of


@pytest.mark.parametrize(
    ("name", "text", "datatype"),
    [
        ("12 May 1999", "1999-05-12", "date"),
        ("May 12, 1999", "1999-05-12", "date"),
        ("May 12 , 1999", "1999-05-12", "date"),
        ("12th of May, 1999", "1999-05-12", "date"),
        ("1999-05-12", "1999-05-12", "date"),
        ("29 February 2000", "2000-02-29", "date"),
        ("15 March 44 BC", "-0043-03-15", "date"),
        ("Sept. 1843", "1843-09", "gYearMonth"),
        ("March 1988", "1988-03", "gYearMonth"),
        ("1988", "1988", "gYear"),
        ("753 B.C.", "-0752", "gYear"),
        ("476 AD", "0476", "gYear"),
        ("4 July", "--07-04", "gMonthDay"),
        ("the 1980s", "198X", "string"),
        ("19th century", "18XX", "string"),
        ("1914–1918", "1914/1918", "string"),
        ("1914-18", "1914/1918", "string"),
        ("1999-12", "1999-12", "gYearMonth"),
        ("2001-05", "2001-05", "gYearMonth"),
        ("2001–05", "2001/2005", "string"),
    ],
)
def test_a_date_is_that_of_iso_8601(name: str, text: str, datatype: str) -> None:
    assert value_of(name, "TIME") == Value(text, datatype)


@pytest.mark.parametrize(
    "name",
    ["Monday", "the war", "31 April 1999", "32 May 1999", "1999-13-01", "early 1990s", "1918-14", "12/05/1999",
     "29 February 1999", "1999-02-29",
     "0th century", "May", "", "last week"],
)  # fmt: skip
def test_what_is_no_plain_date_has_no_value(name: str) -> None:
    assert value_of(name, "TIME") is None


@pytest.mark.parametrize(
    ("name", "text", "unit"),
    [
        ("40,000", "40000", ""),
        ("3.5 million", "3500000", ""),
        ("0.05 million", "50000", ""),
        ("twelve", "12", ""),
        ("Twenty-one", "21", ""),
        ("two hundred", "200", ""),
        ("$5 million", "5000000", "USD"),
        ("£ 1.25", "1.25", "GBP"),
        ("£3.2m", "3200000", "GBP"),
        ("$40 k", "40000", "USD"),
        ("€1.5 mn", "1500000", "EUR"),
        ("US$2bn", "2000000000", "USD"),
        ("$5 million dollars", "5000000", "USD"),
        ("3 m", "3", "m"),
        ("15 percent", "15", "%"),
        ("15%", "15", "%"),
        ("340 employees", "340", "employees"),
        ("12 km", "12", "km"),
        ("٣٥ km", "35", "km"),
        ("$１２", "12", "USD"),
    ],
)
def test_an_amount_is_a_number_and_a_unit(name: str, text: str, unit: str) -> None:
    assert value_of(name, "NUM") == Value(text, "decimal", unit)


@pytest.mark.parametrize(
    "name",
    [
        "several",
        "1,00",
        "twenty-twenty",
        "ten-one",
        "a dozen",
        "12 or 13 2",
        "two hundred and fifty",
        "twenty one",
        "two thousand five hundred",
        "three to five",
        "$200 per ton",
        "$100 Canadian",
        "$5 million and more",
    ],
)
def test_a_vague_amount_has_no_value(name: str) -> None:
    assert value_of(name, "NUM") is None


def test_without_a_type_only_a_date_that_can_be_nothing_else_counts() -> None:
    assert value_of("12 May 1999") == Value("1999-05-12", "date")
    for name in ("1984", "twelve", "the 1980s", "May", "4 July"):
        assert value_of(name) is None
    for kind in ("PER", "ORG", "class"):
        assert value_of("12 May 1999", kind) is None


def test_a_value_reads_with_its_unit() -> None:
    assert (str(Value("5", "decimal", "km")), str(Value("5", "decimal"))) == ("5 km", "5")

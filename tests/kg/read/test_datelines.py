"""Datelines of press reports are known as such, and persons with their dates are none."""

from __future__ import annotations

import pytest

from weft.kg.read.datelines import datelines
from weft.kg.read.sentences import sentence_starts


@pytest.mark.parametrize(
    "line",
    [
        "HAVNFJORD, 2 May 2016 – ",
        "BRUNSHOLM, 2 May 2016. ",
        "Brunsholm, 14 April 2003 - ",
        "ROTTERDAM, March 3 (Reuters) - ",
        "NEW YORK (AP) — ",
        "Berlin (Reuters) - ",
        "PARIS, May 3, 2021 /PRNewswire/ -- ",
        "SAN JOSE, Calif., Sept. 12, 2020 (GLOBE NEWSWIRE) -- ",
        "SÃO PAULO, 3 March - ",
        "CRANSTED, Saturday – ",
        "Berlin, Monday, 4 March 2019: ",
        "Munich, Germany, March 2021 –\n",
    ],
)
def test_a_place_with_a_day_or_an_agency(line: str) -> None:
    for text in (f"{line}Ida Holm founded it.", f"Ida founds a firm\n\n{line}“It is mine.”"):
        (found,) = datelines(text)
        assert text[found.start : found.end] == line
        assert found.sure
        assert found.end in sentence_starts(text)


@pytest.mark.parametrize(
    "line",
    [
        "LONDON — ",
        "ST. LOUIS — ",
        "UNICEF – ",
        "Frankfurt am Main, 4 March 2019: ",
        "Anna Holm, 2 May 2016. ",
    ],
)
def test_what_words_alone_do_not_tell(line: str) -> None:
    (found,) = datelines(f"{line}Ida Holm founded it.")
    assert not found.sure


@pytest.mark.parametrize(
    "text",
    [
        "Anna Holm, 2 May 1970 – 3 June 2020, was a baker.",
        "Peter Lang (4 March 1951 – 3 April 2004) was a baker.",
        "Berlin, 4 March 2019",
        "Ida Holm, Lund\n\nBerlin, 4 March 2019.\n\nDear Bo, come.",
        "Kerrow Fell Race, 2 June 2018 – men's results\n\nIda won.",
        "In London, 4 May 2016. Ida came.",
        "May 2016. Ida came.",
        "Dear Anna, 2 May 2016. I came.",
        "IBM (International Business Machines) - the firm",
        "Anna: I came.",
        "Anna Holm — the founder — came.",
        "Born: 2 May 1970. She came.",
        "He died in London, 2 May 2016. She came.",
        "He came to see\nBERLIN, 4 March 2019. She came.",
    ],
)
def test_what_is_none(text: str) -> None:
    assert datelines(text) == []

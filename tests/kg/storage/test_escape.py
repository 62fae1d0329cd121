"""Names and sentences as RDF writes them: whole arrays as Python's own functions do it one by one."""

from __future__ import annotations

from urllib.parse import quote

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.kg.storage.escape import escaped, percent
from weft.kg.storage.rdf import literal

_TEXTS = st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"])), max_size=6)


@settings(max_examples=60, deadline=None)
@given(_TEXTS, st.integers(0, 3), st.sampled_from(["", "/"]))
def test_percent_is_that_of_the_standard_library(texts: list[str], skipped: int, safe: str) -> None:
    # A slice: its strings do not begin where its buffer does.
    names = pa.array(texts, pa.string()).slice(skipped)
    assert percent(names, safe.encode()).to_pylist() == [quote(text, safe=safe) for text in texts[skipped:]]


@settings(max_examples=60, deadline=None)
@given(_TEXTS, st.integers(0, 3))
def test_what_a_literal_may_not_hold_is_escaped(texts: list[str], skipped: int) -> None:
    expected = [
        text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
        for text in texts[skipped:]
    ]
    assert escaped(pa.array(texts, pa.string()).slice(skipped)).to_pylist() == expected
    assert [literal(text) for text in texts[skipped:]] == [f'"{text}"' for text in expected]

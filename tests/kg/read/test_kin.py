"""Relatives of somebody else are not each other's spouses."""

from __future__ import annotations

import pytest

from weft.kg.read.kin import may_be

SURVIVED = (
    "She is survived by her husband Peter, her son Mark, her sons Luke and John Orr, "
    "her sister Ann and her niece Ruth."
)
LISTED = (
    "Survived by daughters Colette (Ray) Bouchard, Simone Roy; grandchildren Theo, Max; "
    "sister Nuala O'Shea of Dublin."
)
CASES = [
    ("spouse", SURVIVED, "Peter", "Mark", False),
    ("child", SURVIVED, "Peter", "Mark", True),
    ("sibling", SURVIVED, "Mark", "Luke", True),
    ("sibling", SURVIVED, "Luke", "John Orr", True),
    ("spouse", SURVIVED, "Luke", "John Orr", False),
    ("sibling", SURVIVED, "Mark", "Ann", False),
    ("sibling", SURVIVED, "Ann", "Ruth", False),
    ("mother", SURVIVED, "Ruth", "Ann", True),
    ("sibling", LISTED, "Colette", "Simone Roy", True),
    ("sibling", LISTED, "Simone Roy", "Theo", False),
    ("sibling", LISTED, "Simone Roy", "Max", False),
    ("sibling", LISTED, "Simone Roy", "Nuala O'Shea", False),
    ("employer", SURVIVED, "Mark", "Ann", True),
    ("spouse", "Predeceased by her husband Armand and son Luc.", "Armand", "Luc", False),
    (
        "sibling",
        "The brothers mourn their brother Felix Haas and their cousin Greta Lohm.",
        "Felix Haas",
        "Greta Lohm",
        False,
    ),
    ("spouse", "He lived with his mother Ada and his father Karl.", "Ada", "Karl", True),
    ("spouse", "Ada and her husband Karl moved.", "Ada", "Karl", True),
    ("sibling", "She wrote to her husband Peter's sister Ruth.", "Peter", "Ruth", True),
    ("sibling", "He lived with his mother Ada and her brother Karl.", "Ada", "Karl", True),
    ("spouse", "Her husband Peter met Ruth.", "Peter", "Ruth", True),
]


@pytest.mark.parametrize(("relation", "text", "one", "other", "may"), CASES)
def test_relatives(relation: str, text: str, one: str, other: str, may: bool) -> None:
    first, second = ((text.index(name), text.index(name) + len(name)) for name in (one, other))
    assert may_be(relation, text, first, second) is may
    assert may_be(relation, text, second, first) is may

"""What a text states of couples and parents excludes other kinship between its people, and nothing else."""

from __future__ import annotations

import re
from time import process_time

import pytest

from weft.kg.read.documents import Mention, TextDocument
from weft.kg.read.family import Family

_NAME = re.compile(r"\[([^]]+)\]")


def family(text: str) -> Family:
    """``[…]`` marks the names of persons."""
    plain, mentions, numbers, last = "", list[Mention](), dict[str, int](), 0
    for found in _NAME.finditer(text):
        plain += text[last : found.start()]
        number = numbers.setdefault(found[1], len(numbers))
        mentions.append(Mention(len(plain), len(plain) + len(found[1]), number, found[1], "PER"))
        plain, last = plain + found[1], found.end()
    return Family.of(TextDocument("a", plain + text[last:], tuple(mentions)))


CHILDREN = (
    "[Pavel] and [Clara] married in 1974 and had three children, [Omar], [Hanna] and [Viktor]. "
    "[Hanna] married the lawyer [Paul Boudreau]."
)
DAUGHTER = (
    "[Irene], daughter of [Hugo] and [Judith], married [Ivan] in 1938; their son [Leo] became a doctor."
)
BORN = (
    "[Ada] was born in Ulm on 4 March 1907, the daughter of the engineer [Max] and his wife [Eva]. "
    "She read chemistry and in 1931 married the violinist [Tom]."
)
AT_HOME = (
    "[John] and his wife [Mary] lived in Leeds. "
    "Their daughter [Ruth] married [Tom] in 1980; their son [Mark] is a doctor."
)
GIFT = "[Hugo] (born 1938), Still Life with Plums. Given by [Ivan] in memory of his wife, [Irene]."
FIANCEE = "[Pavel] was killed in 1916. His fiancée, [Clara], later married his brother [Omar]."
BROTHER = "[Otto] was a printer. His brother [Karl] married [Anna]."
BROKEN = "[Hugo] was engaged to [Irene], but she broke it off in 1938 and married [Ivan] instead."


@pytest.mark.parametrize(
    ("text", "head", "relation", "tail"),
    [
        (CHILDREN, "Pavel", "spouse", "Paul Boudreau"),
        (CHILDREN, "Clara", "spouse", "Paul Boudreau"),
        (CHILDREN, "Pavel", "spouse", "Hanna"),
        (CHILDREN, "Omar", "spouse", "Hanna"),
        (CHILDREN, "Pavel", "sibling", "Omar"),
        (CHILDREN, "Omar", "child", "Viktor"),
        (CHILDREN, "Paul Boudreau", "child", "Viktor"),
        (CHILDREN, "Hanna", "child", "Pavel"),
        (DAUGHTER, "Hugo", "spouse", "Irene"),
        (DAUGHTER, "Judith", "spouse", "Ivan"),
        (DAUGHTER, "Hugo", "child", "Leo"),
        (DAUGHTER, "Leo", "mother", "Judith"),
        (DAUGHTER, "Ivan", "child", "Irene"),
        (DAUGHTER, "Hugo", "child", "Ivan"),
        (BORN, "Ada", "spouse", "Eva"),
        (BORN, "Eva", "spouse", "Tom"),
        (BORN, "Max", "spouse", "Tom"),
        (AT_HOME, "John", "spouse", "Ruth"),
        (AT_HOME, "Mary", "spouse", "Tom"),
        (GIFT, "Hugo", "spouse", "Irene"),
        (FIANCEE, "Pavel", "spouse", "Clara"),
        (FIANCEE, "Pavel", "spouse", "Omar"),
        (BROTHER, "Otto", "spouse", "Anna"),
        (BROTHER, "Otto", "spouse", "Karl"),
        (BROKEN, "Hugo", "spouse", "Irene"),
        ("[Peter] is engaged to his girlfriend [Tilda].", "Peter", "spouse", "Tilda"),
        ("[Peter] and [Tilda] became engaged in May.", "Peter", "spouse", "Tilda"),
        ("[Peter]'s engagement to [Tilda] ended in 1931.", "Peter", "spouse", "Tilda"),
        ("[Tilda] broke off her engagement to [Peter].", "Peter", "spouse", "Tilda"),
        ("[Peter] proposed to [Tilda], but she turned him down.", "Peter", "spouse", "Tilda"),
        ("[Tilda] was engaged to [Peter] and then married [Paul].", "Peter", "spouse", "Tilda"),
        ("[Tilda] was engaged to [Peter] and then married [Paul].", "Peter", "spouse", "Paul"),
        ("[Irene], the fiancée of the airman [Hugo], taught in Graz.", "Irene", "spouse", "Hugo"),
        ("[Ada] and [Karl] had two sons, [Otto] and [Emil], and a daughter, [Ida].", "Ida", "spouse", "Karl"),
    ],
)
def test_what_is_excluded(text: str, head: str, relation: str, tail: str) -> None:
    assert family(text).excludes(relation, head, tail)
    if relation in ("spouse", "sibling"):
        assert family(text).excludes(relation, tail, head)


@pytest.mark.parametrize(
    ("text", "head", "relation", "tail"),
    [
        (CHILDREN, "Pavel", "spouse", "Clara"),
        (CHILDREN, "Hanna", "spouse", "Paul Boudreau"),
        (CHILDREN, "Pavel", "child", "Hanna"),
        (CHILDREN, "Omar", "sibling", "Hanna"),
        (CHILDREN, "Viktor", "mother", "Clara"),
        (CHILDREN, "Pavel", "employer", "Paul Boudreau"),
        (DAUGHTER, "Irene", "spouse", "Ivan"),
        (DAUGHTER, "Hugo", "spouse", "Judith"),
        (DAUGHTER, "Ivan", "child", "Leo"),
        (DAUGHTER, "Irene", "father", "Hugo"),
        (BORN, "Ada", "spouse", "Tom"),
        (BORN, "Max", "spouse", "Eva"),
        (BORN, "Ada", "mother", "Eva"),
        (AT_HOME, "Ruth", "spouse", "Tom"),
        # Words alone do not say whose son he is.
        (AT_HOME, "Mary", "child", "Mark"),
        (AT_HOME, "Ruth", "child", "Mark"),
        (GIFT, "Ivan", "spouse", "Irene"),
        (FIANCEE, "Clara", "spouse", "Omar"),
        (FIANCEE, "Pavel", "sibling", "Omar"),
        (BROTHER, "Karl", "spouse", "Anna"),
        (BROTHER, "Otto", "sibling", "Karl"),
        (BROKEN, "Irene", "spouse", "Ivan"),
        # Who was engaged may have married, by name or not.
        ("[Rosa] became engaged to [Emil] in 1936. They married in Prague.", "Rosa", "spouse", "Emil"),
        ("[Emil] was engaged to [Rosa] and married her in 1938.", "Rosa", "spouse", "Emil"),
        ("[Emil] was engaged to [Rosa]. [Emil] married [Rosa] in 1938.", "Rosa", "spouse", "Emil"),
        ("[Emil] proposed to [Rosa]. Their wedding took place in Prague.", "Rosa", "spouse", "Emil"),
        ("[Emil] was engaged in a dispute with [Rosa], his wife.", "Rosa", "spouse", "Emil"),
        # Who marries again is named in both sentences, or by a word.
        ("[Karl] married [Anna] in 1920. After his death she married [Otto].", "Anna", "spouse", "Otto"),
        (
            "[Karl] married [Anna]. [Otto] married [Ida]. [Anna] and [Otto] wed in 1950.",
            "Anna",
            "spouse",
            "Otto",
        ),
        ("[Otto] was a smith. [Karl] married [Anna]; later [Otto] married her.", "Otto", "spouse", "Anna"),
        (
            "[Karl] worked for [Otto]. His daughter [Ada] was kind. He married her in 1920.",
            "Karl",
            "spouse",
            "Ada",
        ),
        # Father and son of one name.
        (
            "[Paul Orr Jr.] is the son of [Paul Orr] and [Eva]. [Paul Orr] married [Ida].",
            "Paul Orr Jr.",
            "spouse",
            "Ida",
        ),
        # Not the subject; a priest; a denial of nothing.
        ("The sister of [Karl] married [Otto]. [Anna] is the wife of [Karl].", "Karl", "spouse", "Anna"),
        ("Father [Brown] married [Ada] and [Ben]. [Ada] liked [Ben].", "Ada", "spouse", "Ben"),
        ("[Ada], [Ben] and [Carl] married in 1974. [Ben] adored [Dora].", "Ben", "spouse", "Dora"),
        ("[Karl], the grandson of [Otto], married [Ada].", "Karl", "father", "Otto"),
        ("[Karl]'s friend [Otto] had three children.", "Karl", "child", "Otto"),
    ],
)
def test_what_is_not(text: str, head: str, relation: str, tail: str) -> None:
    assert not family(text).excludes(relation, head, tail)
    if relation in ("spouse", "sibling"):
        assert not family(text).excludes(relation, tail, head)


def test_whose_spouse_a_pronoun_leaves_open() -> None:
    found = family(BROKEN)
    assert found.is_one_of_two("spouse", "Hugo", "Ivan")
    assert found.is_one_of_two("spouse", "Ivan", "Irene")
    assert not found.is_one_of_two("spouse", "Hugo", "Irene")
    assert not found.is_one_of_two("employer", "Hugo", "Ivan")
    plain = family("[Tilda] was engaged to [Peter] and then married [Paul].")
    assert not plain.is_one_of_two("spouse", "Tilda", "Paul")


def test_control_characters_of_a_text_are_no_names() -> None:
    found = family("\x027\x03 married [Ada]. [Ada] met [Karl].")
    assert not found.excludes("spouse", "Ada", "Karl")


def test_long_texts_take_no_long_time() -> None:
    texts = (
        "[Ada] had children and was engaged to " * 2_000,
        "[Ada] was engaged to [Karl], and so on, " * 45,
    )
    start = process_time()
    for text in texts:
        family(text)
    assert process_time() - start < 2

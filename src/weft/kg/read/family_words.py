"""The words by which :mod:`weft.kg.read.family` knows couples, parents and engagements, around the names of persons."""

from __future__ import annotations

import re

OPEN, CLOSE = "\x02", "\x03"
CONTROL = str.maketrans({OPEN: " ", CLOSE: " "})
NAME = rf"{OPEN}\d+{CLOSE}"
"""A person's name, as the sentences that are looked at have it."""
NUMBER = re.compile(rf"{OPEN}(\d+){CLOSE}")
_IS = r"(?!(?:of|and|or|to|by|with|for|in|from|whose|who)\b)[a-z][a-z-]*"
WHO = rf"(?:(?:the|an?)\s+(?:{_IS}\s+){{1,3}}|(?:Dr|Mrs?|Ms|Sir|Rev|Prof)\.?\s+)?"
"""What is said before a name: "the lawyer Paul Boudreau"."""
_ALL = rf"{NAME}(?:\s*,\s*{NAME})*(?:,?\s+(?:and|&)\s+{NAME})?"
WHICH = r"(?:(?:first|second|third|late|former|future|beloved|only|elder|eldest|younger|youngest|infant|twin)\s+)?"
SPOUSE = r"(?:wife|husband|spouse|widow|widower)"
CHILD = r"(?:sons?|daughters?|child|children)"
MARRIED = re.compile(
    rf"(?P<one>{NAME})(?:\s*\([^()]*\)|,[^,.;]+,|,\s+who)?\s+(?:had\s+|then\s+|later\s+|first\s+|also\s+)?"
    rf"(?:(?:is|was|has\s+been|had\s+been)\s+(?:\w+\s+)?)?(?:(?:re)?married|wed)\s+(?:to\s+)?{WHO}(?P<other>{NAME})(?!['’]|\s*(?:,|and)\s+{NAME})"
)
KIN = r"(?:brother|sister|son|daughter|child|father|mother|uncle|aunt|nephew|niece|cousin)"
SUBJECT = re.compile(
    r"(?:^|[;:,]\s|\b(?:when|that|after|before|while|where|because)\s|\b[Ii]n\s\d{4},?\s)\W*"
    rf"(?:{WHO}|\b(?:[Hh]is|[Hh]er|[Tt]heir)\s+{WHICH}{KIN},?\s+)$"
)
"""What stands before the subject of a clause."""
COUPLES = tuple(
    re.compile(form)
    for form in (
        rf"(?<!,\s)(?P<one>{NAME})\s+and\s+(?P<other>{NAME})\s+(?:were\s+|had\s+|got\s+)?(?:married|wed)"
        r"(?=\s+(?:in|on|at|that|when|after|shortly|there|soon|and|again)\b|[,.;]|\s+\d|\s*$)",
        rf"(?P<one>{NAME}),?\s+and\s+(?:his|her)\s+{WHICH}{SPOUSE},?\s+{WHO}(?P<other>{NAME})(?!['’])",
        rf"(?P<one>{NAME})['’]s?\s+{WHICH}{SPOUSE},?\s+{WHO}(?P<other>{NAME})(?!['’])",
        rf"(?P<one>{NAME}),\s+(?:the\s+)?{WHICH}{SPOUSE}\s+of\s+{WHO}(?P<other>{NAME})(?!['’])",
    )
)
HIS_SPOUSE = re.compile(rf"\b(?:his|her)\s+{WHICH}{SPOUSE},?\s+{WHO}(?P<other>{NAME})(?!['’])")
PRONOUN = re.compile(r"\b(?:he|she|they|his|her|their|him|them|according)\b", re.IGNORECASE)
CHILD_OF = re.compile(
    rf"(?P<one>{NAME})(?:\s*\([^()]*\))?(?:\s+was\s+born\b[^{OPEN};.]*?)?(?:,\s*(?:(?:was|is)\s+)?|\s+(?:was|is)\s+)"
    rf"(?:(?:the|an?)\s+)?{WHICH}(?P<sex>son|daughter|child)\s+of\s+"
    rf"{WHO}(?P<parent>{NAME})(?!['’])(?:\s+and\s+(?:(?:his|her)\s+{WHICH}{SPOUSE},?\s+)?{WHO}(?P<second>{NAME})(?!['’]))?"
)
HAD = re.compile(
    rf"(?P<one>{NAME})(?:\s+and\s+(?:(?:his|her)\s+{WHICH}{SPOUSE},?\s+)?(?P<second>{NAME}))?"
    rf"(?:\s+married\b[^{OPEN}.;]{{0,40}}\s+and)?\s+(?:had|have|has)\s+(?:[a-z]+\s+){{0,2}}{CHILD}"
    rf"(?:\s+and\s+(?:[a-z]+\s+){{1,2}}{CHILD})?(?:\s+together)?\s*[,:(]?\s*(?:named\s+|called\s+)?(?P<all>{_ALL}"
    rf"(?:,?\s+and\s+(?:[a-z]+\s+){{1,2}}{CHILD},?\s+{_ALL})?)"
)
THEIR = re.compile(rf"\b[Tt]heir\s+(?:\w+\s+)?{WHICH}{CHILD},?\s+(?P<all>{_ALL})(?!['’])")
OWN_CHILD = re.compile(
    rf"(?P<one>{NAME})['’]s?\s+{WHICH}(?:son|daughter|child),?\s+(?P<other>{NAME})(?!['’])"
)
OF_DAUGHTER = {"daughter": "She", "son": "He"}
ENGAGED = tuple(
    re.compile(form)
    for form in (
        rf"(?P<one>{NAME})(?:\s*\([^()]*\)|,[^,.;]+,)?\s+(?:is|was|were|had\s+been|has\s+been|became|becomes|got)\s+"
        rf"(?:\w+\s+)?(?:engaged|betrothed)\s+to\s+(?:(?:his|her)\s+\w+,?\s+)?{WHO}(?P<other>{NAME})",
        rf"(?P<one>{NAME})\s+and\s+(?P<other>{NAME})\s+(?:are|were|became|got|had\s+been)\s+(?:\w+\s+)?(?:engaged|betrothed)\b",
        rf"(?P<one>{NAME})['’]s?\s+(?:\w+\s+)?engagement\s+(?:to|with)\s+{WHO}(?P<other>{NAME})",
        rf"\bengagement\s+(?:of|between)\s+(?P<one>{NAME})\s+(?:and|to|with)\s+{WHO}(?P<other>{NAME})",
        rf"(?P<one>{NAME})\s+(?:broke\s+off|ended|called\s+off)\s+(?:his|her|the)\s+engagement\s+(?:to|with)\s+"
        rf"{WHO}(?P<other>{NAME})",
        rf"(?P<one>{NAME})\s+(?:had\s+)?(?:proposed\s+(?:marriage\s+)?to|courted|wooed|jilted)\s+{WHO}(?P<other>{NAME})",
    )
)
"""What comes before a marriage, or before none."""
LEFT = re.compile(
    rf"[^.;]*?\b(?:she|he)\s[^.;{OPEN}]*?\b(?:married|wed)\s+(?:\w+\s+)?{WHO}(?P<other>{NAME})(?!['’])"
)
"""Behind an engagement: "but she broke it off and married Ivan"."""
LEFT_FOR = re.compile(
    rf"(?:(?!\b(?:she|he)\b)[^.;{OPEN}])*?\band\s+(?:then\s+|later\s+|instead\s+)?(?:married|wed)\s+{WHO}(?P<other>{NAME})(?!['’])"
)
"""Likewise of whom the sentence is about: "and then married Ivan"."""
FIANCE = re.compile(
    rf"\b[Ff]ianc[ée]e?,?\s+(?:of\s+)?{WHO}(?P<other>{NAME})"
    rf"|(?P<one>{NAME}),?\s+(?:(?:who\s+)?(?:was|is|had\s+been)\s+)?(?:(?:the|his|her|{NAME}['’]s?)\s+)?(?:then\s+|former\s+|late\s+)?"
    rf"fianc[ée]e?\b(?!,?\s+{NAME})"
)
THEM = (
    r"\b(?:they|couple|pair|two|both|whom)\b[^.;]{0,60}\b(?:married|wed)\b|\b(?:married|wed)\s+(?:him|her|each\s+other)\b"
    r"|\btheir\s+(?:marriage|wedding)\b"
)
TOLD_OF_THEM = re.compile(THEM, re.IGNORECASE)
"""Marriages of which names tell nothing."""
IN_WORDS = re.compile(rf"{THEM}|\b(?:his|her)\s+{WHICH}{SPOUSE}\b", re.IGNORECASE)
VERB = re.compile(r"\b(?:re)?(?:married|marries|marry|wed|marriage|weds|wedding)\b")
MARRIAGE = re.compile(rf"{VERB.pattern}|\b{SPOUSE}\b")
INTRODUCED = re.compile(
    rf"\b(?:his|her)\s+(?:[a-z]+\s+)?(?:half-)?{KIN},?\s+$",
    re.IGNORECASE,
)
"""Before the name of a relative who is no spouse."""
PARENTS = frozenset(("father", "mother"))

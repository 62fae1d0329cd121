"""Sentences about what nearly happened, was called off, or is told as a legend: no fact, though it reads like one."""

from __future__ import annotations

import re

_IRREGULAR = (
    "became|began|bought|built|came|drew|fell|fought|got|had|held|left|led|lost|made|met|ran|sang|sold|spent|stood|took|"
    "taught|went|won|wrote|wed"
)
_NEARLY = re.compile(
    rf"(?<!\ban )(?<!\ba )(?<!\bthe )\b(?:almost|nearly|very nearly|all but)\s+"
    rf"(?!surround|forgot|desert|doubl|trebl|tripl|quadrupl|halv|unnotic|exhaust|destroy|blind|ruin|cover)"
    rf"(?:\w{{2,}}(?<!e)ed|{_IRREGULAR})\b"
    r"|\b(?:came|comes|come|got|was|were)\s+(?:\w+\s+)?(?:close|near)\s+to\s+(?!the\b|\d)\w+ing\b"
    r"|\bcame\s+within\s+[^,;.]{1,40}?\bof\s+\w+ing\b"
    r"|\bon\s+the\s+(?:verge|brink|point)\s+of\s+\w+ing\b"
    r"|\b(?:was|were)\s+(?:just\s+)?about\s+to\s+(?!leave|return|retire|die|quit)\w+"
    r"|\b(?:was|were)\s+to\s+have\s+(?:been|become|gone|taken|written|built|bought|won|sold|made|led|met|run|\w+ed)\b"
    r"|\bnarrowly\s+(?:missed|failed)\s+\w+"
    r"|\b(?:stopped|stops)\s+short\s+of\s+\w+ing\b"
    r"|\b(?:was|were)\s+(?:prevented|kept|barred|stopped)\s+from\s+\w+ing\b",
    re.IGNORECASE,
)
"""What a subject came near to; not "almost 300 workers", "nearly a century" or "an almost deserted town"."""
_EVENT = (
    r"takeover|take-over|acquisition|merger|buyout|buy-out|deal|sale|purchase|bid|wedding|engagement|transfer|"
    r"appointment|nomination"
)
_PLAN = rf"{_EVENT}|plans?|proposal|scheme|offer|attempt|talks|negotiations"
_ENDED = (
    r"(?:was|were|is|are|been|being)\s+(?:\w+ly\s+|later\s+|soon\s+|eventually\s+)?"
    r"(?:called\s+off|abandoned|scrapped|shelved|cancell?ed|blocked|dropped|broken\s+off|aborted|vetoed|rejected|"
    r"withdrawn|prohibited|never\s+(?:completed|carried\s+out|realised|realized))"
    r"|(?:fell|fallen|falls)\s+(?:through|apart)|collapsed|(?:came|come)\s+to\s+nothing|never\s+(?:came|materiali[sz]ed)"
    r"|(?:did\s+not|didn['’]t)\s+(?:go\s+(?:through|ahead)|materiali[sz]e)|broke\s+down|failed(?!\s+to\b)"
)
_PLANNED = re.compile(rf"\b(?:{_PLAN})\b", re.IGNORECASE)
_CALLED_OFF = re.compile(rf"\b(?:{_ENDED})\b", re.IGNORECASE)
_BUT = re.compile(
    r",?\s*\b(?:but|however|yet|until|though|although)\b[^;]*?\b"
    r"(?:called\s+off|abandoned|scrapped|shelved|cancell?ed|blocked|dropped|broke\s+off|vetoed|rejected|stopped|prevented|"
    rf"prohibited|withdrew)\s+(?:from\s+)?(?:the|that|this|its|their)\s+(?:planned\s+|proposed\s+)?(?:{_EVENT})\b"
    r"(?!\s+(?:of|to|with|for|between)\b)"
    rf"|,?\s*\b(?:but|however|yet|though|although)\s+(?:the|that)\s+(?:{_EVENT})\s+(?:\w+\s+)?(?:{_ENDED})\b",
    re.IGNORECASE,
)
"""What takes back the event that was just told: "…, but she called off the wedding"."""
_TALE = (
    r"(?:legends?|traditions?|folklore|myths?|rumou?rs?|hearsay|gossip|fable|popular\s+belief|folk\s+tales?)"
)
_TOLD = re.compile(
    rf"\b{_TALE}\s+(?:has|had|would\s+have)\s+it\s+(?:that\s)?"
    rf"|\b{_TALE}\s+(?:holds?|held|says?|said|tells?|told|claims?|claimed|insists?)\s+(?:us\s+)?(?:that\s)?"
    rf"|\baccording\s+to\s+(?:\w+\s+){{0,2}}{_TALE}\b,?\s*"
    rf"|\b(?:by|in)\s+(?:local\s+|popular\s+)?{_TALE},\s*"
    r"|\b(?:is|are|was|were)\s+(?:rumou?red|fabled|alleged)\s+to\s"
    r"|\b(?:allegedly|supposedly|purportedly)\s",
    re.IGNORECASE,
)
_TOLD_ASIDE = re.compile(
    rf",\s*(?:according\s+to\s+(?:\w+\s+){{0,2}}{_TALE}|{_TALE}\s+has\s+it|(?:or\s+)?so\s+(?:the\s+)?{_TALE}\s+\w+)\s*(?:,|[.!]|$)",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[;:]|,\s|\b(?:when|after|before|because|while|since|who|whom)\b")
"""What ends the reach of a legend or of a plan that was called off; "which" and "that" go on with it."""
_ASIDE = re.compile(r",[^,;]*,|\([^)]*\)")
_CONTRASTED = re.compile(r"\bnot\s+(?:the\s+)?$", re.IGNORECASE)


def is_undone(before: str, link: str, after: str) -> bool:
    """Whether what a sentence tells of two names did not come to pass, or is a tale.

    It nearly happened ("Iris almost married Tom"), was called off ("The sale of A to B fell through", "A agreed to buy
    B, but regulators blocked the acquisition"), is a legend ("According to legend, A was founded in 1120"), or
    is said of another ("Not A but B founded C").

    Args:
        before: What stands before the first name.
        link: Between the names, without what is added to the first.
        after: Behind the second.
    """
    if _CONTRASTED.search(before) and re.match(r"\s*,?\s*but\b", link):
        return True
    nearly = _NEARLY.search(link)
    if nearly is not None and not _CLAUSE.search(link[nearly.end() :]):
        return True
    if _TOLD_ASIDE.search(link):
        return True
    plain = _ASIDE.sub(" ", link)
    if _CLAUSE.search(plain):
        return False
    if _TOLD_ASIDE.search(after) and not _CLAUSE.search(_TOLD_ASIDE.split(after)[0]):
        return True
    if _TOLD.search(plain) or any(
        not _CLAUSE.search(before[told.end() :]) for told in _TOLD.finditer(before)
    ):
        return True
    rest = _ASIDE.sub(" ", after)
    taken_back = _BUT.search(rest)
    if taken_back is not None and not _CLAUSE.search(rest[: taken_back.start()]):
        return True
    return _is_called_off(before, plain, rest)


def _is_called_off(before: str, link: str, after: str) -> bool:
    """Whether a plan that is named before the second name is said to have ended behind the first."""
    opened = [found for found in _PLANNED.finditer(before) if not _CLAUSE.search(before[found.end() :])]
    if not opened and not _PLANNED.search(link):
        return False
    ended = _CALLED_OFF.search(link)
    if ended is not None:
        return not _CLAUSE.search(link[ended.end() :])
    ended = _CALLED_OFF.search(after)
    return ended is not None and not _CLAUSE.search(after[: ended.start()])

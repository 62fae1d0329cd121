"""Sentences that name two things without saying that anything holds: suppositions, questions, denials, mere wishes.

A model of text goes by who stands beside whom and by the word for the relation; "Nobody believes that A wrote B" and
"A wrote B" are alike to it. The small words that make the difference are few, and rules know them.
"""

from __future__ import annotations

import re

from weft.kg.read.undone import is_undone

_BREAK = re.compile(
    r"[,;:()–—]|\b(?:when|after|before|because|although|though|while|since|and|but|who|which|whom)\b"
)
"""What ends the reach of a small word."""
_ASIDE = re.compile(r"^\s*(?:,[^,;]*,|\([^)]*\))")
_APPOSED = re.compile(r"^\s*[,(]")
_OPENS = re.compile(
    r"(?:^|[,;:–—]\s*|\b(?:and|but|or)\s+)(?:(?:what|even|only)\s+)?"
    r"(?:if|unless|suppos(?:e|ing)|imagine|assum(?:e|ing)|pretend|let us (?:assume|suppose|imagine|say))(?:\s+that)?\s",
    re.IGNORECASE,
)
"""A supposition."""
_TURNED = re.compile(r"^\W*(?:Had|Were|Should)\s+(?=\S)")
"""A supposition without "if"."""
_ASKS = re.compile(
    r"^\W*(?:(?:and|but|so|or|then)\s+)?(?:is|was|are|were|did|does|do|has|have|had|can|could|would|should|will|who|what|"
    r"when|where|why|which|how|whose|whether)\b",
    re.IGNORECASE,
)
_STAMP = r"[\[(]?\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?:[ \t]?[ap]m)?[\])]?[ \t]*(?:[-–—][ \t]*)?"
_LABEL = rf"[ \t]*(?:{_STAMP})?[^\W\d_][^\n:?!]{{0,30}}:(?=\s)"
_LABELLED = re.compile(_LABEL)
SPEAKER = re.compile(rf"(?m)^(?={_LABEL})")
"""Where a line begins that says first who speaks, or what follows: "Q: …", "[09:17] Mira: …"."""
_TOLD = re.compile(
    r"\b(?:you|anyone|everybody|everyone)\s+(?:ever\s+)?(?:know|knew|heard|remember|recall)\b", re.IGNORECASE
)
"""Questions that tell: "Did you know that …?"."""
_NO = r"(?:nobody|no one|no-one|few|hardly any(?:one|body)|not|never|n['’]t|no|without|beyond)"
_DENIED = re.compile(
    r"\b(?:nobody|no one|no-one|few|hardly any(?:one|body))\s+(?:\w+\s+){0,2}?"
    r"(?:believ|think|thought|claim|suppos|say|said)\w*(?:\s+that)?\s"
    r"|\b(?:not|n['’]t|never)\s+(?:\w+\s+)?"
    r"(?:true|certain|clear|known|sure|proven|proved|likely|the case|believe|think)\s+(?:that|whether|if)\s"
    r"|\b(?:false|untrue|doubtful|unlikely|unclear|uncertain|disputed|a myth|a hoax|a lie|a legend|a mistake)\s+"
    r"(?:that|whether|if)\s"
    r"|\b(?:claims?|rumou?rs?|allegations?|suggestions?|theory|theories|idea|notion|myth|legend|possibility|hope|fear|"
    r"speculation|suspicion|evidence|proof)\s+that\s"
    r"|\brumou?rs?\s+ha(?:s|d|ve)\s+it\s+that\s"
    r"|\b(?:den(?:y|ies|ied|ying)|doubt(?:s|ed|ing)?|disput(?:e|es|ed|ing)|wonder(?:s|ed|ing)?|ask(?:s|ed|ing)?|"
    r"debat(?:e|es|ed))\s+(?:\w+\s+)?(?:that|whether|if|having)\s"
    r"|\b(?:falsely|wrongly|mistakenly|incorrectly|erroneously)\s+(?:\w+\s+){0,3}?",
    re.IGNORECASE,
)
"""What follows is not stated, or is denied."""
_DOUBTED = re.compile(r"doubt|disput|den[iy]", re.IGNORECASE)
"""Who does not doubt it states it."""
_WISHED = re.compile(
    r"\b(?:refus|declin|hop|hesitat|propos)(?:e|es|ed|ing)\s+to\s"
    r"|\b(?:fail|threaten|offer|want|wish|plan|plann|intend|dream|attempt|vow|long)(?:s|ed|ing)?\s+to\s"
    r"|\b(?:try|tries|tried|trying)\s+to\s|\bdream(?:s|ed|t|ing)?\s+of\s"
    r"|\b(?:would|could|might|should)(?:\s+\w+ly)?\s+have\s",
    re.IGNORECASE,
)
"""What a subject wishes, refuses or would have done."""
_NEGATED = re.compile(
    r"(?:\b(?:is|was|are|were|has|had|have|do|does|did|will|can|could)(?:\s+not|n['’]t)|\bnever)\s+"
    r"(?!only\b|just\b|merely\b|simply\b|leav|left\b|return|forg[eo]t|far\b|long\b|yet\b|surpris|stop|ceas)",
    re.IGNORECASE,
)
"""A plain denial, but for those that say more than they deny."""
_UNTIL = re.compile(r"^[^,;.]*\b(?:until|till|before|again|since|but)\b", re.IGNORECASE)


def says_nothing(sentence: str, first: tuple[int, int], second: tuple[int, int]) -> bool:
    """Whether a sentence names two things without saying that anything holds between them.

    It is a supposition ("If A had founded B"), a question ("Is it true that A wrote B?"), behind who asks it as well
    ("Q: Did A write B?"), a denial or a rumour ("Nobody believes that A wrote B"), a wish ("A refused to marry B") or
    what did not come to pass (:func:`weft.kg.read.undone.is_undone`),
    and both names stand within its reach, which a comma or another clause ends. What is added to a name ("A, the owner
    of B") is stated wherever it stands. "Not" and "never" count between the names, but where they state something all
    the same ("never left", "not until").

    Args:
        sentence: With both names.
        first: Characters of one name in it.
        second: Of the other.
    """
    (_, first_end), (start, _) = sorted((first, second))
    before, between = sentence[: min(first[0], second[0])], sentence[first_end:start]
    link = _ASIDE.sub(" ", between)
    if _APPOSED.match(link):
        return False
    if is_undone(before, link, sentence[max(first[1], second[1]) :]):
        return True
    wished = _last(_WISHED, link)
    if wished is not None and _reaches(link[wished.end() :]):
        return True
    negated = _last(_NEGATED, link)
    if (
        negated is not None
        and _reaches(link[negated.end() :])
        and not _UNTIL.match(sentence[max(first[1], second[1]) :])
    ):
        return True
    label = _LABELLED.match(sentence)
    spoken = label.end() if label is not None and label.end() <= len(before) else 0
    if _asks(sentence[spoken:]):
        return True
    if _BREAK.search(re.sub(r"\b(?:and|but|who|which)\b", "", link)):
        return False
    turned = _TURNED.match(sentence)
    if turned is not None and "," in sentence[start:] and "," not in before[turned.end() :]:
        return True
    supposed = _last(_OPENS, before)
    if supposed is not None and _reaches(before[supposed.end() :]):
        return True
    for text in (before, link):
        denied = _last(_DENIED, text)
        if denied is not None and _reaches(text[denied.end() :]):
            twice = re.search(rf"\b{_NO}\s+(?:\w+\s+)?$", text[: denied.start()], re.IGNORECASE)
            return twice is None or _DOUBTED.match(denied[0]) is None
    return False


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return next(iter(reversed(list(pattern.finditer(text)))), None)


def _reaches(text: str) -> bool:
    """Whether nothing stands here that ends the reach of what stands before it."""
    return _BREAK.search(text) is None


def _asks(sentence: str) -> bool:
    plain = sentence.rstrip().rstrip("\"'”’)")
    return plain.endswith("?") and _ASKS.match(sentence) is not None and _TOLD.search(sentence) is None

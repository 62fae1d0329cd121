"""Lists inside a text, as words: "+ screen - battery", "Pros: tutor. Cons: room", "sauna = heaven"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from weft.absa.represent.slips import Slip

_ITEM = re.compile(r"(?m)(?:^[ \t]*|(?<=[\s,;.!?:]))(?P<sign>\([+–−-]\)|[+–−-])(?=[ \t]+[^\W\d_])")
"""A sign before a word, at the beginning of a line or behind a blank or a mark."""
_COUNTS = re.compile(r"\d[ \t]*\Z")
"""Behind a number a sign counts: "5 + hours"."""
_BEFORE = 8
"""Characters before a sign in which the end of a word is looked for."""
_BEHIND = re.compile(r"\w\s*\Z")
_LEADS = re.compile(r"(?:\A|[\n.!?:])[ \t]*\Z")
_PRAISE = (
    r"pros?|plus(?:ses|es)?|(?:plus|good) points?|likes?|liked|loved?|positives?|upsides?|strengths?|advantages?|"
    r"highlights?|(?:the )?good|(?:the )?best|thumbs up|yay|hits|what (?:i|we) (?:really )?(?:loved?|liked?)"
)
_BLAME = (
    r"cons?|minus(?:ses|es)?|(?:minus|bad) points?|dislikes?|disliked|hated?|negatives?|downsides?|weakness(?:es)?|"
    r"disadvantages?|lowlights?|(?:the )?bad|(?:the )?worst|thumbs down|nay|misses|"
    r"what (?:i|we) (?:really )?(?:hated?|disliked?|(?:didn't|did not|don't|do not) like)"
)
_HEAD = re.compile(
    rf"(?m)(?:^[ \t]*[*•–-]?[ \t]*|(?<=[.!?;,] ))(?:(?P<praise>{_PRAISE})|(?P<blame>{_BLAME}))[ \t]*(?P<colon>:)",
    re.IGNORECASE,
)
_END = re.compile(r"[.;!?](?!\w)|\n(?!\s*[*•+–-][ \t])")
"""The end of a list below a head: of its sentence, or a line without a bullet."""
_WORDS = r"[^\W\d_][\w'’&-]*(?:[ \t]+[\w'’&-]+){0,3}"
_THE = r"(?:(?i:and|the|an?|my|our|their|its?|his|her|some)[ \t]+(?=[^\W\d_]))?"
_SHORT = re.compile(rf"[ \t]+{_THE}(?P<item>{_WORDS})[ \t]*(?=[,.;!?(+–−-]|$)", re.MULTILINE)
_BELOW = re.compile(
    r"(?m)(?:^[ \t]*(?P<bullet>[*•+–-])|(?P<mark>[:,]))[ \t]+"
    rf"{_THE}(?P<item>{_WORDS})[ \t]*(?=,|$)"
)
"""An item below a head that is so short that it hardly says by itself how it is meant, and what stands before it."""
_DENIES = re.compile(
    r"\b(?:none|nothing|nil|no|not|never|zero|n/a|nowt|nada|without)\b|n['’]t\b", re.IGNORECASE
)
_EQUALS = re.compile(r"(?<=[^\W\d_])[ \t]+(?P<sign>=)[ \t]+(?=[^\W\d_])")


def lists(text: str) -> list[Slip]:
    """The signs of a text's lists, and the words that each is read as.

    - Items behind a plus are good, items behind a minus bad, where a text has both and the first one begins a line or
      stands behind the end of a sentence: "+ screen - battery" is "good screen, bad battery". Bullets alone are none.
    - Items below "Pros:" and the like are good, items below "Cons:" and the like bad: "Likes: balcony, lift. Dislikes:
      stairs." is "good balcony, good lift. bad stairs." Both kinds must be there.
    - "sauna = heaven" is "sauna is heaven".

    Only items of at most four words, none of which denies, are marked: a longer one says by itself what is meant.
    """
    found = {slip.start: slip for slip, _ in (*_headed(text), *_signed(text))}
    found |= {match.start("sign"): Slip(*match.span("sign"), "is") for match in _EQUALS.finditer(text)}
    return [found[start] for start in sorted(found)]


def listed(text: str) -> list[tuple[int, int]]:
    """Where the items stand that :func:`lists` marks: what a list names is what it judges, without its article."""
    return sorted(item for _, item in (*_headed(text), *_signed(text)))


def _signed(text: str) -> Iterator[tuple[Slip, tuple[int, int]]]:
    """The plus and minus of items, where a text has both, and the items."""
    items = [
        match for match in _ITEM.finditer(text) if not _COUNTS.search(_before(text, match.start("sign")))
    ]
    plus = ["+" in item["sign"] for item in items]
    if len(set(plus)) < 2 or not _LEADS.search(text, 0, items[0].start("sign")):
        return
    for item, good in zip(items, plus, strict=True):
        if (short := _SHORT.match(text, item.end())) is None or _DENIES.search(short["item"]):
            continue
        start, stop = item.span("sign")
        word = "good" if good else "bad"
        behind = _BEHIND.search(_before(text, start)) is not None
        yield Slip(start, stop, f", {word}" if behind else word), short.span("item")


def _headed(text: str) -> Iterator[tuple[Slip, tuple[int, int]]]:
    """What stands before the items below heads of praise and blame, where a text has both, and the items."""
    heads = list(_HEAD.finditer(text))
    if len({head["praise"] is None for head in heads}) < 2:
        return
    stops = [head.start() for head in heads[1:]] + [len(text)]
    for head, stop in zip(heads, stops, strict=True):
        blame = head["praise"] is None
        word = "bad" if blame else "good"
        end = _END.search(text, head.end(), stop)
        below = _BELOW.finditer(text, head.start("colon"), stop if end is None else end.start())
        for number, item in enumerate(below):
            if _DENIES.search(item["item"]):
                continue
            if item["bullet"]:
                mark = Slip(*item.span("bullet"), f", {word}" if number else word)
            elif item["mark"] == ":":
                mark = Slip(head.start("blame" if blame else "praise"), item.end("mark"), word)
            else:
                mark = Slip(*item.span("mark"), f", {word}")
            yield mark, item.span("item")


def _before(text: str, at: int) -> str:
    return text[max(0, at - _BEFORE) : at]

"""Ratings inside a text, as words: "food 9/10", "service ★☆☆☆☆", "breakfast 👎"."""

from __future__ import annotations

import re

from weft.absa.represent.slips import Slip

_MOST = 1.2
"""Beyond so many times the highest mark ("11/10") two numbers are no rating."""
_WORDS = ((0.9, "excellent"), (0.7, "good"), (0.5, "average"), (0.3, "bad"), (0.0, "terrible"))
"""From which share of the highest mark on a rating is called what."""
_NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
_SIGNS = {**dict.fromkeys("👍✅✔✓", "good"), **dict.fromkeys("👎❌✖✘✗", "bad")}
_STAR = frozenset(("★", "⭐", "🌟", "⭐\ufe0f", "🌟\ufe0f"))
_STARS = re.compile("[★⭐🌟][★⭐🌟☆]|☆")
_RATING = re.compile(
    r"(?<![\w/.,$€£-])(?<!\bon )(?<!\bby )(?<!\bfrom )(?<!\bsince )(?<!\buntil )(?<!\bbefore )(?<!\bafter )"
    r"(?P<mark>\d{1,3}(?:[.,]\d)?)(?:\s?/\s?|\s+out\s+of\s+)(?P<most>5|10|100)(?:\s+stars?)?(?![\w/-]|[.,]\d|\s+of\b)"
    r"|(?P<stars>[★⭐🌟][★⭐🌟☆\ufe0f]*|☆+)"
    r"|(?<=[:–-]\s)(?P<count>[1-5]|one|two|three|four|five)\s+stars?(?=\s*(?:[.,;!)]|$))"
    r"|(?P<sign>[👍✅✔✓👎❌✖✘✗][\ufe0f\U0001f3fb-\U0001f3ff]?)(?P=sign)*",
    re.IGNORECASE | re.MULTILINE,
)


def ratings(text: str) -> list[Slip]:
    """The ratings of a text and the words that each is read as.

    Marks out of 5, 10 or 100, stars, stars in words behind a colon, and thumbs, ticks and crosses. From .9 of the
    highest mark on a rating "is excellent", from .7 "good", from .5 "average", from .3 "bad", below "terrible". Dates
    ("on 9/10") and shares ("4/5 of the rooms") are none, nor is one star by itself, which may adorn. Where a sign or
    stars have words on both sides, a comma keeps them apart: "coffee 👍 toilets 👎" is "coffee is good, toilets is
    bad". What a line begins with is about what follows: "✅ beach ❌ wifi" is "good beach, bad wifi", "5/5 Lovely"
    "excellent. Lovely".
    """
    found: list[Slip] = []
    several = _STARS.search(text) is not None
    line = led = -1
    for match in _RATING.finditer(text):
        word = _word(match)
        if word is None or (match["stars"] in _STAR and not several):
            continue
        new = text.rfind("\n", found[-1].stop if found else 0, match.start()) + 1 or max(line, 0)
        first, line = new != line and not text[new : match.start()].strip(), new
        follows = text[match.end() : match.end() + 2].strip()[:1].isalpha()
        if first:
            led = line if match["sign"] else -1
            read = word if match["sign"] or not follows else f"{word}."
        elif match["sign"] and led == line:
            read = f", {word}"
        else:
            read = f"is {word}{',' if follows and match['mark'] is None else ''}"
        found.append(Slip(match.start(), match.end(), read))
    return found


def _word(match: re.Match[str]) -> str | None:
    if match["sign"]:
        return _SIGNS[match["sign"][0]]
    if match["stars"]:
        full, empty = (sum(match["stars"].count(star) for star in stars) for stars in ("★⭐🌟", "☆"))
        share = full / max(5, full + empty)
    elif match["count"]:
        share = _NUMBERS.get(match["count"].lower(), 0) / 5 or int(match["count"]) / 5
    else:
        share = float(match["mark"].replace(",", ".")) / float(match["most"])
    return None if share > _MOST else next(word for least, word in _WORDS if share >= least)

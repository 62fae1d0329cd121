"""Ratings inside a text, as words: "food 9/10", "service ★☆☆☆☆", "breakfast 👎"."""

from __future__ import annotations

import re

from weft.absa.represent.facts import facts_from, has_status
from weft.absa.represent.slips import Slip

_MOST = 1.2
"""Beyond so many times the highest mark ("11/10") two numbers are no rating."""
_WORDS = ((0.9, "excellent"), (0.7, "good"), (0.5, "average"), (0.3, "bad"), (0.0, "terrible"))
"""From which share of the highest mark on a rating is called what."""
_NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
_SIGNS = {**dict.fromkeys("👍✅✔✓", "good"), **dict.fromkeys("👎❌✖✘✗", "bad")}
_FULL, _EMPTY = "★⭐🌟", "☆"
_RATING = re.compile(
    r"(?<![\w/.,$€£-])(?P<mark>\d{1,3}(?:[.,]\d{1,2})?)(?:\s?/\s?|\s+out\s+of\s+)(?P<most>5|10|100)(?:\s+stars?)?"
    r"(?![\w/\"″€$£%-]|[.,]\d|[ \t]?[€$£%]|[ \t]+of\b)"
    r"|(?P<stars>[★⭐🌟☆]\ufe0f?(?: ?[★⭐🌟☆]\ufe0f?)*)"
    r"|(?<=[:–-]\s)(?P<count>[1-5]|one|two|three|four|five)\s+stars?(?=\s*(?:[.,;!)]|$))"
    r"|(?P<sign>[👍✅✔✓👎❌✖✘✗][\ufe0f\U0001f3fb-\U0001f3ff]?)(?P=sign)*",
    re.IGNORECASE | re.MULTILINE,
)
_SEVERAL = re.compile(rf"[{_FULL}]\ufe0f? ?[{_FULL}{_EMPTY}]|{_EMPTY}")
_LAST_WORD = re.compile(r"([\w'-]+)[ (]*\Z")
_NO_RATING = frozenset(
    {
        *("on", "by", "from", "to", "since", "until", "before", "after", "in"),
        *("for", "the", "due", "ordered", "arrived", "delivered", "visited", "stayed", "bought"),
        *("broke", "size", "sizes", "age", "ages", "aged", "page", "step", "part"),
        *("day", "scale", "grade", "level", "sleeps", "feeds", "ios", "windows", "lasts"),
        *("lasted", "pressure", "bp", "gigabit", "won", "lost", "tyres", "usb", "had"),
        *("be", "app's", "store's"),
        *("chapter", "question", "invoice", "order", "edition", "progress", "humidity"),
        *("purchased", "placed", "shipped", "posted", "dated", "expires", "expired", "died"),
        *("edit", "edited", "update", "updated", "deadline", "rsvp"),
        *("apgar", "gcs", "acuity", "dilution", "torx", "mrn"),
    }
)
"""Words before two numbers that are a date, a size, a share, or what a mark was or would be."""
_BAD = frozenset(
    {
        *("pain", "ache", "itch", "itchiness", "itching", "anxiety", "stress", "nausea", "noise"),
        *("odour", "odor", "lag", "difficulty", "risk", "effort", "discomfort", "swelling", "bleeding"),
        *("headache", "migraine", "fatigue", "tiredness", "stiffness", "soreness", "dizziness", "cramps"),
    }
)
"""Of these more is no praise."""
_FOLLOWS = re.compile(
    r"[ \t]+(?:(?:abdominal|back|chest|joint|knee|low|lower|neck|shoulder)\s+){0,2}(\w+)"
    r"(?=[.,;!?)]|\s+(?:in|on|at|with|and|after|today|now)\b|\s*\Z)"
)
"""Behind a mark what it is of, and no "pain relief"."""
_FILLED = re.compile(r"(?:[\s:=(-]|\b(?:is|was|are|were|a|an|at|about|level|levels|of)\b)*\Z")
_COUNTED = re.compile(
    r"[ \t]+(?:times?|sets|games|matches|cups?|tsp|tbsp|mm|cm|km|inch(?:es)?|min(?:ute)?s?|sec(?:ond)?s?|h(?:ou)?rs?|"
    r"days?|weeks?|months?|years?|euros?|dollars|people|[mgk]bps|scale|chance|washes|seater|ply|star\s+hotels?|cotton|network|"
    r"litres?|liters?|dentists|doctors|customers|users|patients|guests|sold|printed|arrived|worked|failed|"
    r"bilaterally|in all limbs|"
    r"switch|router|ethernet|pro|ratings?|reviews?|if|to\s\d+|in the (?:store|morning|evening|afternoon))\b",
    re.IGNORECASE,
)
_ABOUT_NEXT = re.compile(
    r"[ \t]+(?!(?:would|will|never|do|don't|not|recommend|again|i|so|but|and|if|because|it|this|was|is)\b)[a-z]"
)
"""A word in small letters that says what a mark before it is about."""
_WORDED = r"[^\W\d_][\w'’&-]*(?: [\w'’&-]+){0,3}"
_MARK = r"\d{1,3}(?:[.,]\d{1,2})?(?:[ \t]?/[ \t]?|[ \t]+out[ \t]+of[ \t]+)(?:5|10|100)(?![\w/%])"
_STARS = rf"[{_FULL}{_EMPTY}]\ufe0f?(?: ?[{_FULL}{_EMPTY}]\ufe0f?)*"
_JOINS = r"(?!(?i:and|but|or|so|to|for|with|of|in|on|at|as|from|if|because|would|will|recommend(?:ed)?)\b)"
_MARKED_AHEAD = re.compile(
    rf"(?m)^[ \t]*(?:[*•+–-][ \t]+)?"
    rf"(?:(?:{_MARK}|{_STARS})[ \t]*(?:[:–-][ \t]+)?{_JOINS}{_WORDED}[ \t]*[,;.|/]?[ \t]*)+$"
)
"""A line of marks, each before what it is about: "9/10 Doctor"."""
_MARKED_ITEM = re.compile(
    rf"[ \t]+(?:[/|·•][ \t]+|\d{{1,2}}[.)][ \t]+)?"
    rf"{_JOINS}{_WORDED}[ \t]*(?:[:=–|-][ \t]*|\([ \t]*)?(?:{_MARK}|{_STARS})"
)
"""Behind a mark another item with its own."""
_SAME_LINE = re.compile(r"[ \t]+(\S)")
_NEW_LINE = re.compile(r"[ \t]*\n\s*\S")
_NOTHING_MORE = re.compile(r"[ \t]*(?:\n|\Z)")
_HEADED = re.compile(rf"(?:\A|\n)[ \t]*(?:[*•+–-][ \t]+)?{_WORDED}(?P<gap>[ \t]*:?[ \t]*\n[ \t]*)\Z")
"""The line above a mark that has a line for itself."""
_UNJOINED = re.compile(r"(?<=[\w)])(?<! and)(?<! but)(?<! or)\s+(?:[*•+–-][ \t]+)?\Z")
_JOINED = re.compile(r"(?<=\w)[ \t]*[:=–|-][ \t]*\Z")
"""Between a mark and what it is about."""
_AHEAD = re.compile(
    rf"(?:[ \t]*{_WORDED},?[ \t]*[👍✅✔✓👎❌✖✘✗][\ufe0f\U0001f3fb-\U0001f3ff]?)+[ \t]*{_WORDED}[ \t]*(?:[.,;!?\n]|\Z)"
)
"""Words of a list of signs, each before its words: "✅ seats ❌ heating"."""
_DENIED = re.compile(
    r"(?:\b(?:not|never|hardly|instead of|than)|n['’]t)"
    r"(?: (?:quite|really|exactly|even|worth|worthy|of|an?|the|be|get|give|"
    r"it|them|this|deserve|my|always|another|full|perfect|solid))* ?\Z",
    re.IGNORECASE,
)
"""Behind it a mark is what something is not."""
_ASKS = re.compile(r"\s*(?:if|or|means?|=)(?!\w)")
_PRESSED = re.compile(
    r"\b(?:with|or|press|hit|click|tap|drop|leave|your|voted?|"
    r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?)\s*\Z",
    re.IGNORECASE,
)
"""Beside them a sign is one that somebody may give, or a day's."""
_CLASS = re.compile(r"\b(?:Michelin|(?:Hotel|Resort|General)(?: [A-Z]\w+){1,3}) ?\Z")
"""Before stars that are a class."""
_ENDED = re.compile(r"[.!?…:][ \t]*\Z")
_IS = re.compile(r"\b(?:is|are|was|were) ?(?:an? )?\Z", re.IGNORECASE)
_BEFORE = 8
"""Characters before a mark in which such a word is looked for."""
_LINE = 200
"""Characters on both sides of stars in which the ends of their line are looked for."""
_LOOKED_AT = 40
"""Characters before a mark in which the word that it is about is looked for."""


def ratings(text: str) -> list[Slip]:
    """The ratings of a text and the words that each is read as.

    Marks out of 5, 10 or 100, stars, stars in words behind a colon, and thumbs, ticks and crosses. From .9 of the
    highest mark on a rating "is excellent", from .7 "good", from .5 "average", from .3 "bad", below "terrible". Dates
    ("on 9/10"), sizes, counts ("9/10 times") and shares ("4/5 of the rooms") are none, nor are marks of what is no
    praise ("pain 9/10"), one star by itself, stars that adorn both ends of a line, a class ("Hotel Adler ★★★★"), a
    sign to be given ("👍 if you agree"), those of a list of facts, and what is denied, but for the highest marks: "not
    a 10/10" is "not a perfect". Where a sign or stars have words on both sides, a comma keeps them apart: "coffee 👍
    toilets 👎" is "coffee is good, toilets is bad". What a line begins with is about what follows, and so is a list of
    signs behind the end of a sentence: "✅ beach ❌ wifi" is "good beach, bad wifi", "2/10 for the wifi, 9/10 for the
    pool" "terrible for the wifi, excellent for the pool", and "5/5 Lovely" "excellent. Lovely". Lines that have their
    marks first are a list, too ("9/10 Doctor", "2/10 Desk").

    A rating behind its item ends what is said of it where the line ends, a capital follows or another item with its
    rating: "Care: 9/10 Desk: 2/10" is "Care is excellent. Desk is terrible". In a line of its own it is about the item
    above.
    """
    found: list[Slip] = []
    several = _SEVERAL.search(text) is not None
    line, led = -1, ""
    facts = -1 if has_status(text) else facts_from(text)
    ahead_in = _marks_ahead(text)
    for match in _RATING.finditer(text):
        start, stop = match.span()
        word = _word(match)
        if word is None or _is_none(text, match, several):
            continue
        if match["sign"] and start > facts:
            continue
        if _DENIED.search(text[max(0, start - _LOOKED_AT) : start]):
            if match["mark"] and word == _WORDS[0][1]:
                found.append(Slip(start, stop, "perfect"))
            continue
        if start in ahead_in:
            found.append(Slip(start, stop, f", {word}" if ahead_in[start] else word))
            continue
        new = text.rfind("\n", found[-1].stop if found else 0, start) + 1 or max(line, 0)
        first = new != line and not text[new:start].strip()
        line, led = new, led if new == line else ""
        follows = text[stop : stop + 2].strip()[:1].isalpha()
        kind = "sign" if match["sign"] else "mark" if match["mark"] else "stars"
        if kind == "sign" and led != kind:
            listed = _ENDED.search(text[max(0, start - _LOOKED_AT) : start]) is not None
            first = first or (listed and _AHEAD.match(text, stop) is not None)
        headed = first and kind != "sign" and _NOTHING_MORE.match(text, stop)
        if headed and (heading := _HEADED.search(text, max(0, start - _LINE), start)) is not None:
            found.append(Slip(heading.start("gap"), stop, f" is {word}."))
        elif first:
            ahead = kind == "sign" or (kind == "mark" and _ABOUT_NEXT.match(text, stop) is not None)
            led = kind if ahead else ""
            read = word if ahead or not follows else f"{word}."
            found.append(_apart(text, start, stop, read))
        elif led == kind:
            found.append(_apart(text, start, stop, word if kind == "mark" else f", {word}"))
        else:
            led = ""
            found.append(_about_before(text, match, word, kind))
    return found


def _about_before(text: str, match: re.Match[str], word: str, kind: str) -> Slip:
    """A rating of what stands before it, with the end of what it says where an item follows."""
    start, stop = match.span()
    ended = _end(text, stop, kind)
    joined = _JOINED.search(text, max(0, start - _BEFORE), start)
    if joined is not None:
        start = joined.start()
        more = _SAME_LINE.match(text, stop)
        ended = ended or "," * (more is not None and more[1].isalpha())
    elif text[start - 1 : start] == "(" and text[stop : stop + 1] == ")":
        behind = _end(text, stop + 1, kind)
        if behind or _NOTHING_MORE.match(text, stop + 1):
            start, stop, ended = start - 1, stop + 1, behind
    verb = "" if _IS.search(text, max(0, start - _BEFORE), start) else "is "
    return _apart(text, start, stop, f"{verb}{word}{ended}")


def _end(text: str, stop: int, kind: str) -> str:
    """What ends what is said of an item: its line's end or another item does."""
    following = _SAME_LINE.match(text, stop)
    if _NEW_LINE.match(text, stop) or (kind == "mark" and following is not None and following[1].isupper()):
        return "."
    if kind == "mark":
        return "," if _MARKED_ITEM.match(text, stop) else ""
    return "," if text[stop : stop + 2].strip()[:1].isalpha() else ""


def _apart(text: str, start: int, stop: int, read: str) -> Slip:
    """A rating as a word of its own."""
    glued = text[max(0, start - 1) : start].isalnum(), text[stop : stop + 1].isalnum()
    return Slip(start, stop, f"{' ' * glued[0]}{read}{' ' * glued[1]}")


def _marks_ahead(text: str) -> dict[int, bool]:
    """Where the marks of a list stand that has each before its item; whether a comma is needed before."""
    found: dict[int, bool] = {}
    for line in _MARKED_AHEAD.finditer(text):
        for mark in _RATING.finditer(text, *line.span()):
            found[mark.start()] = (
                bool(found)
                and _UNJOINED.search(text, max(0, mark.start() - _BEFORE), mark.start()) is not None
            )
    return found if len(found) > 1 else {}


def _is_none(text: str, match: re.Match[str], several: bool) -> bool:
    """Whether what looks like a rating is none."""
    start, stop = match.span()
    if match["sign"]:
        return (
            _ASKS.match(text, stop) is not None
            or _PRESSED.search(text[max(0, start - _LOOKED_AT) : start]) is not None
        )
    if match["stars"]:
        if "☆" not in match["stars"] and _CLASS.search(text[max(0, start - _LOOKED_AT) : start]):
            return True
        alone = len(match["stars"].rstrip("\ufe0f")) == 1 and not several
        before = text[max(0, start - _LINE) : start].rpartition("\n")[2]
        after = text[stop : stop + _LINE].partition("\n")[0]
        return alone or _adorns((before + match[0] + after).strip())
    if not match["mark"]:
        return False
    if (match["mark"], match["most"]) in (("10", "100"), ("1", "100")) or _COUNTED.match(text, stop):
        return True
    follows = _FOLLOWS.match(text, stop)
    if follows is not None and follows[1].lower() in _BAD:
        return True
    before = text[max(0, start - _LOOKED_AT) : start].lower()
    last = _LAST_WORD.search(before)
    if last is not None and last[1] in _NO_RATING:
        return True
    filled = _FILLED.search(before)
    about = _LAST_WORD.search(before[: filled.start()] if filled else before)
    return about is not None and about[1] in _BAD


def _adorns(line: str) -> bool:
    """Whether a line begins and ends with the same stars, with words between."""
    begun = re.match(rf"[{_FULL}\ufe0f]+", line)
    return begun is not None and len(line) > 2 * len(begun[0]) and line.endswith(begun[0])


def _word(match: re.Match[str]) -> str | None:
    if match["sign"]:
        return _SIGNS[match["sign"][0]]
    if match["stars"]:
        full, empty = (sum(match["stars"].count(star) for star in stars) for stars in (_FULL, _EMPTY))
        share = full / max(5, full + empty)
    elif match["count"]:
        share = _NUMBERS.get(match["count"].lower(), 0) / 5 or int(match["count"]) / 5
    else:
        share = float(match["mark"].replace(",", ".")) / float(match["most"])
    return None if share > _MOST else next(word for least, word in _WORDS if share >= least)

"""Lists inside a text, as words: "+ screen - battery", "Pros: tutor. Cons: room", "sauna = heaven"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from weft.absa.records import Side
from weft.absa.represent.facts import facts_from, is_diff
from weft.absa.represent.slips import Slip

_ITEM = re.compile(r"(?m)(?:^[ \t]*|(?<=[\s,;.!?:/|]))(?P<sign>\([+–−-]\)|[+–−-])(?=[ \t]*[^\W\d_])(?!ve\b)")
"""A sign before a word, at the beginning of a line or behind a blank or a mark."""
_COUNTS = re.compile(r"\d[ \t]*\Z")
"""Behind a number a sign counts: "5 + hours"."""
_BEFORE = 8
"""Characters before a sign in which the end of a word is looked for."""
_BEHIND = re.compile(r"\w\s*\Z")
_ON_LINE = re.compile(r"\w[ \t]*\Z")
_LEADS = re.compile(r"(?:\A|[\n.!?:])[ \t]*\Z")
_CLEAR = (
    r"pros?|cons?|contra|plus(?:ses|es)?|minus(?:ses|es)?|(?:plus|good|minus|bad) points?|likes|dislikes|positives?|"
    r"negatives?|upsides?|downsides?|strengths?|weakness(?:es)?|advantages?|disadvantages?"
)
_PRAISE = (
    r"pros?|plus(?:ses|es)?|(?:plus|good) points?|likes?|liked|loved?|positives?|upsides?|strengths?|advantages?|"
    r"highlights?|(?:the )?good|(?:the )?best|thumbs up|yay|hits|what (?:i|we) (?:really )?(?:loved?|liked?)"
)
_BLAME = (
    r"cons?|contra|minus(?:ses|es)?|(?:minus|bad) points?|dislikes?|disliked|hated?|negatives?|downsides?|"
    r"weakness(?:es)?|disadvantages?|lowlights?|(?:the )?bad|(?:the )?worst|thumbs down|nay|misses|"
    r"what (?:i|we) (?:really )?(?:hated?|disliked?|(?:didn't|did not|don't|do not) like)"
)
_BULLET = r"(?:[*•+–-]|\d{1,2}[.)])"
_INSIDE = r"(?:pros?|cons?|likes|dislikes|upsides?|downsides?|strengths?|weakness(?:es)?|advantages?|disadvantages?)"
"""What heads praise or blame wherever it has a colon and a capital, or another colon before it: "Pros: Cons: all"."""
_HEAD = re.compile(
    rf"(?m)(?:^[ \t]*(?:{_BULLET}[ \t]+)?|(?<=[.!?;,|/] )|(?<=\s)(?=[*_]|(?:(?-i:(?=[A-Z]))|(?<=: )){_INSIDE}[ \t]*:))"
    r"[*_]{0,2}"
    rf"(?:(?P<praise>{_PRAISE})|(?P<blame>{_BLAME}))[*_]{{0,2}}[ \t]*(?P<colon>:|=(?!=)|[–-](?=\s)|$)",
    re.IGNORECASE,
)
"""What stands above praise or blame; without a colon where it is clear."""
_IS_CLEAR = re.compile(_CLEAR, re.IGNORECASE)
_OF_TESTS = frozenset({"positive", "positives", "negative", "negatives"})
_TESTED = re.compile(r"\b(?:tests|test results?|covid|hiv|pcr|antigens?|antibod(?:y|ies))\b", re.IGNORECASE)
"""Where these are spoken of, what is positive is no praise."""
_END = re.compile(rf"(?<!\d)[.!?](?!\w)|\n(?!\s{{0,8}}{_BULLET}[ \t])")
"""The end of a list below a head: of its sentence, or a line without a bullet."""
_WORDS = r"[^\W\d_][\w'’&-]*(?:[ \t]+[\w'’&][\w'’&-]*){0,3}"
_THE = r"(?:(?i:and|the|an?|my|our|their|its?|his|her|some)[ \t]+(?=[^\W\d_]))?"
_SHORT = re.compile(rf"[ \t]*{_THE}(?P<item>{_WORDS})[ \t]*(?=[,.;!?(+–−/|-]|$)", re.MULTILINE)
"""An item that is so short that it hardly says by itself how it is meant."""
_DIRECT = re.compile(
    rf"[*_]{{0,2}}[ \t]+{_THE}(?P<item>{_WORDS})[ \t]*(?=[,;|*]|(?<=[ \t])/|$)", re.MULTILINE
)
"""Such an item behind a head."""
_BELOW = re.compile(
    rf"(?m)(?:^[ \t]*(?P<bullet>{_BULLET})|(?P<mark>[,;|]|(?<=[ \t])/))[ \t]+"
    rf"{_THE}(?P<item>{_WORDS})[ \t]*(?=[,;|*]|(?<=[ \t])/|$)"
)
"""Such an item further below, and what stands before it."""
_OPENS = re.compile(r"[*_]{0,2}[ \t]*(?P<gap>\n[ \t]*)?(?=\n)")
"""Nothing else on the line of a head; what stands below may have an empty line above it."""
_LINE = re.compile(rf"(?P<end>\n[ \t]*)(?P<line>(?P<bullet>{_BULLET}[ \t])?[^\n]*)")
_BARE = re.compile(rf"{_THE}(?P<item>(?=..){_WORDS})[ \t]*\.?[ \t]*(?=[,;|]|(?<=[ \t])/|$)")
"""An item that begins a line without a bullet."""
_CLOSES = re.compile(
    r"\s*$|[^\n]*:[ \t]*$|[^\s:]+(?: [^\s:]+)?:\s|"
    r"(?:i|we|would|will|can(?:no|['’])t|not|no (?:cons?|pros?|complaints?|downsides?)|none|nothing|nil|nope|n/?a|"
    r"overall|verdict|conclusion|summary|in (?:short|summary|all)|all in all|(?:highly )?recommend(?:ed)?|thanks?)\b",
    re.IGNORECASE,
)
"""What ends a list of such lines: an empty line, another head, a conclusion, that there is nothing."""
_CONCLUDES = re.compile(
    r"(?:but|still|anyway|anyhow|otherwise|however|nevertheless|nonetheless|even so|despite|worth|definitely|"
    r"five stars|(?:loved?|hated?|liked?) (?:it|them|this)|(?:it|they|you|he|she)(?=['’ ]))\b|"
    r"[^\n]*\b(?:anyway|anyhow|though|overall|nonetheless|regardless|all the same|even so|(?:come|be|go) back|again)"
    r"[ \t]*\.?[ \t]*$",
    re.IGNORECASE,
)
"""What the last line of a text is, and no item: a sentence that looks back on the list, or on all of it."""
_SENTENCE = re.compile(r"[^\n]*[.!?][*_)\"'”’]*\s*$")
_COUNTED = re.compile(r"\d")
"""What has a number is counted, not judged."""
_SIDES = re.compile(
    r"\b(?:debat(?:e|es|ers?)|motion|ballot|referendum|voted|votes?|voting|voters?)\b", re.IGNORECASE
)
"""Where these are spoken of, who stands below "Pro" and "Con" is no praise."""
_DENIES = re.compile(
    r"\b(?:none|nothing|nil|no|not|never|zero|n/a|nowt|nada|without)\b|n['’]t\b", re.IGNORECASE
)
_NO_WORTH = re.compile(
    r"\b(?:worth|good for|do(?:es)?|did|says?|means?) (?:nothing|nil|zero|nada|nowt)\b", re.IGNORECASE
)
"""What has such a word and denies nothing."""
_ENDS_BELOW = re.compile(
    rf"\n[ \t]*\n(?!\s{{0,8}}{_BULLET}[ \t])|"
    r"\n[ \t]*(?:overall|verdict|conclusion|summary|in (?:short|summary|all)|all in all)\b",
    re.IGNORECASE,
)
"""An empty line with no bullet behind it, or a conclusion."""
_EQUALS = re.compile(r"(?<=[^\W\d_])[ \t]+(?P<sign>=)[ \t]+(?=[^\W\d_])")

_NAME = r"[^\W\d_][\w'’&-]*"
_LABELLED = re.compile(
    rf"(?m)^[ \t]*{_NAME}(?:[ \t]{_NAME}){{0,2}}:(?:[ \t]+{_NAME})+(?:(?<=\w):(?:[ \t]+{_NAME})+)+[ \t]*[.!]?[ \t]*$"
)
"""A line of labels, each with words behind its colon, and no mark between them."""
_BETWEEN = re.compile(rf":[ \t]+(?P<words>{_NAME}(?:[ \t]+{_NAME})+)(?=:)")
_HOW = frozenset(
    {"very", "so", "really", "too", "quite", "not", "rather", "pretty", "extremely", "absolutely", "a"}
)


def lists(text: str) -> list[Slip]:
    """The signs of a text's lists, and the words that each is read as.

    - Items behind a plus are good, items behind a minus bad, where a text has both and the first one begins a line or
      stands behind the end of a sentence: "+ screen - battery" is "good screen, bad battery". Bullets alone are
      none, nor are changes, symptoms and the like ("Changelog", "ROS:"), and what ``diff`` writes.
    - Items below "Pros:" and the like are good, items below "Cons:" and the like bad: "Likes: balcony, lift. Dislikes:
      stairs." is "good balcony, good lift. bad stairs." Both kinds must be there. Below a
      head that has a line for itself short lines are items without a bullet, too, until an empty line or a sentence.
    - "sauna = heaven" is "sauna is heaven".
    - In a line of labels that nothing keeps apart a full stop does: "bed: soft food: cold" is "bed: soft. food: cold".

    Only items of at most four words, none of which denies, are marked: a longer one says by itself what is meant.
    """
    slips = [slip for slip, _ in (*_headed(text), *_signed(text))]
    slips += [Slip(*match.span("sign"), "is") for match in _EQUALS.finditer(text)]
    slips += [] if _heads(text) else _kept_apart(text)
    found: list[Slip] = []
    for slip in sorted(slips, key=lambda slip: (slip.start, -slip.stop)):
        if not found or slip.start >= found[-1].stop:
            found.append(slip)
    return found


def _kept_apart(text: str) -> Iterator[Slip]:
    """Full stops between the labels of a line, where it is clear which word begins the next label.

    That is the only capital of those between two colons, or the last of two words, or of three of which the first says
    how much ("very good food:").
    """
    for line in _LABELLED.finditer(text):
        for between in _BETWEEN.finditer(text, *line.span()):
            words = list(re.finditer(_NAME, between["words"]))
            capitals = [number for number, word in enumerate(words) if number and word[0][0].isupper()]
            begins = capitals[0] if len(capitals) == 1 else 1 + (words[0][0].lower() in _HOW)
            if len(capitals) != 1 and len(words) != begins + 1:
                continue
            start = between.start("words")
            yield Slip(start + words[begins - 1].end(), start + words[begins].start(), ". ")


def listed(text: str) -> list[tuple[int, int]]:
    """Where the items stand that :func:`lists` marks: what a list names is what it judges, without its article."""
    return sorted(item for _, item in (*_headed(text), *_signed(text)))


def headed(text: str) -> list[tuple[int, int, Side]]:
    """What stands below the heads of praise and blame of a text that has both: first character, last + 1, which.

    It ends before the next head, a conclusion, or an empty line with no bullet behind. None where people take sides.
    """
    heads = _heads(text)
    if not heads or _SIDES.search(text):
        return []
    found: list[tuple[int, int, Side]] = []
    for head, stop in zip(heads, [*(head.start() for head in heads[1:]), len(text)], strict=True):
        begin = head.end() + len(text[head.end() : stop]) - len(text[head.end() : stop].lstrip("*_ \t\n"))
        end = _ENDS_BELOW.search(text, begin, stop)
        found.append((begin, stop if end is None else end.start(), "pros" if head["praise"] else "cons"))
    return found


def _signed(text: str) -> Iterator[tuple[Slip, tuple[int, int]]]:
    """The plus and minus of items, where a text has both, and the items."""
    items = [
        match for match in _ITEM.finditer(text) if not _COUNTS.search(_before(text, match.start("sign")))
    ]
    plus = ["+" in item["sign"] for item in items]
    if len(set(plus)) < 2 or not _LEADS.search(text, 0, items[0].start("sign")):
        return
    if facts_from(text) < items[0].start("sign") or is_diff(text):
        return
    for item, good in zip(items, plus, strict=True):
        if (short := _SHORT.match(text, item.end())) is None or _denies(short["item"]):
            continue
        start, stop = item.span("sign")
        word = "good" if good else "bad"
        behind = ", " if _BEHIND.search(_before(text, start)) else ""
        yield Slip(start, stop, f"{behind}{word}{'' if text[stop].isspace() else ' '}"), short.span("item")


def _headed(text: str) -> Iterator[tuple[Slip, tuple[int, int]]]:
    """What stands before the items below heads of praise and blame, where a text has both, and the items."""
    heads = _heads(text)
    if not heads:
        return
    stops = [head.start() for head in heads[1:]] + [len(text)]
    in_lines, apart = _in_lines_of(text, heads)
    denied = False
    for head, stop in zip(heads, stops, strict=True):
        word, group = ("bad", "blame") if head["praise"] is None else ("good", "praise")
        below = _lines_below(text, head.end(), stop, apart) if in_lines else []
        if below:
            yield from _in_lines(text, head.start(group), below, word)
            continue
        end = _END.search(text, head.end(), stop)
        last = stop if end is None else end.start()
        direct = _DIRECT.match(text, head.end(), last)
        if direct is not None and not _denies(direct["item"]):
            before = _before(text, head.start(group))
            joined = ", " if _ON_LINE.search(before) or (denied and _BEHIND.search(before)) else ""
            yield Slip(head.start(group), head.end("colon"), f"{joined}{word}"), direct.span("item")
        denied = direct is not None and _denies(direct["item"])
        for number, item in enumerate(_BELOW.finditer(text, head.end(), last)):
            if not _denies(item["item"]):
                joined = word if item["bullet"] and not number and direct is None else f", {word}"
                yield Slip(*item.span("bullet" if item["bullet"] else "mark"), joined), item.span("item")


def _heads(text: str) -> list[re.Match[str]]:
    """The heads of praise and blame, where a text has both."""
    heads = [
        head
        for head in _HEAD.finditer(text)
        if head["colon"] == ":" or _IS_CLEAR.fullmatch(head["praise"] or head["blame"])
    ]
    if len({head["praise"] is None for head in heads}) < 2:
        return []
    if _TESTED.search(text) and all(head[0].strip(" \t*_:").lower() in _OF_TESTS for head in heads):
        return []
    return heads


def _in_lines_of(text: str, heads: list[re.Match[str]]) -> tuple[bool, bool]:
    """Whether lines below heads may be items without a bullet, and whether an empty line may stand above them.

    They are none in a bill, where it is told who spoke for something, or where nothing stands below a head.
    """
    if _SIDES.search(text) or facts_from(text) < len(text):
        return False, False
    filled = all(text[one.end() : two.start()].strip("*_ \t\n") for one, two in pairwise(heads))
    opens = _OPENS.match(text, heads[0].end())
    return filled, opens is not None and opens["gap"] is not None


def _lines_below(text: str, start: int, stop: int, apart: bool) -> list[re.Match[str]]:
    """The lines of a list without bullets; none where that is not what stands below a head.

    Args:
        text: The text.
        start: The end of the head.
        stop: Where the next head begins.
        apart: Whether an empty line may stand between.
    """
    opens = _OPENS.match(text, start, stop)
    if opens is None or (opens["gap"] is not None and not apart):
        return []
    at, found, end = opens.end(), list[re.Match[str]](), len(text.rstrip())
    while (line := _LINE.match(text, at, stop)) is not None:
        if line["bullet"] or _CLOSES.match(line["line"]):
            break
        if found and line.end() >= end and _CONCLUDES.match(line["line"]):
            break
        if _SENTENCE.match(line["line"]) and not _BARE.fullmatch(line["line"]):
            break
        first = found[0]["line"][0] if found else line["line"][0]
        if first.islower() and line["line"][0].isupper() and not line["line"][1:2].isupper():
            break
        found.append(line)
        at = line.end()
    return found


def _in_lines(
    text: str, start: int, lines: list[re.Match[str]], word: str
) -> Iterator[tuple[Slip, tuple[int, int]]]:
    """What stands before the items of such lines: the head before the first, the end of a line before another."""
    for line in lines:
        begins, stop = line.start("line"), line.end()
        item = _BARE.match(text, begins, stop)
        if item is None or _denies(item["item"]) or _COUNTED.search(item["item"]):
            continue
        if line is lines[0]:
            yield Slip(start, begins, f"{word} "), item.span("item")
        else:
            yield Slip(line.start("end"), begins, f", {word} "), item.span("item")
        for further in _BELOW.finditer(text, item.end(), stop):
            if not _denies(further["item"]):
                yield Slip(*further.span("mark"), f", {word}"), further.span("item")


def _denies(item: str) -> bool:
    """Whether an item says by itself that something is not there."""
    return _DENIES.search(_NO_WORTH.sub("", item)) is not None


def _before(text: str, at: int) -> str:
    return text[max(0, at - _BEFORE) : at]

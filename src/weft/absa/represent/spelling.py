"""Characters that a tokenizer has no piece for, in those that it has: quotes as phones write them, emoji as words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from html import unescape
from html.entities import html5
from typing import TypeAlias

Written: TypeAlias = Callable[[re.Match[str]], str]
"""What is shown for markup that was found."""
APOSTROPHES = "'’ʼ‘"
"""As keyboards and phones write them."""
HYPHENS = "-‐‑"
_EMPTY_WORDS = frozenset({"sign", "heavy", "black", "white", "with", "face"})
_EMOJI_MARKS = "\ufe0f\u200d\ufffd"
_LETTERS = {"ø": "o", "ł": "l", "ß": "ss", "æ": "ae", "œ": "oe", "đ": "d", "ð": "d", "þ": "th", "ı": "i"}
_MARKUP = re.compile(
    r"&(?:(?P<number>#(?:\d{1,7}|x[0-9a-f]{1,6});)|(?P<name>[a-z]\w{1,30};))"
    r"|(?P<cell>_x000[ad]_)"
    r"|(?P<tag></?(?:br|p|div|li|ul|ol|a|b|i|u|em|strong|span|h[1-6])"
    r"(?:\s+[\w:-]+=(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s<>\"']+))*\s*/?>)",
    re.IGNORECASE,
)
"""What pages write for a character, and around words, and workbooks for the end of a line."""
_NEW_LINE = re.compile(r"</?(?:br|p|div|li|ul|ol|h[1-6])\b", re.IGNORECASE)
_LINE_ENDS = "\r\v\f\x85\u2028\u2029"
_OTHER_BLANKS = re.compile(r"(?P<before>\r)(?=\n)|[^\S\n ]")
_WRITTEN = {
    **dict.fromkeys("’‘ʼ‛′´", "'"),
    **dict.fromkeys("“”„‟«»‹›″", '"'),
    **dict.fromkeys("‐‑‒–—―−•‣·", "-"),
    **dict.fromkeys("€£¥₹₩₽₺₴₫₱₦₪", "$"),
    "⁄": "/",
    **_LETTERS,
    **{letter.upper(): plain.title() for letter, plain in _LETTERS.items() if len(letter.upper()) == 1},
}
"""What is written for a character: its plain form, or for a currency the one that every tokenizer knows."""


def spelled(text: str, known: Callable[[str], bool]) -> tuple[str, list[tuple[int, int]] | None]:
    """A text in characters that a tokenizer knows, and the place of each new character in the text.

    Emoji become words. A typographic quote, dash, ellipsis or bullet, a ligature, a fraction, a letter such as "ø" or a
    currency sign that the tokenizer has no piece for becomes what stands nearest in ASCII; without that a "wasn’t" is
    ``wasn [UNK] t``. Whatever else is unknown stays. What a web page wrote is read as the page shows it: ``&#39;`` is
    an apostrophe, a tag such as ``<br />`` a space.

    Args:
        text: The text.
        known: Whether the tokenizer has pieces for a character.

    Returns:
        The spelled text; first character and last + 1 of what each of its characters stands for, None where nothing
        changed.
    """
    if text.isascii() and not _MARKUP.search(text):
        return text, None
    units = list(_shown(text, _written_for))
    emoji = any(unicodedata.category(character) == "So" for _, _, shown in units for character in shown)
    parts: list[str] = []
    places: list[tuple[int, int]] = []
    for start, stop, shown in units:
        part = "".join(_spell(character, known, emoji) for character in shown)
        parts.append(part)
        places += [(start, stop)] * len(part)
    whole = "".join(parts)
    return (text, None) if whole == text else (whole, places)


def shown(text: str) -> str:
    """A text as a web page shows it: characters for what is written for them, spaces for tags."""
    return _MARKUP.sub(_written_for, text)


def shown_in_place(text: str) -> str:
    """As :func:`shown`, in lines, with spaces behind, so that every other character stays where it is."""
    return _MARKUP.sub(lambda match: _laid(match).ljust(len(match[0])), text)


def laid_out(text: str) -> tuple[str, list[tuple[int, int]] | None]:
    """As :func:`as_shown`, in lines as a web page shows it: a tag that begins a line is a new line.

    Every end of a line is a line feed, every other blank a space.
    """
    laid, places = _placed(text, _laid)
    return _OTHER_BLANKS.sub(
        lambda match: " " if match["before"] or match[0] not in _LINE_ENDS else "\n", laid
    ), places


def as_shown(text: str) -> tuple[str, list[tuple[int, int]] | None]:
    """A text as :func:`shown` gives it, and the place of each new character in the text; None where nothing changed."""
    return _placed(text, _written_for)


def _placed(text: str, written: Written) -> tuple[str, list[tuple[int, int]] | None]:
    if not _MARKUP.search(text):
        return text, None
    units = list(_shown(text, written))
    whole = "".join(shown for _, _, shown in units)
    if whole == text:
        return text, None
    return whole, [(start, stop) for start, stop, shown in units for _ in shown]


def _laid(match: re.Match[str]) -> str:
    return "\n" if match["tag"] is not None and _NEW_LINE.match(match["tag"]) else _written_for(match)


def _written_for(match: re.Match[str]) -> str:
    """The character that an entity stands for, a space for a tag or an end of a line; what is neither, as it is."""
    if match["tag"] is not None or match["cell"] is not None:
        return " "
    entity = match["number"] or (match["name"] if match["name"] in html5 else None)
    return match[0] if entity is None else unescape(f"&{entity}")


def _shown(text: str, written_for: Written) -> Iterator[tuple[int, int, str]]:
    """The characters of a text as a web page shows it, and the first and last + 1 of what is written for each."""
    at = 0
    for match in _MARKUP.finditer(text):
        written = written_for(match)
        if written == match[0]:
            continue
        yield from ((place, place + 1, text[place]) for place in range(at, match.start()))
        yield match.start(), match.end(), written
        at = match.end()
    yield from ((place, place + 1, text[place]) for place in range(at, len(text)))


def _spell(character: str, known: Callable[[str], bool], emoji: bool) -> str:
    if character.isascii():
        return character
    word = _word(character) if emoji else None
    if word is not None:
        return word
    return character if known(character) else _plain(character)


def _word(character: str) -> str | None:
    """An emoji's name, a space for the marks between two and for what could not be decoded; None for another."""
    if unicodedata.category(character) == "So" and character not in _EMOJI_MARKS:
        name = unicodedata.name(character, "").lower()
        return f" {' '.join(word for word in re.split('[- ]', name) if word not in _EMPTY_WORDS)} "
    if character in _EMOJI_MARKS or (unicodedata.category(character) == "Sk" and character not in _WRITTEN):
        return " "
    return None


def is_emoji(character: str) -> bool:
    """Whether a character is an emoji, or a mark that makes one of several."""
    return character in _EMOJI_MARKS or (
        len(character) == 1 and unicodedata.category(character) in ("So", "Sk")
    )


def _plain(character: str) -> str:
    """What is written for a character in ASCII; itself where there is nothing."""
    if character in _WRITTEN:
        return _WRITTEN[character]
    parts = (_WRITTEN.get(part, part) for part in unicodedata.normalize("NFKD", character))
    plain = "".join(part for part in parts if not unicodedata.combining(part))
    return plain if plain and plain.isascii() and plain.isprintable() else character

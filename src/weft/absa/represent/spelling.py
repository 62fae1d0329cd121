"""Characters that a tokenizer has no piece for, in those that it has: quotes as phones write them, emoji as words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

_EMPTY_WORDS = frozenset({"sign", "heavy", "black", "white", "with", "face"})
_EMOJI_MARKS = "\ufe0f\u200d"
_LETTERS = {"ø": "o", "ł": "l", "ß": "ss", "æ": "ae", "œ": "oe", "đ": "d", "ð": "d", "þ": "th", "ı": "i"}
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


def spelled(text: str, known: Callable[[str], bool]) -> tuple[str, list[int] | None]:
    """A text in characters that a tokenizer knows, and each new character's place in the text.

    Emoji become words. A typographic quote, dash, ellipsis or bullet, a ligature, a fraction, a letter such as "ø" or a
    currency sign that the tokenizer has no piece for becomes what stands nearest in ASCII; without that a "wasn’t" is
    ``wasn [UNK] t``. Whatever else is unknown stays.

    Args:
        text: The text.
        known: Whether the tokenizer has pieces for a character.

    Returns:
        The spelled text and the places, None where nothing changed.
    """
    if text.isascii():
        return text, None
    emoji = any(unicodedata.category(character) == "So" for character in text)
    parts: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        part = _word(character) if emoji else None
        if part is None:
            part = character if character.isascii() or known(character) else _plain(character)
        parts.append(part)
        places += [place] * len(part)
    whole = "".join(parts)
    return (text, None) if whole == text else (whole, places)


def _word(character: str) -> str | None:
    """An emoji's name, a space for the marks between two; None for another character."""
    if unicodedata.category(character) == "So":
        name = unicodedata.name(character, "").lower()
        return f" {' '.join(word for word in re.split('[- ]', name) if word not in _EMPTY_WORDS)} "
    if character in _EMOJI_MARKS or (unicodedata.category(character) == "Sk" and character not in _WRITTEN):
        return " "
    return None


def _plain(character: str) -> str:
    """What is written for a character in ASCII; itself where there is nothing."""
    if character in _WRITTEN:
        return _WRITTEN[character]
    parts = (_WRITTEN.get(part, part) for part in unicodedata.normalize("NFKD", character))
    plain = "".join(part for part in parts if not unicodedata.combining(part))
    return plain if plain and plain.isascii() and plain.isprintable() else character

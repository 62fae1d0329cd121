"""What there is to say about how a text is read, beside the answers."""

from __future__ import annotations

from itertools import islice

from weft.absa.represent.speakers import stated_by_others
from weft.absa.represent.spelling import shown
from weft.absa.use.asker import Asker
from weft.platform.language import foreign

FOREIGN = "the text seems to be in another language than English"
MENDED = "read as meant"
LEFT_OUT = "left out, as those who answer state it"
_SEPARATORS = ",;|/"
"""What keeps the items of a list apart says nothing by itself."""
_JOINING = ":=–|- "
"""What stands between an item and its rating."""
_LONGEST = 40
"""Characters of a word or option that are shown."""
_NAMED = 3
"""So many mended words are named."""


def notes_on(text: str, asker: Asker) -> list[str]:
    """What there is to say: a language that the model does not read, words that are read as others, sentences left out.

    Args:
        text: The text.
        asker: The model that is asked.
    """
    language = foreign(text) if asker.config.english else None
    found = [] if language is None else [f"{FOREIGN}: {language}"]
    mended = dict.fromkeys(
        f"{_seen(text[start:stop])} as {_said(word)}"
        for start, stop, word in asker.representation.mended(text)
        if _says(shown(text[start:stop]), word)
    )
    if mended:
        more = f", and {len(mended) - _NAMED} more" if len(mended) > _NAMED else ""
        found.append(f"{MENDED}: {', '.join(islice(mended, _NAMED))}{more}")
    stated = list(stated_by_others(text)) if asker.representation.as_meant else []
    if stated:
        more = f", and {len(stated) - 1} more" if len(stated) > 1 else ""
        found.append(f"{LEFT_OUT}: {_cut(' '.join(text[slice(*stated[0])].split()))}{more}")
    return found


def _says(written: str, word: str) -> bool:
    """Whether it is worth saying that this is read so: not of what joins items, nor of a box that is ticked."""
    if any(map(str.isalnum, word)):
        return written.strip() not in _SEPARATORS
    return sum(map(str.isalpha, written)) > 1


def _seen(part: str) -> str:
    """What is written, without what joins a rating to its item."""
    seen = " ".join(shown(part).split())
    return _cut(seen.lstrip(_JOINING) or seen)


def _said(word: str) -> str:
    """What a rating is read as, without what joins it to its neighbours; of what is left out, why."""
    return _cut(word.strip(",. ").removeprefix("is ")) or "not ticked"


def _cut(words: str) -> str:
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"

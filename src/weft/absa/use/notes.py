"""What there is to say about how a text is read, beside the answers."""

from __future__ import annotations

from itertools import islice

from weft.absa.represent.spelling import shown
from weft.absa.use.asker import Asker
from weft.platform.language import foreign

FOREIGN = "the text seems to be in another language than English"
MENDED = "read as meant"
_SEPARATORS = ",;|/"
"""What keeps the items of a list apart says nothing by itself."""
_NAMED = 3
"""So many mended words are named."""


def notes_on(text: str, asker: Asker) -> list[str]:
    """That a text seems to be in a language which the model does not read, and which of its words are read as others.

    Args:
        text: The text.
        asker: The model that is asked.
    """
    language = foreign(text) if asker.config.english else None
    found = [] if language is None else [f"{FOREIGN}: {language}"]
    mended = dict.fromkeys(
        f"{' '.join(shown(text[start:stop]).split())} as {_said(word)}"
        for start, stop, word in asker.representation.mended(text)
        if shown(text[start:stop]).strip() not in _SEPARATORS
    )
    if mended:
        more = f", and {len(mended) - _NAMED} more" if len(mended) > _NAMED else ""
        found.append(f"{MENDED}: {', '.join(islice(mended, _NAMED))}{more}")
    return found


def _said(word: str) -> str:
    """What a rating is read as, without what joins it to its neighbours."""
    return word.strip(",. ").removeprefix("is ")

"""Is a text in English? The models read nothing else, and a wrong language should not pass unsaid."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

# Words that English has and its neighbours have not: what holds enough of them needs no closer look.
_COMMON = re.compile(
    r"\b(the|and|or|but|is|were|it|its|this|that|these|you|he|she|we|they|my|your|our|their|of|to|on|at|for|with|from|by|"
    r"not|very|too|have|has|had|do|does|did|would|could|are|been)\b"
)
_SURE = 0.6
"""The least share of a language that is believed; single words and exclamations stay below it."""


def foreign(text: str) -> str | None:
    """The code of the language that the text is in, where that is surely another than English; else None.

    Without py3langid (of the extra ``absa``) nothing is known, and nothing is said.
    """
    lower = text.lower()
    words = re.findall(r"[^\W\d_]+", lower)
    if len(_COMMON.findall(lower)) * 5 >= max(1, len(words)):
        return None
    identifier = _identifier()
    if not words or identifier is None:
        return None
    code, share = identifier.classify(text)
    return str(code) if code != "en" and share >= _SURE else None


@cache
def _identifier() -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        return None
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)

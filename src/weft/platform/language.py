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
_OTHER_SCRIPT = re.compile(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff]")
"""A letter that is none of the Latin ones."""
_LIKELY = 0.2
"""The least share where a word of that language stands in the text that no English text has."""

# Of the languages that reviews are most often in: words of grammar, none of which English has.
_OWN = {
    code: frozenset(words.split())
    for code, words in {
        "de": "der dem ein eine einen einer ist sind sehr nicht kein keine und oder aber mit für ich wir mir "
        "mich nie zu wurde wird auch noch nur schon leider gut schlecht mehr beim zum zur im vom",
        "fr": "les une est sont très pas trop mais avec dans je nous ce cette cet des du au aux était ne "
        "il elle mon mes sa ses leur et",
        "es": "las una es muy pero para nada todo estaba está están fue su sus y más bien del al gusta "
        "demasiado que",
        "it": "il gli una è sono molto non di del della troppo più anche che lo ho nel alla",
        "nl": "het een zijn niet zeer heel veel te maar met voor ik wij geen en ook erg naar",
        "pt": "uma é são muito não com para estava está foi mas da dos ao gostei bom",
    }.items()
}


def foreign(text: str) -> str | None:
    """The code of the language that the text is in, where that is surely another than English; else None.

    A text of few words gives py3langid little: there words of grammar of one language that English has not are
    believed, two of them, or one of the language that is likeliest. Names say nothing: they are where people come from.
    """
    lower = text.lower()
    words = re.findall(r"[^\W\d_]+", lower)
    if len(_COMMON.findall(lower)) * 5 >= max(1, len(words)):
        return None
    identifier = _identifier()
    if not words or identifier is None:
        return None
    code, share = identifier.classify(text)
    if code == "en":
        return None
    if share >= _SURE and not _by_names_alone(text, identifier):
        return str(code)
    told = {name: len(own.intersection(words)) for name, own in _OWN.items()}
    name = max(told, key=lambda name: (told[name], name == code))
    return name if told[name] > 1 or (told[name] and name == code and share >= _LIKELY) else None


def _by_names_alone(text: str, identifier: Any) -> bool:
    """Whether a text is foreign by its names: what is no name in it is English, or there is nothing else.

    "Bo Ek was born in Malmö." is Afrikaans to py3langid, and "was born in" is English. Of a text in capitals, or in a
    script without them, nothing can be told apart.
    """
    words = re.findall(r"[^\W\d_]+", text)
    if not any(word.istitle() for word in words) or _OTHER_SCRIPT.search(text):
        return False
    others = " ".join(word for word in words if not word[0].isupper())
    return not others or identifier.classify(others)[0] == "en"


@cache
def _identifier() -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        return None
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)

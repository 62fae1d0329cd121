"""SentiHood: a sentence about one or two London neighbourhoods, an opinion per (target, aspect).

The file is a JSON list of ``{"id", "text", "opinions": [{"target_entity", "aspect", "sentiment"}]}``;
targets are already written LOCATION1 and LOCATION2. Every (target in the text, aspect) is a question,
and what has no opinion is ``none``.

Source: Saeidi et al. 2016, "SentiHood: Targeted Aspect Based Sentiment Analysis Dataset for Urban
Neighbourhoods", section 3; the four frequent aspects and the task form are the published ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from weft.absa.records import SENTIHOOD_POLARITIES, Context, Corpus, Problems, Sentence, is_utf8
from weft.errors import InputError, with_article
from weft.platform.reading import read_json

TARGETS = ("LOCATION1", "LOCATION2")
FREQUENT_ASPECTS = ("general", "price", "transit-location", "safety")
ALL_ASPECTS = (
    *FREQUENT_ASPECTS,
    "dining",
    "green-nature",
    "live",
    "multicultural",
    "nightlife",
    "quiet",
    "shopping",
    "touristy",
)
_POLARITY = {"Positive": "positive", "Negative": "negative"}


def read_sentihood(path: Path, aspects: Sequence[str] = FREQUENT_ASPECTS) -> Corpus:
    """Read a SentiHood JSON file.

    Args:
        path: The file.
        aspects: The aspects to ask about, with a gloss or without; opinions on others are ignored.

    Returns:
        One sentence per usable entry with a context for every (target in the text, aspect), targets
        first. An entry that cannot be used is listed in ``problems``.

    Raises:
        InputError: The file is missing, is not JSON, or is not a list; no opinion is about an aspect, and SentiHood
            does not have it.
    """
    entries = read_json(path)
    if not isinstance(entries, list):
        raise InputError(
            f"{with_article(type(entries).__name__)} at the top, not a list of sentences", where=str(path)
        )
    problems = Problems()
    _check_aspects(entries, aspects, path)
    sentences: list[Sentence] = []
    for number, entry in enumerate(entries, start=1):
        where = f"{path.name} entry {number}"
        try:
            sentence = _sentence(entry, aspects, where)
        except InputError as error:
            problems.add(where, error.what)
        else:
            sentences.append(sentence)
    return Corpus(tuple(sentences), SENTIHOOD_POLARITIES, problems)


def _sentence(entry: Any, aspects: Sequence[str], where: str) -> Sentence:
    if not isinstance(entry, dict):
        raise InputError(f"{with_article(type(entry).__name__)}, not an object")
    text, opinions = entry.get("text"), entry.get("opinions")
    if not isinstance(text, str):
        raise InputError("no text")
    if not is_utf8(text):
        raise InputError("the text is not UTF-8")
    if not isinstance(opinions, list):
        raise InputError("no list of opinions")
    found = [target for target in TARGETS if target in text]
    if not found:
        raise InputError("neither LOCATION1 nor LOCATION2 is in the text")
    gold: dict[Context, str] = {}
    for opinion in opinions:
        context, polarity = _opinion(opinion, found)
        if gold.setdefault(context, polarity) != polarity:
            raise InputError(f"two different sentiments for {context.target} / {context.aspect}")
    contexts = tuple(Context(aspect, target) for target in found for aspect in aspects)
    answers = (gold.get(Context(_name(context.aspect), context.target), "none") for context in contexts)
    return Sentence(text.strip(), contexts, tuple(answers), where)


def _name(aspect: str) -> str:
    """The aspect as the files write it: in small letters, without a gloss."""
    return aspect.partition(":")[0].strip().lower()


def _check_aspects(entries: Sequence[Any], aspects: Sequence[str], path: Path) -> None:
    """Raise where no opinion is about an aspect that is no known one either: every answer would be ``none``."""
    opinions = [
        opinion
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("opinions"), list)
        for opinion in entry["opinions"]
        if isinstance(opinion, dict)
    ]
    there = {*ALL_ASPECTS, *(str(opinion.get("aspect")) for opinion in opinions)}
    for aspect in aspects:
        if _name(aspect) not in there:
            near = get_close_matches(_name(aspect), there, n=1)
            hint = f"is {near[0]!r} meant?" if near else f"there are {', '.join(sorted(there))}"
            raise InputError(f"no opinion is about the aspect {aspect!r}", where=str(path), hint=hint)


def _opinion(opinion: Any, found: Sequence[str]) -> tuple[Context, str]:
    if not isinstance(opinion, dict):
        raise InputError("an opinion that is not an object")
    target, aspect, sentiment = (opinion.get(key) for key in ("target_entity", "aspect", "sentiment"))
    if target not in found:
        raise InputError(f"an opinion about {target!r}, which is not in the text")
    if not isinstance(aspect, str) or not aspect:
        raise InputError(f"an opinion with aspect {aspect!r}")
    if not isinstance(sentiment, str) or sentiment not in _POLARITY:
        raise InputError(f"sentiment {sentiment!r}; it must be Positive or Negative")
    return Context(aspect, target), _POLARITY[sentiment]

"""Items of lists that judge by themselves."""

from __future__ import annotations

from weft.absa.find.spans import spans_of_windows
from weft.absa.use.asker import Asker

_SENTENCE = "{}."
"""In which the item of a list is looked at by itself."""


def judging_alone(asker: Asker, items: set[str]) -> frozenset[str]:
    """Those of the items of lists that judge by themselves and name nothing: "cheap", and no "lift".

    In a list of few words the tagger takes things for judgements; by itself it knows them apart.
    """
    asked = sorted(items)
    sentences = [_SENTENCE.format(item) for item in asked]
    place = _SENTENCE.index("{}")
    return frozenset(
        item
        for item, sentence, rows in zip(asked, sentences, asker.tags(sentences), strict=True)
        for spans in (spans_of_windows(sentence, rows),)
        if any(s.start < place + len(item) and s.stop > place for s in spans)
        and all(s.kind == "opinion" for s in spans)
    )

"""SemEval-2014 Task 4, restaurants: a sentence and the polarity of each of five aspect categories.

Source: Pontiki et al. 2014, "SemEval-2014 Task 4: Aspect Based Sentiment Analysis", subtasks 3 and 4.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from weft.absa.records import SEMEVAL_POLARITIES, Context, Corpus, Problems, Sentence
from weft.errors import InputError

CATEGORIES = ("price", "anecdotes/miscellaneous", "food", "ambience", "service")


def read_semeval(path: Path) -> Corpus:
    """Read a SemEval-2014 XML file.

    Returns:
        One sentence per usable element, asked about all five categories without a target; what has no
        label is ``none``. A sentence that cannot be used is listed in ``problems``.

    Raises:
        InputError: The file is missing or is not XML with ``<sentence>`` elements.
    """
    problems = Problems()
    sentences: list[Sentence] = []
    found = 0
    try:
        # Elements are dropped as they are read, and an entity is never expanded from outside the file.
        for _, element in ElementTree.iterparse(path, events=("end",)):
            if element.tag != "sentence":
                continue
            found += 1
            where = f"{path.name} sentence {element.get('id') or found}"
            try:
                sentences.append(_sentence(element, where))
            except InputError as error:
                problems.add(where, error.what)
            element.clear()
    except OSError as error:
        raise InputError(f"cannot read it: {error.strerror}", where=str(path)) from error
    except ElementTree.ParseError as error:
        line, column = error.position
        raise InputError("not well-formed XML", where=f"{path} line {line} column {column}") from error
    if not found:
        raise InputError("no <sentence> element", where=str(path))
    return Corpus(tuple(sentences), SEMEVAL_POLARITIES, problems)


def _sentence(element: ElementTree.Element, where: str) -> Sentence:
    text = element.findtext("text")
    if text is None or not text.strip():
        raise InputError("no text")
    gold: dict[str, str] = {}
    for category in element.iter("aspectCategory"):
        name, polarity = category.get("category"), category.get("polarity")
        if name not in CATEGORIES:
            raise InputError(f"category {name!r}; known are {', '.join(CATEGORIES)}")
        if polarity not in SEMEVAL_POLARITIES[1:]:
            raise InputError(f"polarity {polarity!r}; known are {', '.join(SEMEVAL_POLARITIES[1:])}")
        if gold.setdefault(name, polarity) != polarity:
            raise InputError(f"two different polarities for {name}")
    contexts = tuple(Context(name) for name in CATEGORIES)
    return Sentence(text.strip(), contexts, tuple(gold.get(name, "none") for name in CATEGORIES), where)

"""SemEval-2014 Task 4, restaurants: a sentence, the polarity of five aspect categories, and that of its aspect terms.

Source: Pontiki et al. 2014, "SemEval-2014 Task 4: Aspect Based Sentiment Analysis", subtasks 2 to 4.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element

from weft.absa.read.elements import elements
from weft.absa.records import CONFLICT, NONE, SEMEVAL_POLARITIES, Context, Corpus, Problems, Sentence
from weft.errors import InputError

CATEGORIES = ("price", "anecdotes/miscellaneous", "food", "ambience", "service")
_OTHER_EDITIONS = {"Opinion": "SemEval-2015 and 2016", "aspectTerm": "SemEval-2014's laptops, too"}
TERM_ASPECT = "opinion"
"""What is asked of an aspect term: whatever is felt about it."""


def read_semeval(path: Path, *, terms: bool = False) -> Corpus:
    """Read a SemEval-2014 XML file.

    Args:
        path: The file.
        terms: Also ask about every aspect term, as the target, what the opinion is. A term that stands in a text
            twice and is not felt the same about is ``conflict``.

    Returns:
        One sentence per usable element, asked about all five categories without a target; what has no
        label is ``none``. A sentence that cannot be used is listed in ``problems``.

    Raises:
        InputError: The file is missing, is not XML with ``<sentence>`` elements, or has no category at all: those of
            laptops and of later years have none.
    """
    problems = Problems()
    sentences: list[Sentence] = []
    found = categories = 0
    other = ""
    for element in elements(path):
        if element.tag in _OTHER_EDITIONS:
            other = f"; <{element.tag}> is of {_OTHER_EDITIONS[element.tag]}"
        if element.tag != "sentence":
            continue
        found += 1
        categories += element.find(".//aspectCategory") is not None
        where = f"{path.name} sentence {element.get('id') or found}"
        try:
            sentences.append(_sentence(element, where, terms))
        except InputError as error:
            problems.add(where, error.what)
    if not categories:
        raise InputError(
            f"no <aspectCategory>: nothing says what its sentences judge{other}",
            where=str(path),
            hint="SemEval-2014's restaurants are read; others as a table with text, aspect, target and polarity",
        )
    return Corpus(tuple(sentences), SEMEVAL_POLARITIES, problems)


def _sentence(element: Element, where: str, terms: bool) -> Sentence:
    text = element.findtext("text")
    if text is None or not text.strip():
        raise InputError("no text")
    gold: dict[str, str] = {}
    for category in element.iter("aspectCategory"):
        name, polarity = category.get("category"), _polarity(category)
        if name not in CATEGORIES:
            raise InputError(f"category {name!r}; known are {', '.join(CATEGORIES)}")
        if gold.setdefault(name, polarity) != polarity:
            raise InputError(f"two different polarities for {name}")
    answers = {Context(name): gold.get(name, NONE) for name in CATEGORIES}
    for term in element.iter("aspectTerm") if terms else ():
        name, polarity = term.get("term", "").strip(), _polarity(term)
        if not name or name not in text:
            raise InputError(f"the aspect term {name!r} is not in the text")
        context = Context(TERM_ASPECT, name)
        answers[context] = polarity if answers.get(context, polarity) == polarity else CONFLICT
    return Sentence(text.strip(), tuple(answers), tuple(answers.values()), where)


def _polarity(element: Element) -> str:
    polarity = element.get("polarity", "")
    if polarity not in SEMEVAL_POLARITIES[1:]:
        raise InputError(f"polarity {polarity!r}; known are {', '.join(SEMEVAL_POLARITIES[1:])}")
    return polarity

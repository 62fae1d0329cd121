"""Finds what texts judge: the tagger's terms, asked about one by one, put into categories."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from weft.absa.checks import check_threshold
from weft.absa.find.domain import Category, Phrases
from weft.absa.find.finding import Finding
from weft.absa.find.grouping import Grouping, Said
from weft.absa.find.items import judging_alone
from weft.absa.find.nearby import Places, by_category
from weft.absa.find.places import items_of, name_in, passages, sides_below_heads, with_items, within
from weft.absa.find.spans import Span, nearest, spans_of_windows, words_as_read
from weft.absa.model.weft_absa import WeftAbsa
from weft.absa.records import NONE, Context, Sentence, Side
from weft.absa.represent.meant import named_by_layout
from weft.absa.represent.spelling import shown_in_place
from weft.absa.use.asker import Asker
from weft.absa.use.decide import decide
from weft.absa.use.sides import knows_sides, leaning, rest_of, side_of_each
from weft.absa.use.windows import sentence_begins
from weft.errors import ConfigError, InputError

GENERAL = "general"
"""The aspect that the passage of a term is asked about, and a text without terms."""
_ASKED_LIMIT = 0.05
"""From which share an opinion counts about a term in an answer to a question of praise or of blame."""
_CATEGORY_LIMIT = 0.6
"""From which share an opinion counts about a category of the user's of which the text has no word: near categories of
one field ("route planning", "map detail") are all spoken of a little. Chosen by ``benchmarks/absa_compared.py``."""
_ALL = frozenset({"everything", "all", "all of it", "it all", "the lot", "everything else"})
"""Terms that name no category of their own."""


class Finder:
    """Finds what texts judge.

    A term is asked about twice: the whole text about it as an aspect, its passage (:func:`passages`) about it as a
    target. The geometric mean of both is what is said of it. Where several sentences name it and the passage of one of
    them judges it, each passage is asked alone: praise and blame of one thing in two sentences are two judgements, and
    a place that only names what another judges is none. Where none does, each place has its mean. What is said of a
    term in one way counts once in a passage, however often that names it. One that is answered ``none``, as in a
    question or a plain fact, is no finding.

    Where lists are read as words, an item of a list, or what a face stands behind, is a term where the tagger finds
    none in it; one that judges by itself ("+ cheap") names nothing, and is of its category.

    What a text was asked for, or what the head says that a term stands below, moves which opinion it is
    (:func:`weft.absa.use.sides.leaning`), and there nearly all that is named is judged.

    Args:
        asker: A model with a tagger.
        categories: What terms are grouped by; without any, findings have no category.
        ask: Whether each text is also asked about every category, so that a judgement is found that names nothing. One
            that names nothing and is about none of them is ``general``.
        faint: Whether such judgements are also told where they are only as sure as an answer must be.
        abstain: The polarity is ``unsure`` where its confidence is below this; None tells each.

    Raises:
        ConfigError: The model finds no terms; ``abstain`` outside [0, 1].
    """

    def __init__(
        self,
        asker: Asker,
        categories: Sequence[Category] = (),
        ask: bool = False,
        faint: bool = False,
        abstain: float | None = None,
    ) -> None:
        if abstain is not None:
            check_threshold("abstain", abstain)
        module = asker.module
        if not isinstance(module, WeftAbsa) or module.terms is None:
            raise ConfigError(
                "this model finds no terms by itself", hint="name an aspect, or take the model absa-any"
            )
        self.asker, self._whole = asker, asker.in_whole()
        config = asker.config
        self._listed_limit = config.threshold
        self._limit = config.threshold if config.term_threshold is None else config.term_threshold
        self._by_layout = config.options.as_meant and knows_sides(config.polarities)
        self.group = Grouping(asker, categories) if categories else None
        self._asked = list(categories) if ask else []
        self._faint = faint
        self._abstain = abstain
        self._words_of = Phrases(self._asked)

    def find(
        self, texts: Sequence[str], sides: Side | Sequence[Side | None] | None = None
    ) -> list[list[Finding]]:
        """What each text judges, in the order of the text; what is not named comes last.

        Args:
            texts: The texts.
            sides: What they were asked for, where a form asks for what was good (``"pros"``) and for what was not
                (``"cons"``): one for all, or one for each.

        Raises:
            ConfigError: Sides, and the model's classes know no praise or blame.
            InputError: One text in place of a list of them; sides of another number, or what is none.
        """
        if isinstance(texts, str):
            raise InputError("one text in place of a list of texts", hint="find([text])")
        asked_for = side_of_each(texts, sides, self.asker.classes_)
        texts = [*map(self.asker.representation.unlabelled, texts)]
        tagged = self.asker.tags(texts)
        spans = [spans_of_windows(text, rows) for text, rows in zip(texts, tagged, strict=True)]
        listed: list[list[tuple[int, int]]] = [[] for _ in texts]
        if self.asker.config.options.as_meant:
            listed = [named_by_layout(text) for text in texts]
            spans = [
                with_items(text, found, items)
                for text, found, items in zip(texts, spans, listed, strict=True)
            ]
            judge = judging_alone(self.asker, {*items_of(texts, spans, listed)})
        else:
            judge = frozenset[str]()
        terms = [[span for span in found if span.kind != "opinion"] for found in spans]
        groups = self._groups(texts, terms)
        sentences = [self._questions(text, found) for text, found in zip(texts, terms, strict=True)]
        places = [passages(text, found) for text, found in zip(texts, terms, strict=True)]
        # Of what was asked for there is nothing: what is left of the text may judge, and else nothing does.
        rests = [rest_of(text, side) for text, side in zip(texts, asked_for, strict=True)]
        asked = sentences + [self._questions(rest, []) for rest in rests if rest]
        asked += [
            Sentence(text[start:stop], (Context(GENERAL, text[term.start : term.stop]),))
            for text, found, own in zip(texts, terms, places, strict=True)
            for term, (start, stop) in zip(found, own, strict=True)
        ]
        answers = iter(self._whole.answer(asked) if asked else [])
        rows, near_of = by_category(
            self.asker,
            sentences,
            [next(answers) for _ in sentences],
            [Context(category.question) for category in self._asked],
        )
        unnamed = [next(answers) if rest else None for rest in rests]
        results: list[list[Finding]] = []
        for sentence, found, all_spans, own, answer, group, items, side, rest, row, where in zip(
            sentences,
            terms,
            spans,
            places,
            rows,
            groups,
            listed,
            asked_for,
            rests,
            unnamed,
            near_of,
            strict=True,
        ):
            near = [next(answers)[0] for _ in own]
            # One that says that there is nothing to name is read without its side.
            own_side = side if rest is None else None
            leans: list[Side | None] = [own_side for _ in found]
            if side is None and self._by_layout:
                leans = sides_below_heads(sentence.text, found)
            said = self._heard(sentence, found, answer, near, items, leans)
            placed = {at: (own[at], row) for at, row in said.items()}
            whole = leaning(answer, own_side, self.asker.classes_)
            if rest is not None:
                asked_of_all = self._questions(sentence.text, []).contexts
                whole = whole.copy()
                whole[[*map(sentence.contexts.index, asked_of_all)]] = (
                    np.eye(len(self.asker.classes_))[0] if row is None else row
                )
            own_judge = judge & {*items_of([sentence.text], [all_spans], [items])}
            findings = self._findings(
                sentence, found, all_spans, whole, placed, group, own_judge, own_side is not None, where
            )
            results.append([finding.told_from(self._abstain) for finding in findings])
        return results

    def _heard(
        self,
        sentence: Sentence,
        terms: Sequence[Span],
        rows: NDArray[np.float64],
        near: Sequence[NDArray[np.float64]],
        listed: Sequence[tuple[int, int]],
        leans: Sequence[Side | None],
    ) -> dict[int, NDArray[np.float64]]:
        """Probabilities of what is said of each term that is judged, by its number.

        Args:
            sentence: The whole text, asked about each term as an aspect.
            terms: In order.
            rows: What it answers.
            near: What the passage of each term says of it as a target.
            listed: Items of lists: what a list names is judged, so that they have the threshold of questions.
            leans: What each term was asked for; what is named in answer to a question is judged, too.
        """
        text, number = sentence.text, {context: n for n, context in enumerate(sentence.contexts)}
        begins = sentence_begins(text)
        classes = self.asker.classes_
        near = [leaning(row, side, classes) for row, side in zip(near, leans, strict=True)]
        limits = [
            _ASKED_LIMIT if side is not None else self._listed_limit if within(listed, term) else self._limit
            for term, side in zip(terms, leans, strict=True)
        ]
        judges = [bool(decide(row[None], limit)[0]) for row, limit in zip(near, limits, strict=True)]
        named: dict[str, set[int]] = {}
        for term in terms:
            named.setdefault(name_in(text, term), set()).add(bisect_right(begins, term.start))
        apart = {
            name_in(text, term)
            for term, own in zip(terms, judges, strict=True)
            if own and len(named[name_in(text, term)]) > 1
        }
        found: dict[int, NDArray[np.float64]] = {}
        for place, (term, own, row) in enumerate(zip(terms, judges, near, strict=True)):
            if name_in(text, term) in apart:
                if own:
                    found[place] = row
                continue
            whole = leaning(rows[number[Context(text[term.start : term.stop])]], leans[place], classes)
            both = np.sqrt(row * whole)
            if decide(both[None], limits[place])[0]:
                found[place] = both / both.sum()
        return found

    def _groups(self, texts: Sequence[str], terms: Sequence[Sequence[Span]]) -> list[dict[Span, str | None]]:
        """The category of each term of each text, by what its sentence says."""
        if self.group is None:
            return [{} for _ in texts]
        said = [
            (number, term, said)
            for number, (text, own) in enumerate(zip(texts, terms, strict=True))
            for term, said in zip(own, self._said(text, own), strict=True)
        ]
        found: list[dict[Span, str | None]] = [{} for _ in texts]
        for (number, term, _), category in zip(said, self.group([one for *_, one in said]), strict=True):
            # A word of the user's decides also about "everything".
            whole = texts[number][term.start : term.stop].casefold() in _ALL
            found[number][term] = GENERAL if whole and (self.group.mapped or category is None) else category
        return found

    def _said(self, text: str, terms: Sequence[Span]) -> Iterator[Said]:
        """Each term in its sentence; one that reaches over what looks like its end is in both.

        Of the item of a list the others say nothing: it stands alone.
        """
        edges, meant = (
            [*sentence_begins(text), len(text)],
            words_as_read(self.asker.representation.mended(text), text, terms),
        )
        for term in terms:
            if term.kind == "item":
                yield Said(meant[term], text[term.start : term.stop], 0, term.stop - term.start)
                continue
            start = edges[bisect_right(edges, term.start) - 1]
            stop = edges[max(1, bisect_left(edges, term.stop))]
            yield Said(meant[term], text[start:stop], term.start - start, term.stop - start)

    def _questions(self, text: str, terms: Sequence[Span]) -> Sentence:
        contexts = [Context(text[term.start : term.stop]) for term in terms]
        contexts += [Context(category.question) for category in self._asked]
        contexts.append(Context(GENERAL))
        return Sentence(text, tuple(dict.fromkeys(contexts)))

    def _findings(
        self,
        sentence: Sentence,
        terms: Sequence[Span],
        spans: Sequence[Span],
        rows: NDArray[np.float64],
        said: dict[int, tuple[tuple[int, int], NDArray[np.float64]]],
        groups: dict[Span, str | None],
        judge: frozenset[str],
        judged: bool,
        near: Places,
    ) -> Iterator[Finding]:
        text, number = sentence.text, {context: n for n, context in enumerate(sentence.contexts)}
        judging: dict[int | None, list[Span]] = {}
        shown = shown_in_place(text)
        for span in spans:
            if span.kind == "opinion":
                judging.setdefault(nearest(shown, span, terms), []).append(span)
        covered = set[str]()
        meant = words_as_read(self.asker.representation.mended(text), text, terms)
        told: dict[tuple[str, tuple[int, int], str], Finding] = {}
        for place, (passage, row) in said.items():
            term = terms[place]
            words = text[term.start : term.stop]
            finding = self._named(
                text, term, row, judging.get(place, ()), meant[term], groups.get(term), judge
            )
            covered.add(finding.category or "")
            key = words.casefold(), passage, finding.polarity
            if (first := told.get(key)) is not None:
                finding = replace(
                    first, words=first.words + finding.words, places=first.places + finding.places
                )
            told[key] = finding
        yield from told.values()
        loose = [(place, span) for place, own in judging.items() if place not in said for span in own]
        # What stands beside a term that nobody judges is about the category of that term, or about the whole.
        of = {place: None if place is None else groups.get(terms[place]) for place, _ in loose}
        named = self._words_of.held(text)
        asked = [(n, Context(c.question), c.name) for n, c in enumerate(self._asked) if c.name not in covered]
        unnamed = [
            self._of_category(
                text,
                rows[number[context]],
                name,
                sorted(
                    span
                    for place, span in loose
                    if (place is None or of[place] == name)
                    and (context not in near or within([near[context]], span))
                ),
                n in named,
                near.get(context),
            )
            for n, context, name in asked
        ]
        if not said and all(one is None or one.faint for one in unnamed):
            every = sorted(span for _, span in loose)
            limit = _ASKED_LIMIT if judged and every else None
            unnamed.append(self._unnamed(text, rows[number[Context(GENERAL)]], GENERAL, every, limit))
        yield from filter(None, unnamed)

    def _named(
        self,
        text: str,
        term: Span,
        said: NDArray[np.float64],
        own: Sequence[Span],
        meant: str,
        category: str | None,
        judge: frozenset[str],
    ) -> Finding:
        """What is said of a term at one place, with the words that judge there."""
        words, opinions = text[term.start : term.stop], said[1:]
        best = int(opinions.argmax())
        polarity = self.asker.classes_[best + 1]
        if words in judge:
            place = (term.start, term.stop)
            return Finding(
                None, None, category or GENERAL, polarity, float(opinions[best]), (words,), (place,)
            )
        return Finding(
            words,
            (term.start, term.stop),
            category,
            polarity,
            float(opinions[best] / opinions.sum()),
            tuple(text[s.start : s.stop] for s in own),
            tuple((s.start, s.stop) for s in own),
            None if meant == words else meant,
        )

    def _of_category(
        self,
        text: str,
        row: NDArray[np.float64],
        category: str,
        words: Sequence[Span],
        named: bool,
        passage: tuple[int, int] | None,
    ) -> Finding | None:
        """What the text judges of a category of the user's; ``named``: the text has words of it."""
        limit = None if named else max(self.asker.config.threshold, _CATEGORY_LIMIT)
        found = self._unnamed(text, row, category, words, limit)
        if found is None and self._faint and (faint := self._unnamed(text, row, category, words)) is not None:
            found = replace(faint, faint=True)
        return None if found is None else replace(found, passage=passage)

    def _unnamed(
        self,
        text: str,
        row: NDArray[np.float64],
        category: str,
        words: Sequence[Span],
        limit: float | None = None,
    ) -> Finding | None:
        """What the text judges of a category without naming it; None where it does not."""
        answer = int(decide(row[None], self.asker.config.threshold if limit is None else limit)[0])
        polarity = self.asker.classes_[answer]
        if polarity == NONE:
            return None
        places = tuple((word.start, word.stop) for word in words)
        named = tuple(text[start:stop] for start, stop in places)
        return Finding(None, None, category, polarity, float(row[answer]), named, places)

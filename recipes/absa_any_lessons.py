"""Training questions for ``absa_any.py``: drawn anew in each epoch, names and wrong aspects included.

Of a review's opinions some are asked; beside them what nobody said: aspects of the same kind of thing of which the text
has no word, other categories of a source that lists all it judges, terms of other texts of the same domain.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random

import torch
from absa_any_lists import GENERAL, Aspect, words_of
from absa_any_long import Long
from absa_any_pairs import OPPOSITE
from absa_any_told import Teller

from weft.absa.learn.augment import join, rename
from weft.absa.read.reviews import Review, agreed
from weft.absa.read.sentihood import FREQUENT_ASPECTS, TARGETS
from weft.absa.records import CONFLICT, NONE, UNKNOWN, Context, Sentence

KINDS = {
    "restaurants": ("eat",),
    "laptops": ("device",),
    "televisions": ("device",),
    "t-shirts": ("shop", "device"),
    "apps": ("app", "shop"),
    "courses": ("course",),
}
_OPENINGS = (
    "{A}: {1} {B}: {2}",
    "At {A}: {1} At {B}: {2}",
    "{A} - {1} {B} - {2}",
    "First {A}. {1} Then {B}. {2}",
)
_TERM_ASPECTS = ("general", "general", "opinion", "overall")
_JOINTS = (", but ", ", while ", ". ", ", whereas ", "; ", ", and ", " - ", ", yet ", "! ", " . ")
SENTENCES = (2, 3, 4, 5, 6, 8, 10, 13, 16)
"""The most of a review that is put together of told ones."""
_LONG = 130
"""Characters of a text that is joined with another."""


@dataclass(frozen=True)
class Known:
    """What a review says, ready to be asked: answers by the words of the question, unclear aspects, torn ones."""

    review: Review
    terms: dict[str, str]
    categories: dict[str, str]
    aspects: dict[int, str]
    unclear: frozenset[int]
    torn: frozenset[int]

    @property
    def source(self) -> str:
        """The file that it is from: another one has other categories."""
        return self.review.where.split(" ")[0]


class Lessons:
    """Draws the sentences of a batch.

    Args:
        reviews: Reviews of all sources.
        places: SentiHood's sentences.
        made: How many rows of an epoch are made sentences.
        pairs: How many are two reviews in one text.
        aspects: The list of aspects.
        names: Names by kind.
        maker: Makes sentences.
        teller: Tells of what it does not name.
        told: How often each of the teller's sentences comes up in an epoch.
        unlabelled: How many questions a review is asked that only teachers answer.
        several: Share of the teller's sentences that come up once more with others, as one review.
        joined: How many rows are several reviews of one domain in one text.
    """

    def __init__(
        self,
        reviews: Sequence[Review],
        places: Sequence[Sentence],
        made: int,
        pairs: int,
        aspects: Sequence[Aspect],
        names: dict[str, list[str]],
        maker: Callable[[Random], Sentence],
        teller: Teller | None = None,
        told: int = 0,
        unlabelled: int = 0,
        several: float = 0.0,
        joined: int = 0,
    ) -> None:
        self.unlabelled, self.aspects, self.names = unlabelled, aspects, names
        self.general = next(i for i, aspect in enumerate(aspects) if aspect.names[0] == GENERAL)
        self._found: dict[tuple[str, str, bool], int | None] = {}
        self.known = [self._know(review) for review in reviews]
        self.places = places
        self.single: dict[tuple[str, int, str], list[Known]] = {}
        for known in self.known:
            if _joinable(known):
                for number, polarity in known.aspects.items():
                    key = (known.review.domain, number, polarity)
                    self.single.setdefault(key, []).append(known)
        every = Random(0)
        self.terms = {domain: self._common(domain, "terms") for domain in KINDS}
        self.categories = {domain: self._common(domain, "categories") for domain in KINDS}
        able = [known for known in self.known if _joinable(known)]
        firsts = [every.choice(able) for _ in range(pairs if able else 0)]
        single = [place for place in places if len({c.target for c in place.contexts}) == 1]
        every.shuffle(single)
        made_sentences = [maker(every) for _ in range(made)]
        # A row is what its batch is padded to: two texts in one are rows of their own.
        self._rows: list[Callable[[Random], Sentence]] = [
            *(partial(self._of_review, known) for known in self.known),
            *(partial(self._of_place, place) for place in places),
            *(partial(self._two_places, *two) for two in zip(single[::2], single[1::2], strict=False)),
            *(partial(_as_it_is, sentence) for sentence in made_sentences),
            *(partial(self._two_reviews, first) for first in firsts),
        ]
        whole = [known for known in self.known if known.review.complete and len(known.review.text) < _LONG]
        starts = [every.choice(whole) for _ in range(joined if whole else 0)]
        self.complete: dict[str, list[Known]] = {}
        for known in whole:
            self.complete.setdefault(known.source, []).append(known)
        self._rows += [partial(self._of_several, known) for known in starts]
        texts = [3 * known.review.text for known in starts]
        if teller is not None:
            # A row of one thing is often drawn with a second sentence: its stand-in is as long as one and a half.
            self._rows += told * [partial(teller.one, one) for one in teller.told]
            self._rows += told * [partial(teller.two, both) for both in teller.both]
            texts += told * [
                *(one.text + one.text[::2] for one in teller.told),
                *(b.text for b in teller.both),
            ]
            some = every.sample(list(teller.told), round(several * len(teller.told)))
            again = [(one, every.choice(SENTENCES)) for one in some]
            self._rows += [partial(teller.several, *row) for row in again]
            texts += [number * one.text for one, number in again]
        self.sentences = (
            *(_stand_in(known.review.text) for known in self.known),
            *places,
            *(_stand_in(one.text + two.text) for one, two in zip(single[::2], single[1::2], strict=False)),
            *made_sentences,
            *(_stand_in(2 * first.review.text) for first in firsts),
            *map(_stand_in, texts),
        )

    def add(self, reviews: Sequence[Long], times: int) -> None:
        """Further rows: long reviews, each so many times."""
        self._rows += times * [one.drawn for one in reviews]
        self.sentences += times * tuple(_stand_in(one.text) for one in reviews)

    def __call__(self, indices: Sequence[int], generator: torch.Generator) -> list[Sentence]:
        """The sentences at these rows."""
        random = Random(int(torch.randint(2**31, (), generator=generator)))
        return [drawn for drawn in (self._rows[index](random) for index in indices) if drawn.contexts]

    def _know(self, review: Review) -> Known:
        terms, split = agreed((o.term.lower(), o.polarity) for o in review.opinions if o.term)
        categories, torn = agreed((o.category, o.polarity) for o in review.opinions if o.category)
        pairs: list[tuple[str, str]] = []
        for opinion in review.opinions:
            for words, by_term in ((opinion.category, False), (opinion.term, True)):
                number = None if not words else self._aspect(words, review.domain, by_term)
                if number is not None:
                    pairs.append((str(number), opinion.polarity))
                    break
        single, unclear = agreed(pairs)
        text = words_of(review.text)
        near = {i for i, a in enumerate(self.aspects) if a.mentioned(text)} - {int(n) for n in single}
        return Known(
            review,
            terms | dict.fromkeys(split, CONFLICT),
            categories | dict.fromkeys(torn, CONFLICT),
            {int(number): polarity for number, polarity in single.items()},
            frozenset(near | {int(number) for number in unclear} | {self.general}),
            frozenset(int(number) for number in unclear),
        )

    def _aspect(self, words: str, domain: str, by_term: bool) -> int | None:
        key = (words, domain, by_term)
        if key not in self._found:
            self._found[key] = self._find(*key)
        return self._found[key]

    def _find(self, words: str, domain: str, by_term: bool) -> int | None:
        """The aspect that a term or a category belongs to: that of its last word for a term, of its first else."""
        found = words.lower().split()
        for word in reversed(found) if by_term else found:
            for number, aspect in enumerate(self.aspects):
                if aspect.kinds & set(KINDS.get(domain, ())) and aspect.mentioned(words_of(word)):
                    return number
        return None

    def _common(self, domain: str, what: str) -> list[str]:
        counts = Counter(
            name for known in self.known if known.review.domain == domain for name in getattr(known, what)
        )
        return [name for name, count in counts.most_common(60) if count > 1]

    def _answers(self, known: Known, random: Random, most: int = 3) -> dict[str, str]:
        """Questions without a target, and their answers."""
        review, domain = known.review, known.review.domain
        told = [
            *((term, polarity) for term, polarity in known.terms.items()),
            *((_shortened(name, random), polarity) for name, polarity in known.categories.items()),
            *((self.aspects[number].asked(random), polarity) for number, polarity in known.aspects.items()),
            *((self.aspects[number].asked(random), CONFLICT) for number in known.torn),
        ]
        # Where half of what a source labels is neutral, opinions would drown.
        told = [(name, polarity) for name, polarity in told if polarity != "neutral" or random.random() < 0.5]
        answers = dict(random.sample(told, min(len(told), most)))
        wrong: list[str] = []
        text = words_of(review.text)
        kinds = set(KINDS.get(domain, ()))
        own = [self.aspects[number] for number in (*known.aspects, *(known.unclear - {self.general}))]
        far = [a for i, a in enumerate(self.aspects) if a.kinds & kinds and i not in known.unclear]
        far = [aspect for aspect in far if not any(aspect is other or aspect.near(other) for other in own)]
        wrong += [aspect.asked(random) for aspect in random.sample(far, min(len(far), 4))]
        if review.complete and self.categories.get(domain):
            said = {opinion.category for opinion in review.opinions}
            others = [name for name in self.categories[domain] if name not in said]
            wrong += [
                _shortened(name, random, keep=True) for name in random.sample(others, min(len(others), 6))
            ]
        terms = [term for term in self.terms.get(domain, ()) if words_of(term).isdisjoint(text)]
        owned = {*known.aspects, *known.unclear}
        terms = [term for term in terms if self._aspect(term, domain, True) not in owned]
        wrong += random.sample(terms, min(len(terms), 1))
        for name in random.sample(wrong, min(len(wrong), 8)):
            answers.setdefault(name, NONE)
        return answers

    def _of_review(self, known: Known, random: Random) -> Sentence:
        review = known.review
        targets = [term for term in known.terms if term in review.text.lower()]
        questions: dict[Context, str] = {}
        if review.domain in KINDS:
            questions |= {Context(name): answer for name, answer in self._answers(known, random).items()}
        split = len({known.terms[term] for term in targets}) > 1
        if targets and (not questions or random.random() < (0.7 if split else 0.3)):
            aspect = random.choice(_TERM_ASPECTS)
            for term in random.sample(targets, min(len(targets), 3 if split else 2)):
                questions[Context(aspect, term)] = known.terms[term]
        if questions:
            for aspect in random.sample(self.aspects, self.unlabelled):
                questions.setdefault(Context(aspect.asked(random)), UNKNOWN)
        return Sentence(review.text, tuple(questions), tuple(questions.values()), review.where)

    def _of_several(self, first: Known, random: Random) -> Sentence:
        """With one to three others of the same source, asked about categories, those that nobody judges among them."""
        alike = self.complete[first.source]
        others = [known for known in random.sample(alike, min(len(alike), 4)) if known is not first]
        members = [first, *others[: random.randint(1, 3)]]
        random.shuffle(members)
        said: dict[str, set[str]] = {}
        for opinion in (opinion for member in members for opinion in member.review.opinions):
            if opinion.category:
                said.setdefault(opinion.category, set()).add(opinion.polarity)
        answers: dict[Context, str] = {}
        for name in random.sample(sorted(said), min(len(said), 5)):
            torn = {"positive", "negative"} <= said[name]
            (answer,) = said[name] if len(said[name]) == 1 else (CONFLICT if torn else UNKNOWN,)
            answers[Context(_shortened(name, random, keep=True))] = answer
        asked = sorted(
            {
                o.category
                for known in random.sample(alike, min(len(alike), 60))
                for o in known.review.opinions
                if o.category
            }
        )
        others = [name for name in asked if name not in said]
        for name in random.sample(others, min(len(others), 7)):
            answers.setdefault(Context(_shortened(name, random, keep=True)), NONE)
        text = " ".join(member.review.text.strip() for member in members)
        return Sentence(text, tuple(answers), tuple(answers.values()), first.review.where)

    def _two_reviews(self, first: Known, random: Random) -> Sentence:
        """With another short review of the same domain that judges the same aspect, mostly the other way."""
        number = random.choice(list(first.aspects))
        polarity = first.aspects[number]
        if random.random() < 0.8:
            polarity = (
                OPPOSITE[polarity] if polarity != "neutral" else random.choice(("positive", "negative"))
            )
        found = self.single.get((first.review.domain, number, polarity), ())
        second = random.choice(found) if found else first
        if second is first:
            return self._of_review(first, random)
        if random.random() < 0.5:
            first, second = second, first
        return self._joined(first, second, number, random)

    def _joined(self, first: Known, second: Known, number: int, random: Random) -> Sentence:
        """Two reviews of two named things as one text; what both judge is asked of both, in the same words."""
        kind = random.choice(KINDS[first.review.domain])
        one, two = random.sample(self.names[kind], 2)
        if one.lower() in two.lower() or two.lower() in one.lower():
            return self._of_review(first, random)
        named = random.random() < 0.6
        texts = [_with_name(first, one, random), _with_name(second, two, random)] if named else [None, None]
        if texts[0] is not None and texts[1] is not None:
            text = texts[0].rstrip(" .!") + random.choice(_JOINTS) + texts[1]
        else:
            text = random.choice(_OPENINGS).replace("{A}", one).replace("{B}", two)
            text = text.replace("{1}", first.review.text.rstrip()).replace("{2}", second.review.text.rstrip())
        asked = self.aspects[number].asked(random)
        questions: dict[Context, str] = {}
        for target, known, other in ((one, first, second), (two, second, first)):
            questions[Context(asked, target)] = known.aspects[number]
            answers = self._answers(known, random, 1)
            # An aspect of the other one's, of which this one says nothing.
            for theirs, _ in list(other.aspects.items())[:2]:
                aspect = self.aspects[theirs]
                mine = [self.aspects[n] for n in (*known.aspects, *(known.unclear - {self.general}))]
                if theirs not in known.unclear and not any(aspect is a or aspect.near(a) for a in mine):
                    questions.setdefault(Context(aspect.asked(random), target), NONE)
            for name, answer in answers.items():
                if answer == NONE or name.split(":")[0] not in self.aspects[number].names:
                    questions.setdefault(Context(name, target), answer)
        return Sentence(text, tuple(questions), tuple(questions.values()), first.review.where)

    def _two_places(self, first: Sentence, second: Sentence, random: Random) -> Sentence:
        names = dict(zip(TARGETS, reversed(TARGETS), strict=True))
        if first.contexts[0].target == second.contexts[0].target:
            second = rename(second, names)
        return self._of_place(join(first, second, random.choice((" ", ". ", ", but ", "; "))), random)

    def _of_place(self, sentence: Sentence, random: Random) -> Sentence:
        """SentiHood with names of our own, its aspects by their own names or ours."""
        rare = random.sample(sorted({c.aspect for c in sentence.contexts} - set(FREQUENT_ASPECTS)), 2)
        asked = {*FREQUENT_ASPECTS, *rare}
        pairs = [
            (context, polarity)
            for context, polarity in zip(sentence.contexts, sentence.polarities, strict=True)
            if context.aspect in asked or polarity != NONE
        ]
        worded = {name: name for name in sorted({context.aspect for context, _ in pairs})}
        if random.random() < 0.3:
            worded = {name: self._worded(name, random) for name in worded}
        kept = replace(
            sentence,
            contexts=tuple(replace(context, aspect=worded[context.aspect]) for context, _ in pairs),
            polarities=tuple(polarity for _, polarity in pairs),
        )
        if random.random() < 0.35:
            return kept
        kind = "city" if random.random() < 0.8 else random.choice(("person", "eat", "hotel"))
        return rename(kept, dict(zip(TARGETS, random.sample(self.names[kind], 2), strict=True)))

    def _worded(self, name: str, random: Random) -> str:
        words = re.sub("-", " ", name)
        for aspect in self.aspects:
            if "city" in aspect.kinds and (words in aspect.names or name in aspect.names):
                return aspect.asked(random)
        return name


def _shortened(name: str, random: Random, keep: bool = False) -> str:
    """A category as it is, or without the thing that it is of: "laptop design features", "design features"."""
    words = name.split()
    if keep or len(words) == 1 or words[0] not in ("laptop", "restaurant", "food") or random.random() < 0.5:
        return name
    return " ".join(words[1:])


def _joinable(known: Known) -> bool:
    return known.review.domain in KINDS and bool(known.aspects) and len(known.review.text) < _LONG


def _with_name(known: Known, name: str, random: Random) -> str | None:
    """The text with the thing's name beside the term that it judges; None where it judges none by name."""
    text = known.review.text
    term = next(iter(known.terms), None)
    if term is None:
        return None
    found = re.search(
        rf"(?<!\w)(?:(?:the|its|their|this|our|my)\s+)?({re.escape(term)})(?!\w)", text, re.IGNORECASE
    )
    if found is None:
        return None
    word = found.group(1)
    said = random.choice((f"{name}'s {word}", f"the {word} of {name}", f"the {word} at {name}"))
    return text[: found.start()] + said + text[found.end() :]


def _as_it_is(sentence: Sentence, _random: Random) -> Sentence:
    return sentence


def _stand_in(text: str) -> Sentence:
    return Sentence(text, (Context(GENERAL),), (NONE,))

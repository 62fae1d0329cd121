"""Training questions for ``absa_any.py``: drawn anew in each epoch, names and wrong aspects included.

Of a review's opinions some are asked; beside them what nobody said: aspects of the same kind of thing of which the text
has no word, other categories of a source that lists all it judges, terms of other texts of the same domain.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

import torch
from absa_any_lists import GENERAL, Aspect, words_of
from absa_any_made import Maker

from weft.absa.learn.augment import join, rename
from weft.absa.read.reviews import Review, agreed
from weft.absa.read.sentihood import FREQUENT_ASPECTS, TARGETS
from weft.absa.records import NONE, Context, Sentence

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
_LONG = 160
"""Characters of a text that is joined with another."""


@dataclass(frozen=True)
class Known:
    """What a review says, ready to be asked: answers by the words of the question, and what is unclear."""

    review: Review
    terms: dict[str, str]
    categories: dict[str, str]
    aspects: dict[int, str]
    unclear: frozenset[int]


class Lessons:
    """Draws the sentences of a batch.

    Args:
        reviews: Reviews of all sources.
        places: SentiHood's sentences.
        made: How many rows of an epoch are made sentences.
        aspects: The list of aspects.
        names: Names by kind.
        maker: Makes sentences.
    """

    def __init__(
        self,
        reviews: Sequence[Review],
        places: Sequence[Sentence],
        made: int,
        aspects: Sequence[Aspect],
        names: dict[str, list[str]],
        maker: Maker,
    ) -> None:
        self.aspects, self.names, self.maker = aspects, names, maker
        self.general = next(i for i, aspect in enumerate(aspects) if aspect.names[0] == GENERAL)
        self._found: dict[tuple[str, str, bool], int | None] = {}
        self.known = [self._know(review) for review in reviews]
        self.places = places
        self.made = made
        every = Random(0)
        self.terms = {domain: self._common(domain, "terms") for domain in KINDS}
        self.categories = {domain: self._common(domain, "categories") for domain in KINDS}
        self.sentences = (
            *(Sentence(review.text, (Context(GENERAL),), (NONE,), review.where) for review in reviews),
            *places,
            *(maker(every) for _ in range(made)),
        )

    def __call__(self, indices: Sequence[int], generator: torch.Generator) -> list[Sentence]:
        """The sentences at these rows."""
        random = Random(int(torch.randint(2**31, (), generator=generator)))
        drawn: list[Sentence] = []
        waiting: dict[str, Known] = {}
        place: Sentence | None = None
        for index in indices:
            if index < len(self.known):
                known = self.known[index]
                domain = known.review.domain
                short = domain in KINDS and len(known.review.text) < _LONG
                if short and random.random() < 0.3:
                    if domain in waiting:
                        drawn.append(self._joined(waiting.pop(domain), known, random))
                    else:
                        waiting[domain] = known
                    continue
                drawn.append(self._of_review(known, random))
            elif index < len(self.known) + len(self.places):
                sentence = self.places[index - len(self.known)]
                single = len({context.target for context in sentence.contexts}) == 1
                if single and place is None and random.random() < 0.5:
                    place = sentence
                    continue
                if single and place is not None:
                    drawn.append(self._two_places(place, sentence, random))
                    place = None
                else:
                    drawn.append(self._of_place(sentence, random))
            else:
                drawn.append(self.maker(random))
        drawn += [self._of_review(known, random) for known in waiting.values()]
        if place is not None:
            drawn.append(self._of_place(place, random))
        return [sentence for sentence in drawn if sentence.contexts]

    def _know(self, review: Review) -> Known:
        terms, split = agreed((o.term.lower(), o.polarity) for o in review.opinions if o.term)
        categories, _ = agreed((o.category, o.polarity) for o in review.opinions if o.category)
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
            {term: polarity for term, polarity in terms.items() if term not in split},
            categories,
            {int(number): polarity for number, polarity in single.items()},
            frozenset(near | {int(number) for number in unclear} | {self.general}),
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
        wrong += [aspect.asked(random) for aspect in random.sample(far, min(len(far), 3))]
        if review.complete and self.categories.get(domain):
            said = {opinion.category for opinion in review.opinions}
            others = [name for name in self.categories[domain] if name not in said]
            wrong += [
                _shortened(name, random, keep=True) for name in random.sample(others, min(len(others), 2))
            ]
        terms = [term for term in self.terms.get(domain, ()) if words_of(term).isdisjoint(text)]
        owned = {*known.aspects, *known.unclear}
        terms = [term for term in terms if self._aspect(term, domain, True) not in owned]
        wrong += random.sample(terms, min(len(terms), 1))
        for name in random.sample(wrong, min(len(wrong), 4)):
            answers.setdefault(name, NONE)
        return answers

    def _of_review(self, known: Known, random: Random) -> Sentence:
        review = known.review
        targets = [term for term in known.terms if term in review.text.lower()]
        questions: dict[Context, str] = {}
        if review.domain in KINDS:
            questions |= {Context(name): answer for name, answer in self._answers(known, random).items()}
        if targets and (not questions or random.random() < 0.3):
            for term in random.sample(targets, min(len(targets), 2)):
                questions[Context(random.choice(_TERM_ASPECTS), term)] = known.terms[term]
        return Sentence(review.text, tuple(questions), tuple(questions.values()), review.where)

    def _joined(self, first: Known, second: Known, random: Random) -> Sentence:
        """Two reviews of two named things as one text: each name is asked about its own and about the other's."""
        kind = random.choice(KINDS[first.review.domain])
        one, two = random.sample(self.names[kind], 2)
        pattern = random.choice(_OPENINGS)
        text = pattern.replace("{A}", one).replace("{B}", two)
        text = text.replace("{1}", first.review.text.rstrip()).replace("{2}", second.review.text.rstrip())
        mine, theirs = self._answers(first, random, 2), self._answers(second, random, 2)
        questions: dict[Context, str] = {}
        for target, answers, known, others in ((one, mine, first, theirs), (two, theirs, second, mine)):
            own = words_of(known.review.text)
            kept = [name for name in others if others[name] != NONE and name not in answers]
            kept = [
                name for name in kept if words_of(name).isdisjoint(own) and not self._touches(name, known)
            ]
            for name, answer in (*answers.items(), *((name, NONE) for name in kept[:1])):
                questions[Context(name, target)] = answer
        return Sentence(text, tuple(questions), tuple(questions.values()), first.review.where)

    def _touches(self, name: str, known: Known) -> bool:
        number = self._aspect(name.split(":")[0], known.review.domain, True)
        return number is None or number in known.aspects or number in known.unclear

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

"""Made sentences that compare two named things: the words for one say what is felt about the other.

In a frame {A} and {B} are the names, {n} the noun of an aspect, {a} and {b} words that judge it, of opposite polarity.
"""

from __future__ import annotations

from random import Random

OPPOSITE = {"positive": "negative", "negative": "positive", "neutral": "neutral"}
NOTHING_WRONG = (
    "I cannot complain about the {n} of {X}",
    "nothing is wrong with the {n} of {X}",
    "no complaints about the {n} at {X}",
    "the {n} of {X} could not be better",
    "the {n} of {X} does not disappoint",
    "the {n} of {X} never lets me down",
    "I would not change a thing about the {n} of {X}",
    "you will not find better {n} than at {X}",
    "the {n} of {X} is not bad at all",
    "I have no problem with the {n} of {X}",
    "not one bad word about the {n} of {X}",
)
NOTHING_RIGHT = (
    "I do not like the {n} of {X}",
    "the {n} of {X} could not be worse",
    "the {n} of {X} is not what was promised",
    "the {n} of {X} does not deserve the name",
    "I would not recommend {X} because of the {n}",
    "there is no excuse for the {n} of {X}",
    "the {n} of {X} is not good enough",
    "nobody can be happy with the {n} of {X}",
    "the {n} of {X} no longer convinces me",
    "the {n} of {X} isn't worth mentioning",
    "I wasn't happy with the {n} at {X}",
    "the {n} of {X} leaves a lot to be desired",
)
_EITHER = (
    "the {n} of {A} is {a}, that of {B} is {b}",
    "{A}'s {n} is {a}, {B}'s is {b}",
    "{A}'s {n} is {a} and {B}'s {b}",
    "the {n} at {A} was {a} but the one at {B} was {b}",
    "the {n} is {a} at {A} and {b} at {B}",
    "{n}: {A} {a}, {B} {b}",
    "while {A} has {a} {n}, that of {B} is {b}",
    "{A} has {a} {n}, unlike {B}",
    "unlike {B}, {A} has {a} {n}",
    "the {n} of {A} is as {a} as that of {B} is {b}",
    "with {A} the {n} is {a}; with {B} it is {b}",
    "{A}? {a} {n}. {B}? {b}",
    "{A} is known for its {a} {n}, {B} for the opposite",
    "I find the {n} of {A} {a}, which cannot be said of {B}",
    "the {n} was {b} at {B}, whereas {A} offered {a} {n}",
    "compared with {A}, where the {n} is {a}, {B} is {b}",
    "coming from {B} with its {b} {n}, I found that of {A} {a}",
    "in contrast to the {b} {n} of {B} that of {A} is {a}",
    "if the {n} of {A} is {a}, that of {B} is the very opposite",
    "I have used both: {A} with {a} {n}, {B} with {b}",
)
_FIRST_BETTER = (
    "{A} beats {B} in {n}",
    "when it comes to {n}, {A} is miles ahead of {B}",
    "{B} cannot hold a candle to {A} as far as {n} is concerned",
    "I love the {n} of {A} and hate that of {B}",
    "I would take {A} over {B} any day because of the {n}",
    "the {n} of {A} won me over, that of {B} put me off",
    "I switched from {B} to {A} because of the {n}",
    "I returned {B} for its {b} {n} and kept {A}",
    "avoid {B} and choose {A} if you care about {n}",
    "{B} let us down with its {n}; {A} did not",
    "{A} does {n} right, {B} gets it all wrong",
    "thumbs up for the {n} of {A}, thumbs down for that of {B}",
    "{B} should learn from {A} what {a} {n} means",
    "{n} is where {A} shines and {B} fails",
    "for {n} go to {A}, never to {B}",
    "we left {B} because the {n} was {b} and found {a} {n} at {A}",
)
_CROSSED = (
    "{A} wins on {n} but loses to {B} on {m}",
    "{A} has the better {n}, {B} the better {m}",
    "take {A} for the {n} and {B} for the {m}",
    "I prefer the {n} of {A} and the {m} of {B}",
    "{A} for {n}, {B} for {m}",
)


def compared(noun: str, good: str, bad: str, names: tuple[str, str], random: Random) -> tuple[str, str, str]:
    """A sentence about an aspect of two things, and what it says of the first and of the second."""
    first, second = names
    if random.random() < 0.55:
        frame, polarity = random.choice(_EITHER), random.choice(("positive", "negative"))
    else:
        frame, polarity = random.choice(_FIRST_BETTER), "positive"
        if random.random() < 0.5:
            first, second = second, first
    mine, theirs = (good, bad) if polarity == "positive" else (bad, good)
    text = frame.replace("{n}", noun).replace("{a}", mine).replace("{b}", theirs)
    answers = polarity, OPPOSITE[polarity]
    text = text.replace("{A}", first).replace("{B}", second)
    return (text, *(answers if first == names[0] else reversed(answers)))


def crossed(noun: str, other: str, names: tuple[str, str], random: Random) -> str:
    """A sentence in which the first thing is better in one aspect and the second in the other."""
    frame = random.choice(_CROSSED).replace("{n}", noun).replace("{m}", other)
    return frame.replace("{A}", names[0]).replace("{B}", names[1])

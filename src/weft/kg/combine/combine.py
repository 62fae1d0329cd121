"""Likely tokens, combined into a tail by an endpoint, and taken only if it kept to them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from weft.kg.combine.endpoint import Reply
from weft.kg.combine.tally import Tally
from weft.kg.dataset.tokens import SPECIALS, CodeTokenizer
from weft.platform.reading import parse_json

ACCEPTED = "accepted"
NOT_ASKED = "not asked: the endpoint does not answer"
_PATIENCE = 5
"""Failures in a row after which an endpoint is not asked any more."""
_SYSTEM = (
    "You complete facts for a knowledge graph. You are given a text, the head and the relation of a fact, and "
    "for each position of its tail the tokens that a language model finds likely. Combine tokens from this list "
    'into the tail and use no others. Reply with a JSON object: {"tail": "..."}; {"tail": null} where no '
    "combination is right."
)


class Chat(Protocol):
    """What answers questions; :class:`weft.kg.combine.endpoint.Endpoint`, or a stand-in."""

    def ask(self, system: str, user: str) -> Reply:
        """One answer."""
        ...


class Choice(NamedTuple):
    """A tail to be put together.

    Args:
        text: The passage.
        head: The head.
        relation: The relation's name.
        definition: When it holds.
        slots: Likely token ids at each place of the tail.
    """

    text: str
    head: str
    relation: str
    definition: str
    slots: Sequence[Sequence[int]]


@dataclass
class Combiner:
    """Asks an endpoint and checks what it says.

    A tail is refused where a token of it is not among the likely ones: the model, and not the endpoint,
    decides what may be said.

    Args:
        chat: The endpoint.
        tokenizer: Of the tokens.
        longest: Most tokens of a tail.
        name: Of the endpoint's model; what the facts carry whose tails it put together.
        tally: What became of the questions.

    Source:
        GraphMERT (Belova et al. 2025), the combination of predicted tokens by a helper LLM.
    """

    chat: Chat
    tokenizer: CodeTokenizer
    longest: int = 7
    name: str = "default"
    tally: Tally = field(default_factory=Tally)
    _in_a_row: int = 0

    def begin(self) -> None:
        """Count anew, as for another document: an endpoint that was given up is asked once more."""
        self.tally = Tally()
        self._in_a_row = min(self._in_a_row, _PATIENCE - 1)

    def combine(self, choice: Choice) -> tuple[int, ...] | None:
        """The tail as token ids; None where there is no answer to take."""
        if self._in_a_row >= _PATIENCE:
            self.tally.counts[NOT_ASKED] += 1
            self.tally.unanswered += 1
            return None
        reply = self.chat.ask(_SYSTEM, self._question(choice))
        self._in_a_row = self._in_a_row + 1 if reply.text is None else 0
        if reply.text is None:
            self.tally.unanswered += 1
            return self._refuse(reply.failure, choice, "")
        tail = _tail(reply.text)
        if not isinstance(tail, str):
            return self._refuse("no tail given" if tail is None else "nonsense", choice, reply.text)
        ids = self.tokenizer.tail(tail)
        likely = {token for slot in choice.slots for token in slot} - set(range(len(SPECIALS)))
        if not ids or len(ids) > self.longest:
            return self._refuse("empty or too long", choice, tail)
        if not likely.issuperset(ids):
            return self._refuse("a token that is not likely", choice, tail)
        self.tally.counts[ACCEPTED] += 1
        return ids

    def _question(self, choice: Choice) -> str:
        slots = [
            [self.tokenizer.text([token]) for token in slot if token >= len(SPECIALS)]
            for slot in choice.slots
        ]
        return (
            f"Text: {choice.text}\nHead: {choice.head}\nRelation: {choice.relation} ({choice.definition})\n"
            f"Likely tokens: {json.dumps([slot for slot in slots if slot], ensure_ascii=False)}"
        )

    def _refuse(self, reason: str, choice: Choice, said: str) -> None:
        self.tally.refuse(reason, f"{choice.head} {choice.relation}: {reason}{': ' if said else ''}{said}")


def _tail(text: str) -> object:
    """The tail in a reply: its JSON object may stand among other words. False where there is none."""
    try:
        record = parse_json(text[text.index("{") : text.rindex("}") + 1], "the reply")
    except ValueError:
        return False
    if not isinstance(record, dict) or "tail" not in record:
        return False
    tail = record["tail"]
    return tail if tail is None or isinstance(tail, str) else False

"""Long reviews written for training, ``absa_any/long.jsonl``.

A text of a hundred to three hundred words, and what it says of twelve aspects, five of which it does not judge.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from random import Random

from absa_any_lists import LISTS
from absa_any_told import POLARITY_OF

from weft.absa.records import Context, Sentence

_ASKED = 10
"""Questions of a text that are asked at once."""


@dataclass(frozen=True)
class Long:
    """A long review; ``chooses`` of every tenth, which is never trained on."""

    kind: str
    text: str
    said: dict[str, str]
    chooses: bool

    def drawn(self, random: Random) -> Sentence:
        """The review with some of its questions."""
        asked = random.sample(sorted(self.said), min(len(self.said), _ASKED))
        return Sentence(
            self.text, tuple(map(Context, asked)), tuple(self.said[name] for name in asked), "long"
        )

    def whole(self) -> Sentence:
        """The review with all of them."""
        return Sentence(self.text, tuple(map(Context, self.said)), tuple(self.said.values()), "long")


def read_long(path: Path = LISTS / "long.jsonl") -> list[Long]:
    """The reviews."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        Long(
            line["kind"],
            line["text"],
            {name: POLARITY_OF[sign] for name, sign in line["said"].items()},
            number % 10 == 7,
        )
        for number, line in enumerate(lines)
    ]

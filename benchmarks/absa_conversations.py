"""What `weft absa find` and `predict` make of conversations: what is judged in them, and what is no more than a label.

    python benchmarks/absa_conversations.py [--model absa-any]

``examples/absa/conversations.jsonl`` has the words of a conversation and what its customers judge, each by a word of
its name, with the polarity. It chose how labels are read: it is no test.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from weft.absa.find.finder import Finder
from weft.absa.use.decide import decide
from weft.absa.use.store import load

CONVERSATIONS = Path(__file__).resolve().parents[1] / "examples" / "absa" / "conversations.jsonl"


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="absa-any")
    asker = load(parser.parse_args().model)
    lines = CONVERSATIONS.read_text(encoding="utf-8").splitlines()
    conversations = [(record["text"], record["judged"]) for record in map(json.loads, lines)]
    right = turned = others = 0
    for (_, judged), findings in zip(
        conversations, Finder(asker).find([text for text, _ in conversations]), strict=True
    ):
        left = [(one.term.casefold(), one.polarity) for one in findings if one.term is not None]
        for name, polarity in judged:
            named = [one for one in left if name.casefold() in one[0]]
            same = [one for one in named if one[1] == polarity]
            right += bool(same)
            turned += bool(named and not same)
            if named:
                left.remove((same or named)[0])
        others += sum(polarity != "neutral" for _, polarity in left)
    # What is praised and blamed in one conversation is no question of one answer.
    asked = [
        (text, name, polarity)
        for text, judged in conversations
        for name, polarity in judged
        if [one for one, _ in judged].count(name) == 1
    ]
    rows = asker.predict_proba([(text, name) for text, name, _ in asked])
    answers = [asker.classes_[number] for number in decide(rows, asker.config.threshold)]
    answered = sum(answer == polarity for answer, (_, _, polarity) in zip(answers, asked, strict=True))
    print(
        f"{len(conversations)} conversations, {sum(len(judged) for _, judged in conversations)} things judged"
    )
    print(f"find: {right} as they are judged, {turned} the other way round, {others} other terms judged")
    print(f"predict: {answered} of {len(asked)} questions answered right")


if __name__ == "__main__":
    main()

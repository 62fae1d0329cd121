"""What `weft absa find` and `predict` make of conversations: what is judged in them, and what is no more than a label.

    python benchmarks/absa_conversations.py [--model absa-any]

``examples/absa/conversations.jsonl`` has the words of a conversation and what its customers judge, each by a word of
its name, with the polarity. It chose how labels are read: it is no test. In ``conversations-agents.jsonl`` those who
answer praise and blame, too; ``not_judged`` are things that they alone judge. It was written first and chose nothing.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from weft.absa.find.finder import Finder
from weft.absa.use.asker import Asker
from weft.absa.use.decide import decide
from weft.absa.use.store import load

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "absa"
CONVERSATIONS = ("conversations.jsonl", "conversations-agents.jsonl")


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="absa-any")
    asker = load(parser.parse_args().model)
    for name in CONVERSATIONS:
        lines = (EXAMPLES / name).read_text(encoding="utf-8").splitlines()
        records = [json.loads(line) for line in lines]
        print(
            f"{name}: {len(records)} conversations, {sum(len(one['judged']) for one in records)} things judged"
        )
        print(_found(asker, records))
        print(_answered(asker, records))


def _found(asker: Asker, records: Sequence[dict[str, Any]]) -> str:
    right = turned = others = 0
    for record, findings in zip(
        records, Finder(asker).find([record["text"] for record in records]), strict=True
    ):
        left = [(one.term.casefold(), one.polarity) for one in findings if one.term is not None]
        for name, polarity in record["judged"]:
            named = [one for one in left if name.casefold() in one[0]]
            same = [one for one in named if one[1] == polarity]
            right += bool(same)
            turned += bool(named and not same)
            if named:
                left.remove((same or named)[0])
        others += sum(polarity != "neutral" for _, polarity in left)
    return f"find: {right} as they are judged, {turned} the other way round, {others} other terms judged"


def _answered(asker: Asker, records: Sequence[dict[str, Any]]) -> str:
    # What is praised and blamed in one conversation is no question of one answer.
    asked = [
        (record["text"], name, polarity)
        for record in records
        for name, polarity in record["judged"]
        if [one for one, _ in record["judged"]].count(name) == 1
    ]
    asked += [(record["text"], name, "none") for record in records for name in record.get("not_judged", ())]
    rows = asker.predict_proba([(text, name) for text, name, _ in asked])
    answers = [asker.classes_[number] for number in decide(rows, asker.config.threshold)]
    right = [answer == polarity for answer, (_, _, polarity) in zip(answers, asked, strict=True)]
    unjudged = [
        is_right for is_right, (_, _, polarity) in zip(right, asked, strict=True) if polarity == "none"
    ]
    ended = f"; of {len(unjudged)} that nobody who asks judges {sum(unjudged)}" if unjudged else ""
    return f"predict: {sum(right)} of {len(right)} questions answered right{ended}"


if __name__ == "__main__":
    main()

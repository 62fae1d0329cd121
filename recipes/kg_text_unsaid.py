"""What a model of text states of sentences that say nothing: suppositions, questions, denials, refusals.

    python recipes/kg_text_unsaid.py examples/kg/unsaid/claim.yaml

Of each sentence the surest fact between its two names. Prints how many of those that state nothing have one at .5 and
at .8, and how many of those that do state it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
import yaml

from weft.kg.extraction.entities import EntityExtractor
from weft.kg.read.documents import TextDocument
from weft.platform.models import find_model


def main() -> None:
    """Parse, read, print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("file", type=Path, help="a list of text, head, tail and stated")
    parser.add_argument("--model", default="kg-text-small")
    parser.add_argument("--list", action="store_true", help="every sentence with its surest fact")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    extractor = EntityExtractor.load(find_model("kg", arguments.model))
    found: dict[bool, list[float]] = {False: [], True: []}
    for number, item in enumerate(yaml.safe_load(arguments.file.read_text(encoding="utf-8"))):
        ends = {item["head"], item["tail"]}
        facts = [
            fact
            for fact in extractor.facts_of(TextDocument(str(number), item["text"]))
            if all(
                any(end in (name, f"The {name}", f"the {name}") for name in (fact.head, fact.tail))
                for end in ends
            )
        ]
        best = max(facts, key=lambda fact: fact.confidence, default=None)
        sure = 0.0 if best is None else best.confidence
        found[bool(item["stated"])].append(sure)
        if arguments.list:
            print(
                f"{sure:.2f}",
                "stated  " if item["stated"] else "unstated",
                best and best.relation,
                "|",
                item["text"],
            )
    print("| sentences | | at .5 | at .8 |\n|---|---|---|---|")
    for stated, sures in sorted(found.items()):
        counts = " | ".join(str(sum(sure >= least for sure in sures)) for least in (0.5, 0.8))
        print(f"| {'that state it' if stated else 'that state nothing'} | {len(sures)} | {counts} |")


if __name__ == "__main__":
    main()

"""The mean of the weights of two models of text of one descent, confidences fitted anew.

    python recipes/kg_text_mean.py FIRST SECOND --mentions 0.5 --relations 0.5 --corpus dev_revised.json --out OUT

Every weight is ``(1 − share)·first + share·second`` (weight averaging, Izmailov et al. 2018; Wortsman et al. 2022),
with one share for what finds mentions and one for all else. It says something only where both began with the same
weights. The schema is the second's.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from kg_text_small import BITS
from kg_text_written import choosing

from weft.kg.evaluate.judge import calibrated
from weft.kg.extraction.entities import EntityExtractor
from weft.platform.models import find_model


def main() -> None:
    """Read both, mix, fit, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("first")
    parser.add_argument("second")
    parser.add_argument("--mentions", type=float, default=0.5, help="share of the second, from 0 to 1")
    parser.add_argument("--relations", type=float, default=0.5, help="share of the second, from 0 to 1")
    parser.add_argument("--corpus", type=Path, required=True, metavar="FILE", help="Re-DocRED")
    parser.add_argument("--split", type=Path, default=Path("examples/kg/redocred_split.json"), metavar="FILE")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    shares = (arguments.mentions, arguments.relations)
    if not all(0 <= share <= 1 for share in shares):
        parser.error(f"--mentions and --relations: from 0 to 1, not {shares}")
    torch.set_num_threads(1)
    first, second = (
        EntityExtractor.load(find_model("kg", name)) for name in (arguments.first, arguments.second)
    )
    weights, others = first.model.state_dict(), second.model.state_dict()
    if weights.keys() != others.keys():
        parser.error(f"{arguments.second} has other weights than {arguments.first}")
    with torch.no_grad():
        for name, weight in weights.items():
            if weight.is_floating_point():
                weight.lerp_(others[name], shares[not name.startswith("mentions.")])
    first.model.save(arguments.out, first.tokenizer.tokenizer, bits=BITS)
    second.schema.save(arguments.out / "schema.json")
    mixed = calibrated(
        EntityExtractor.load(arguments.out), arguments.corpus, arguments.split, others=choosing()
    )
    if mixed.confidence is not None:
        mixed.confidence.save(arguments.out)


if __name__ == "__main__":
    main()

"""The mean of the weights of models of one descent, which often keeps what each of them knows.

    python recipes/absa_any_mean.py FIRST SECOND --share 0.5 --out OUT

Every weight is ``(1 − share)·first + share·second`` (weight averaging, Izmailov et al. 2018; Wortsman et al. 2022). It
says something only where the second was trained from the first. The tagger is the first's: it stands on layers that
training left as they are. The classes are the second's; those that the first does not know are as the second has them.
Where more layers of the second have learnt, the first's stand in the frozen stack of the mean, too.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

import torch
from absa_any import under_options

from weft.absa.use.store import load, save


def main() -> None:
    """Read both, mix, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("first")
    parser.add_argument("second")
    parser.add_argument("--share", type=float, default=0.5, help="of the second, from 0 to 1")
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    if not 0 <= arguments.share <= 1:
        sys.exit(f"--share {arguments.share}: from 0 to 1")
    first, second = load(arguments.first), load(arguments.second)
    if first.config.options.frozen_layers > second.config.options.frozen_layers:
        told = first.config
        first = under_options(arguments.first, second.config.options)
        first.config = replace(told, options=second.config.options)
    weights, others = first.module.state_dict(), second.module.state_dict()
    if unlike := [n for n in weights.keys() | others.keys() if n not in weights or n not in others]:
        sys.exit(f"{arguments.second} has other weights than {arguments.first}: {sorted(unlike)[0]}")
    known = [name for name in second.classes_ if name in first.classes_]
    here, there = ([model.classes_.index(name) for name in known] for model in (second, first))
    with torch.no_grad():
        for name, weight in others.items():
            if name.startswith("terms."):
                weight.copy_(weights[name])
            elif name.startswith("head.classifier."):
                weight[here] = torch.lerp(weights[name][there], weight[here], arguments.share)
            elif weight.is_floating_point():
                weight.copy_(torch.lerp(weights[name], weight, arguments.share))
    second.config = replace(second.config, outside=first.config.outside)
    save(arguments.out, second, int8=True)


if __name__ == "__main__":
    main()

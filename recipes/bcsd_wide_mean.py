"""The mean of `bcsd-small`'s weights and of models that `recipes/bcsd_wide.py` trained from them: what ships.

    python recipes/bcsd_wide_mean.py BEFORE SEED0 SEED1 SEED2 --out OUT

Each counts alike (weight averaging, Izmailov et al. 2018; Wortsman et al. 2022): what x86-64 and AArch64 lose in the
second training comes back for the most part, what further processors gain stays. Tokens that BEFORE never saw have the
mean of the others, and the idf is theirs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from weft.bcsd.use.store import load, save


def main() -> None:
    """Read all, mix, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("trained", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    before, trained = load(arguments.before), [load(folder) for folder in arguments.trained]
    # A token that training never saw has the largest idf.
    unseen = torch.from_numpy(before.lexical.idf >= before.lexical.idf.max())
    mixed: dict[str, torch.Tensor] = {}
    for name, weight in before.network.state_dict().items():
        others = torch.stack([one.network.state_dict()[name].float() for one in trained])
        mixed[name] = torch.cat([weight.float()[None], others]).mean(dim=0)
        if name == "token_set.weight":
            mixed[name] = torch.where(unseen[:, None], others.mean(dim=0), mixed[name])
    last = trained[-1]
    last.network.load_state_dict(mixed)
    save(arguments.out, last.network, last.lexical, last.weights, half=True, trained=last.trained)


if __name__ == "__main__":
    main()

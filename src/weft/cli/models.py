"""``weft models``: what is shipped, and the card of each model."""

from __future__ import annotations

import argparse
import json
from importlib.resources import files

from weft.errors import ConfigError


def parser() -> argparse.ArgumentParser:
    """The arguments of ``weft models``."""
    result = argparse.ArgumentParser(
        prog="weft models", description="List the shipped models, or print one's card."
    )
    result.add_argument("name", nargs="?", metavar="NAME", help="print this model's card")
    result.add_argument("--json", action="store_true", help="print the list as JSON")
    return result


def run(argv: list[str]) -> int:
    """Run ``weft models``."""
    arguments = parser().parse_args(argv)
    root = files("weft").joinpath("weights")
    folders = sorted((f for f in root.iterdir() if f.is_dir()), key=lambda f: f.name) if root.is_dir() else []
    models = {folder.name: folder for folder in folders if folder.joinpath("config.json").is_file()}
    if arguments.name is not None:
        if arguments.name not in models:
            known = ", ".join(models) or "none"
            raise ConfigError(f"no shipped model {arguments.name!r}; there are: {known}")
        print(models[arguments.name].joinpath("README.md").read_text(encoding="utf-8"))
        return 0
    records: list[dict[str, object]] = []
    for name, folder in models.items():
        card = folder.joinpath("README.md").read_text(encoding="utf-8").splitlines()
        prose = (line for line in card if line.strip() and not line.startswith(("#", "---", "|")))
        size = sum(len(f.read_bytes()) for f in folder.iterdir() if f.is_file())
        records.append({"name": name, "megabytes": round(size / 1e6, 1), "summary": next(prose, "")})
    if arguments.json:
        print(json.dumps(records, indent=1))
    else:
        for record in records:
            print(f"{record['name']:<18} {record['megabytes']:>5} MB  {record['summary']}")
    return 0

"""Facts of tables and forms: how many are right, and how many are found.

    python benchmarks/kg_tables.py examples/kg/tables
    python benchmarks/kg_tables.py examples/kg/tables --as-prose

Each document of a folder is read as a file of a user's, and its facts are compared with ``facts.tsv`` (file, head,
relation, tail): names are compared without case, adjectives of countries as the countries; a fact that is labelled the
other way round by the inverse relation counts as right. What the labels leave open counts neither way: who chairs a
firm of which they say that he is employed there (a chief executive), ``father`` and ``mother`` where they label a
parent's ``child``, siblings who are children of one parent, and the country of a thing said by another relation of
countries. ``--as-prose`` reads labels as any words, ``--names-as-found`` takes the names of cells as the model finds
them.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from pathlib import Path

from weft.kg.agreement.demonyms import country_of
from weft.kg.extraction import entities
from weft.kg.extraction.text import Met, TextLoader, marked_documents
from weft.kg.mentions import document
from weft.kg.spelling import plain
from weft.platform.models import find_model

INVERSE = {
    "follows": "followed_by",
    "replaces": "replaced_by",
    "part_of": "has_part",
    "parent_organization": "subsidiary",
    "capital": "capital_of",
    "participant": "participant_of",
    "characters": "present_in_work",
}
INVERSES = INVERSE | {other: one for one, other in INVERSE.items()}
BOTH_WAYS = ("spouse", "sibling", "sister_city")
COUNTRIES = ("country", "country_of_origin", "country_of_citizenship", "located_in", "basin_country")
Fact = tuple[str, str, str]


def folded(name: str) -> str:
    """A name as it is compared: small, and the country where it is an adjective of one."""
    name = " ".join(plain(name).split())
    return (country_of(name) or name).casefold()


def labelled(folder: Path) -> dict[str, set[Fact]]:
    """The facts of each file."""
    found: dict[str, set[Fact]] = defaultdict(set)
    with (folder / "facts.tsv").open(encoding="utf-8", newline="") as lines:
        for file, head, relation, tail in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            found[file].add((folded(head), relation, folded(tail)))
    return found


def same(head: str, relation: str, tail: str) -> list[Fact]:
    """The ways to say a fact."""
    ways = [(head, relation, tail)]
    if relation in BOTH_WAYS:
        ways.append((tail, relation, head))
    if relation in INVERSES:
        ways.append((tail, INVERSES[relation], head))
    return ways


def left_open(head: str, relation: str, tail: str, facts: set[Fact]) -> bool:
    """Whether labels leave open if a fact is right."""
    others: list[Fact] = []
    if relation == "chairperson":
        others = [(tail, "employer", head), (tail, "position_held", head), (tail, "member_of", head)]
    elif relation == "employer":
        others = [(tail, "chairperson", head)]
    elif relation in ("father", "mother"):
        others = [(tail, "child", head)]
    elif relation == "child":
        others = [(tail, "father", head), (tail, "mother", head)]
    elif relation in COUNTRIES:
        others = [(head, other, tail) for other in COUNTRIES]
    elif relation == "sibling":
        parents = [
            {one for one, what, of in facts if what == "child" and of == name} for name in (head, tail)
        ]
        return not parents[0].isdisjoint(parents[1])
    return any(other in facts for other in others)


def main() -> None:
    """Read, compare, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--wrong", type=float, help="print what is wrong from this confidence on, and what is missing"
    )
    parser.add_argument("--as-prose", action="store_true", help="labels state nothing")
    parser.add_argument(
        "--names-as-found", action="store_true", help="labels do not tell what the names of cells are"
    )
    arguments = parser.parse_args()
    if arguments.as_prose or arguments.names_as_found:
        document.with_cells = lambda text, mentions, labels: sorted(mentions)
    if arguments.as_prose:
        entities.by_labels = lambda document, facts, labels: facts
    right_facts = labelled(arguments.folder)
    loader = TextLoader(find_model("kg", "kg-text-small"))
    counted: dict[str, dict[float, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0, 0]))
    total: dict[str, int] = defaultdict(int)
    for file in sorted(right_facts):
        facts = right_facts[file]
        kind = file[0]
        total[kind] += len(facts)
        (read,) = marked_documents(arguments.folder / file, loader, Met())
        found: dict[Fact, float] = {}
        for fact in read.facts:
            ways = same(folded(fact.head), fact.relation, folded(fact.tail))
            key = next((way for way in ways if way in facts or way in found), ways[0])
            found[key] = max(fact.confidence, found.get(key, 0.0))
        for least in (0.3, 0.5, 0.8):
            said = {fact for fact, sure in found.items() if sure >= least}
            counts = counted[kind][least]
            counts[0] += len(said & facts)
            counts[1] += len([fact for fact in said - facts if not left_open(*fact, facts)])
        if arguments.wrong is not None:
            for fact, sure in sorted(found.items(), key=lambda item: -item[1]):
                if fact not in facts and sure >= arguments.wrong and not left_open(*fact, facts):
                    print(f"{file}  wrong {sure:.2f}", *fact, sep="  ")
            for fact in sorted(facts):
                if found.get(fact, 0.0) < arguments.wrong:
                    print(f"{file}  missing {found.get(fact, 0.0):.2f}", *fact, sep="  ")
    print("kind   at least   said   right   of all found")
    for kind in [*sorted(total), "all"]:
        kinds = sorted(total) if kind == "all" else [kind]
        for least in (0.3, 0.5, 0.8):
            right = sum(counted[one][least][0] for one in kinds)
            said = right + sum(counted[one][least][1] for one in kinds)
            share = right / said if said else float("nan")
            print(
                f"{kind:5}  {least:8}  {said:5}  {share:6.3f}  {right / sum(total[one] for one in kinds):6.3f}"
            )


if __name__ == "__main__":
    main()

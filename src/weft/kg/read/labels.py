"""What the labels of tables and forms say: the relation between a thing and what stands behind or below a label."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import NamedTuple

from weft.kg.schema import Relation, Schema

_PERSON, _FIRM, _PLACE, _OTHER = "PER", "ORG", "LOC", "MISC"
_NAMES = frozenset(
    re.findall(
        r"[^;]+",
        "name;full name;names;known as;name of person;surname and first name;surname, name;surname, first name;"
        "last name, first name",
    )
)
"""Labels of what a record is about, whatever stands beside them."""
_KINDS = {
    kind: type_
    for type_, kinds in {
        _PERSON: "employee;staff member;person;player;author;writer;member;student;actor;poet;painter;musician;"
        "scientist;researcher;teacher;politician;minister;candidate;speaker;athlete;rider;winner;laureate;graduate;"
        "founder;artist;husband;groom;bridegroom;deceased;testator",
        _FIRM: "company;companies;organisation;organization;firm;institution;subsidiary;manufacturer;university;"
        "college;club;team;band;choir;orchestra;party;union;society;newspaper;publisher;label;studio;bank;company name;"
        "name of company;school;brewery;winery;charity;hospital;cooperative;agency;railway;shipyard;association",
        _PLACE: "city;town;village;country;state;county;region;district;municipality;island;river;lake;mountain;peak;"
        "building;bridge;museum;theatre;stadium;station;airport;castle;church;tower;dam;port;lighthouse;mill;mine;site;"
        "waterfall;glacier;canal;harbour;hotel;park;pass;valley;capital",
        _OTHER: "book;novel;title;film;movie;album;song;single;track;work;play;painting;sculpture;poem;opera;show;ship;"
        "vessel;boat;aircraft;locomotive;model;product;game;software;device;app;magazine;journal;event;festival;race;"
        "match;battle;conference;exhibition;tournament;award;prize;name of ship;series;programme;artwork;"
        "object;item;specimen;exhibit;artefact;artifact;piece;lot",
    }.items()
    for kind in kinds.split(";")
}
"""Labels of what a record may be about, where they come first, and what that is."""
_LANGUAGES = frozenset(("languages_spoken", "official_language", "original_language"))
"""Relations with a language: labelled texts call some of them places, as adjectives are."""
_BRACKETED = re.compile(r"\s*\([^()]*\)|\s*\[[^\[\]]*\]")
_PLURAL = re.compile(r"\((?:s|es|ren)\)")
_BEFORE = re.compile(
    r"^(?:the|current|former|present|previous|original|first|last|main|primary|principal|his|her|our)\s+"
)
_EDGES = " \t.:*_#•-–—"


class Stated(NamedTuple):
    """What a label says.

    Args:
        relation: Its name.
        turned: Whether the value is the head: "employees" of a firm, "author of".
        is_weak: Whether the label does not tell what its value is: "Education: Law" names no school.
    """

    relation: str
    turned: bool
    is_weak: bool = False


class _Beside(NamedTuple):
    """The labels of which one has to stand beside another, if there are any, and those of which none may."""

    one: frozenset[str] = frozenset()
    none: frozenset[str] = frozenset()

    def holds(self, beside: Collection[str]) -> bool:
        return (not self.one or not self.one.isdisjoint(beside)) and self.none.isdisjoint(beside)


_ANY = _Beside()
_Listed = tuple[tuple[str, _Beside], ...]


@dataclass(frozen=True)
class Labels:
    """The labels of a schema's relations.

    Args:
        stated: What each label says, and beside which labels.
        relations: The relations by their names.
    """

    stated: dict[str, tuple[tuple[Stated, _Beside], ...]]
    relations: dict[str, Relation]

    @staticmethod
    def of(schema: Schema) -> Labels:
        """The labels of a schema: those listed for its relations, their names and what they are also called."""
        relations = {relation.name: relation for relation in schema.relations}
        stated: dict[str, list[tuple[Stated, _Beside]]] = defaultdict(list)
        for relation in schema.relations:
            names = (plain_label(name.replace("_", " ")) for name in (relation.name, *relation.also))
            tails, heads = _listed().get(relation.name, ((), ()))
            for turned, listed in ((False, (*((name, _ANY) for name in names), *tails)), (True, heads)):
                for label, beside in listed:
                    bare = label.removesuffix("?")
                    stated[bare].append((Stated(relation.name, turned, bare != label), beside))
        return Labels({label: tuple(dict.fromkeys(said)) for label, said in stated.items()}, relations)

    def said(self, label: str, beside: Collection[str] = ()) -> tuple[Stated, ...]:
        """What a label says among others; nothing where it is not known.

        Args:
            label: As :func:`plain_label` writes it.
            beside: The labels of the same record.
        """
        bare = label if label in self.stated else _BEFORE.sub("", label)
        found = self.stated.get(bare, ())
        return tuple(dict.fromkeys(said for said, needs in found if needs.holds(beside)))

    @cached_property
    def kinds(self) -> frozenset[str]:
        """All types that the relations name."""
        return frozenset(
            kind for item in self.relations.values() for kind in (*item.head_types, *item.tail_types)
        )

    def fits(self, said: Stated, subject: str, value: str) -> bool:
        """Whether a subject and a value of these types can be what a label says they are."""
        relation = self.relations[said.relation]
        head, tail = (value, subject) if said.turned else (subject, value)
        return relation.allows(head or None, tail or None)

    def types(self, said: Sequence[Stated], subject: str) -> frozenset[str]:
        """The types that a value may have below a label, beside a subject of a type.

        The set is empty where nothing is said of such a subject, or any type may stand there.
        """
        kinds: set[str] = set()
        for item in said:
            relation = self.relations[item.relation]
            own, other = relation.tail_types, relation.head_types
            if item.turned:
                own, other = other, own
            if not subject or not other or subject in other:
                kinds.update(set(own) - {_PLACE} if item.relation in _LANGUAGES and len(own) > 1 else own)
        return frozenset(kinds)


def plain_label(label: str) -> str:
    """A label as it is looked up: small, without brackets and marks around it.

    "Founder(s):" is ``founders``, "Head office (since 2012)" is ``head office``.
    """
    label = _PLURAL.sub(lambda found: found[0][1:-1], label.replace("\n", " "))
    return " ".join(_BRACKETED.sub("", label).casefold().strip(_EDGES).replace("’", "'").split())


def names_first(label: str) -> bool:
    """Whether a label names what its record is about, whatever stands beside it: "Name"."""
    return label in _NAMES


def kind_of_label(label: str) -> str | None:
    """The type of what a label names, where that may be what its record is about ("Ship"); empty for "Name"."""
    return "" if label in _NAMES else _KINDS.get(label)


@cache
def _listed() -> dict[str, tuple[_Listed, _Listed]]:
    """For each relation of the file the labels of its tails and of its heads."""
    found: dict[str, tuple[_Listed, _Listed]] = {}
    for line in (files("weft.kg.read") / "labels.txt").read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        relation, tails, heads = (part.strip() for part in line.split("|"))
        found[relation] = (_labels(tails), _labels(heads))
    return found


def _labels(listed: str) -> _Listed:
    """Labels with what has to stand beside them ("year + author, director") and what may not ("text - film").

    A question mark ends those that do not tell what their values are.
    """
    found: list[tuple[str, _Beside]] = []
    for part in filter(None, map(str.strip, listed.split(";"))):
        rest, _, none = part.partition(" - ")
        label, _, one = rest.partition(" + ")
        found.append((plain_label(label), _Beside(_several(one), _several(none))))
    return tuple(found)


def _several(labels: str) -> frozenset[str]:
    return frozenset(filter(None, map(plain_label, labels.split(","))))

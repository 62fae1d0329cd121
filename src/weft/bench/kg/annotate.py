"""`weft bench kg-annotate`: types of code whose annotations were taken away, on packages that no training saw."""

from __future__ import annotations

import ast
import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from weft.bench.kg.unseen import MEASURED, package, stripped
from weft.bench.table import Row
from weft.errors import InputError
from weft.kg.annotate.infer import Source, class_of, infer_returns
from weft.kg.evaluate.confidence import Confidence
from weft.kg.extraction.facts import Extractor
from weft.kg.languages.python import LANGUAGE
from weft.kg.languages.python.facts import type_name
from weft.kg.languages.python.units import Function
from weft.kg.languages.unit import Open
from weft.platform.confidence import threshold_at
from weft.platform.files import make_folder, write_text
from weft.platform.models import shipped_models

_FILES = 25
"""Files of a package that are asked about, drawn by a hash of their names."""
_SURE = 0.9


class Answer(NamedTuple):
    """What became of one missing annotation.

    Args:
        package: Its package.
        place: The file and the qualified name of what has it.
        relation: ``"has_type"`` or ``"returns"``.
        gold: The class that was annotated.
        plain: The class that is plain from the code; empty where none is.
        names: The model's, likeliest first.
        probability: Of the first one.
    """

    package: str
    place: tuple[str, str]
    relation: str
    gold: str
    plain: str
    names: tuple[str, ...]
    probability: float

    @property
    def right(self) -> bool:
        """Whether the model's first answer is right."""
        return self.names[:1] == (self.gold,)


def rows(quick: bool = False) -> Iterator[Row]:
    """Every row of the table; ``quick`` asks about a few files of three packages."""
    files, packages = (3, MEASURED[:3]) if quick else (_FILES, MEASURED)
    answers = asked(packages, files)
    variant = f"{len(packages)} packages, {len(answers)} annotations"
    parts = {name: [item for item in answers if item.relation == name] for name in ("has_type", "returns")}
    for name, least in (("has_type", 0.58), ("returns", 0.68)):
        what = "parameter types" if name == "has_type" else "return types"
        right = float(np.mean([item.right for item in parts[name]]))
        text = f"{variant}, {len(parts[name])} of these"
        yield Row(f"kg: {what}, model alone", text, "fp32", "P@1", right, 1.0, "higher", least)
    yield from _returns(parts["returns"], files, variant)
    attributes = plain_attributes(packages)
    variant_of = f"{len(packages)} packages, {len(attributes)} attributes"
    share = float(np.mean(attributes))
    yield Row("kg: attribute types that are plain", variant_of, "–", "P", share, 1.0, "higher")
    confidence = Confidence.load(shipped_models("kg")["kg-python-small"])
    assert confidence is not None
    for name, items in parts.items():
        sure = np.array([confidence(name, item.probability, unstated=True) for item in items])
        good = np.array([item.right for item in items])
        what = "parameters" if name == "has_type" else "returns"
        # So many of the surest that .9 of them should be right, and those of which each is as sure.
        asks = {"asked for a precision of .9": threshold_at(sure.tolist(), _SURE), "each .9 sure": _SURE}
        for question, least in asks.items():
            kept = sure >= least
            measured = float(good[kept].mean()) if kept.any() else float("nan")
            text = f"{variant}, {int(kept.sum())} of {len(items)} kept"
            target = 0.87 if question.startswith("asked") else None
            yield Row(f"kg: {what}, {question}", text, "fp32", "P", measured, 1.0, "higher", target)
    share = _coverage(answers, confidence)
    yield Row("kg: annotated, right nine times of ten", variant, "fp32", "share", share, 1.0, "higher", 0.4)


def _returns(answers: Sequence[Answer], files: int, variant: str) -> Iterator[Row]:
    """What is plain first, then what a checker infers, then the model."""
    first = np.mean([(item.plain or "".join(item.names[:1])) == item.gold for item in answers])
    yield Row("kg: return types, what is plain first", variant, "fp32", "P@1", float(first), 1.0, "higher")
    plain = [item for item in answers if item.plain]
    share = float(np.mean([item.plain == item.gold for item in plain]))
    text = f"{variant}, {len(plain)} of these"
    yield Row("kg: return types that are plain", text, "–", "P", share, 1.0, "higher")
    said = {
        name: inferred_by_pyright(name, files) for name in dict.fromkeys(item.package for item in answers)
    }
    known = [(item, said[item.package].get(item.place, "")) for item in answers]
    sure = [kind == item.gold for item, kind in known if kind]
    text = f"{variant}, {len(sure)} of these"
    name = "kg: return types that pyright infers"
    yield Row(name, text, "–", "P", float(np.mean(sure)), 1.0, "higher")
    right = [(kind or item.plain or "".join(item.names[:1])) == item.gold for item, kind in known]
    name = "kg: return types, the checker's inference first"
    yield Row(name, variant, "fp32", "P@1", float(np.mean(right)), 1.0, "higher", 0.78)


def inferred_by_pyright(name: str, files: int) -> dict[tuple[str, str], str]:
    """The classes that pyright infers of the functions of a package without annotations, by file and name."""
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as folder:
        copy = Path(folder) / name
        for path, text in package_sources(package(name)):
            make_folder((copy / path).parent)
            write_text(copy / path, stripped(text))
        sources = {
            file.path: Source(file.text, "utf-8", list(file.asked)) for file in questions_of(name, files)
        }
        said = infer_returns(sources, copy)
    return {(path, item.head.name): class_of(text) for (path, item), text in said.items()}


def _coverage(answers: Sequence[Answer], confidence: Confidence) -> float:
    """The largest share of the annotations whose surest answers are right nine times out of ten."""
    scored = []
    for item in answers:
        if item.plain:
            scored.append((confidence("plain", 1.0, unstated=True), item.plain == item.gold))
        else:
            scored.append((confidence(item.relation, item.probability, unstated=True), item.right))
    scored.sort(key=lambda pair: -pair[0])
    right = np.cumsum([good for _, good in scored]) / np.arange(1, len(scored) + 1)
    enough = np.flatnonzero(right >= _SURE)
    return float((enough[-1] + 1) / len(scored)) if len(enough) else 0.0


@lru_cache
def asked(packages: tuple[str, ...], files: int) -> list[Answer]:
    """Ask the shipped model for the annotations of packages, after taking them away.

    Args:
        packages: Their names.
        files: Most files of each.
    """
    extractor = Extractor.load(shipped_models("kg")["kg-python-small"])
    raw = replace(extractor, confidence=None)
    return [answer for name in packages for answer in _of_package(name, raw, files)]


def _of_package(name: str, extractor: Extractor, files: int) -> Iterator[Answer]:
    for file in questions_of(name, files):
        found = {item.asked: item for item in extractor.inferred(file.text, file.path, list(file.asked))}
        for item, gold in file.asked.items():
            candidates = found[item].candidates if item in found else ()
            yield Answer(
                name,
                (file.path, item.head.name),
                item.relation,
                gold,
                item.plain,
                tuple(text for text, _ in candidates),
                candidates[0][1] if candidates else 0.0,
            )


class Asked(NamedTuple):
    """A file of a package without its annotations.

    Args:
        path: Below its package.
        text: Its source, without them.
        asked: The questions whose answers were annotated, with the class that was.
    """

    path: str
    text: str
    asked: dict[Open, str]


def questions_of(name: str, files: int) -> Iterator[Asked]:
    """The questions of a package, whose annotations are taken away before anything is read.

    Args:
        name: The package.
        files: Most files, drawn by a hash of their names.
    """
    folder = package(name)
    texts = dict(package_sources(folder))
    tree = LANGUAGE.tree(folder, texts)
    bare = {path: stripped(text) for path, text in texts.items()}
    for path, text in bare.items():
        tree.add(path, LANGUAGE.parse(text, path))
    for path, text in bare.items():
        tree.learn(path, LANGUAGE.parse(text, path))
    drawn = sorted(texts, key=lambda path: hashlib.sha1(path.encode()).digest())[:files]
    for path in sorted(drawn):
        gold = dict(annotated_types(ast.parse(texts[path]), f"{tree.names[path][0]}."))
        questions = tree.open_questions(path, LANGUAGE.parse(bare[path], path))
        known = {item: gold.get((item.head.name, item.relation)) for item in questions}
        yield Asked(path, bare[path], {item: kind for item, kind in known.items() if kind is not None})


def package_sources(folder: Path) -> Iterator[tuple[str, str]]:
    """The files of a package without its tests, with their paths below it."""
    for path in sorted(folder.rglob("*.py")):
        below = path.relative_to(folder)
        if LANGUAGE.is_test(below) or "_tests" in below.parts:
            continue
        try:
            text = LANGUAGE.decode(path.read_bytes(), str(path))
            LANGUAGE.parse(text, str(path))
        except InputError:
            continue
        yield below.as_posix(), text


def annotated_types(node: ast.AST, prefix: str) -> Iterator[tuple[tuple[str, str], str]]:
    """Every annotated parameter and return with its one class; a function that is defined twice is left out."""
    seen: dict[tuple[str, str], set[str | None]] = {}
    for key, kind in _types(node, prefix):
        seen.setdefault(key, set()).add(kind)
    for key, kinds in seen.items():
        kind = kinds.pop()
        if not kinds and kind is not None:
            yield key, kind


def _types(node: ast.AST, prefix: str) -> Iterator[tuple[tuple[str, str], str | None]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            name = f"{prefix}{child.name}"
            if child.returns is not None:
                yield (name, "returns"), type_name(child.returns)
            for argument in (*child.args.posonlyargs, *child.args.args, *child.args.kwonlyargs):
                if argument.annotation is not None:
                    yield (f"{name}.{argument.arg}", "has_type"), type_name(argument.annotation)
            yield from _types(child, f"{name}.")
        elif isinstance(child, ast.ClassDef):
            yield from _types(child, f"{prefix}{child.name}.")
        elif not isinstance(child, ast.expr):
            yield from _types(child, prefix)


def plain_attributes(packages: tuple[str, ...]) -> list[bool]:
    """Whether the types of attributes that are plain from the code are those that were annotated."""
    result: list[bool] = []
    for name in packages:
        folder = package(name)
        texts = dict(package_sources(folder))
        bare = {path: LANGUAGE.parse(stripped(text), path) for path, text in texts.items()}
        tree = LANGUAGE.tree(folder, texts)
        for path, file in bare.items():
            tree.add(path, file)
        for path, text in texts.items():
            gold = dict(_of_classes(ast.parse(text), f"{tree.names[path][0]}."))
            asked = tree.open_attributes(path, bare[path])
            result += [item.plain == gold[item.head.name] for item in asked if gold.get(item.head.name)]
    return result


def _of_classes(node: ast.AST, prefix: str) -> Iterator[tuple[str, str | None]]:
    """Every annotated attribute with its one class."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            name = f"{prefix}{child.name}"
            yield from _of_classes(child, f"{name}.")
            for inner in ast.walk(child):
                if isinstance(inner, ast.AnnAssign):
                    target = inner.target
                    if isinstance(target, ast.Attribute) and getattr(target.value, "id", "") == "self":
                        yield f"{name}.{target.attr}", type_name(inner.annotation)
                    elif isinstance(target, ast.Name) and inner in child.body:
                        yield f"{name}.{target.id}", type_name(inner.annotation)
        elif not isinstance(child, ast.expr | Function):
            yield from _of_classes(child, prefix)

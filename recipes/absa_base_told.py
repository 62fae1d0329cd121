"""What teachers said of the texts that their student learns: asked once, kept in a file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from weft.absa.records import Context, Sentence
from weft.absa.use.asker import Asker
from weft.absa.use.store import load
from weft.train.checkpoint import digest_of_json

TOLD = "told.npz"
"""What the teachers of ``--folds`` said: the answers, and whose each is."""
FIRST = "fold-0/model"


class Told:
    """Teachers that were asked once: their logits of every question, by the sentence's place in its source.

    Args:
        sentences: Those asked about.
        answers: ``(questions, classes)``, probabilities in the order of the sentences and their contexts.
        asker: One of the teachers: its classes and temperature.
    """

    def __init__(self, sentences: Sequence[Sentence], answers: np.ndarray, asker: Asker) -> None:
        self.config = asker.config
        logits = np.log(np.maximum(answers, 1e-9)) * asker.config.temperature
        self._logits = dict(zip(questions_of(sentences), torch.from_numpy(logits), strict=True))

    def represent(self, sentences: Sequence[Sentence]) -> Tensor:
        """What was answered about these sentences, however their words are masked."""
        return torch.stack([self._logits[key] for key in questions_of(sentences)])

    def logits(self, seen: Tensor) -> Tensor:
        """They are known already."""
        return seen

    def to(self, _device: object) -> Told:
        """It has no weights."""
        return self


def questions_of(sentences: Sequence[Sentence]) -> list[tuple[str, Context]]:
    """Every question's sentence, by its place, and context."""
    return [(sentence.where, context) for sentence in sentences for context in sentence.contexts]


def taught_by(path: Path, sentences: Sequence[Sentence]) -> Told:
    """A model's answers, or those of the teachers that have not seen the texts (a folder that ``--folds`` wrote)."""
    if (path / TOLD).exists():
        return Told(sentences, _read(path / TOLD, sentences, weights_of(folds(path))), load(path / FIRST))
    asker, kept = load(path), path.with_name(f"{path.name}-{TOLD}")
    if not kept.exists():
        keep(kept, sentences, asker.answer(sentences), weights_of([path]))
    return Told(sentences, _read(kept, sentences, weights_of([path])), asker)


def _read(file: Path, sentences: Sequence[Sentence], weights: str) -> np.ndarray:
    with np.load(file) as told:
        if told["asked"].tolist() != lines_of(sentences):
            raise SystemExit(f"{file} is about other texts; take it away, and the teachers are asked anew")
        if "weights" not in told or str(told["weights"]) != weights:
            raise SystemExit(f"{file} is by other teachers; take it away, and these are asked")
        return np.asarray(told["answers"])


def folds(path: Path) -> list[Path]:
    """The models of the folds, in their order."""
    return sorted(path.glob("fold-*/model"))


def weights_of(models: Sequence[Path]) -> str:
    """A digest of the weights of some models."""
    return digest_of_json([_sha256(model / "model.safetensors") for model in models])


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def by_folds(
    parts: Sequence[Sequence[Sentence]],
    many: int,
    teacher: Callable[[int, list[list[Sentence]]], Any],
) -> list[np.ndarray]:
    """Each text's answers, ``(contexts, classes)``, by the teacher that did not learn it; texts in the parts' order.

    Args:
        parts: Texts that are cut alike: text ``n`` of each part is fold ``n mod many``.
        many: How many folds, two or more.
        teacher: Trains the teacher of a fold on what is left of each part.
    """
    answers = [[np.zeros(0)] * len(part) for part in parts]
    for fold in range(many):
        asker = teacher(fold, without_fold(parts, many, fold))
        for part, rows in zip(parts, answers, strict=True):
            rows[fold::many] = asker.answer(part[fold::many])
    return [rows for part in answers for rows in part]


def without_fold(parts: Sequence[Sequence[Sentence]], many: int, fold: int) -> list[list[Sentence]]:
    """What is left of each part without a fold."""
    return [[s for n, s in enumerate(part) if n % many != fold] for part in parts]


def keep(file: Path, sentences: Sequence[Sentence], answers: Sequence[np.ndarray], weights: str) -> None:
    """Store what teachers of these weights said; the file has its name when it is whole."""
    part = file.with_name(f"part-{file.name}")
    rows = np.concatenate(answers).astype(np.float32)
    np.savez(part, answers=rows, asked=np.array(lines_of(sentences)), weights=np.array(weights))
    part.rename(file)


def lines_of(sentences: Sequence[Sentence]) -> list[str]:
    """Every question as one line, with its text."""
    return [f"{s.where} {c.target} {c.aspect} {s.text}" for s in sentences for c in s.contexts]


def agreement(
    own: Sequence[Sentence], answers: Sequence[np.ndarray], polarities: Sequence[str]
) -> dict[str, float]:
    """How often an answer is the label, and how sure it is of it."""
    gold = np.array([polarities.index(p) for sentence in own for p in sentence.polarities])
    rows = np.concatenate(answers[: len(own)])
    return {
        "accuracy": float((rows.argmax(-1) == gold).mean()),
        "mean probability of the label": float(rows[np.arange(len(gold)), gold].mean()),
    }

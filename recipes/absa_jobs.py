"""The trainings of ``absa_small.py``: what a job is, and which jobs each plan holds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

ASPECTS = (
    "price",
    "safety",
    "transit-location",
    "general",
    "dining",
    "green-nature",
    "live",
    "multicultural",
    "nightlife",
    "quiet",
    "shopping",
    "touristy",
)


@dataclass(frozen=True)
class Job:
    """One training with its evaluation.

    Args:
        name: What it is called in the results; with ``seed`` it is unique.
        seed: Of every random draw.
        corpus: ``"sentihood"`` or ``"semeval"``.
        held: ``"holdout"`` (15 % of SentiHood train, or SemEval's 15 % for choices), ``"report"`` (SentiHood dev, or
            SemEval's 15 % for testing) or ``"final"`` (the same, and what was held out for choices is trained on).
        terms: Of SemEval: learn the polarity of the aspect terms as well; they are not evaluated.
        frequent: Train on the four frequent SentiHood aspects only.
        left_out: Aspects that training does not see; then only these are evaluated, each for itself.
        options: Of ``ModelOptions``.
        train: Of ``TrainConfig``.
        learning: Of ``Learning``; ``augmentation`` of ``Augmentation``.
        teacher: Name and seed of the jobs whose models teach, ``name/seed``; of several, their mean.
        begin: Name and seed of the job whose model this one goes on from.
        save: Keep the model under ``OUT/models``.
        ship: Also write it as the shipped model.
        deletion: Questions on which explanations are tested by deletion.
    """

    name: str
    seed: int = 0
    corpus: str = "sentihood"
    held: str = "report"
    terms: bool = False
    frequent: bool = False
    left_out: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    train: dict[str, Any] = field(default_factory=dict)
    learning: dict[str, Any] = field(default_factory=dict)
    teacher: tuple[str, ...] = ()
    begin: str | None = None
    save: bool = False
    ship: bool = False
    deletion: int = 0

    @property
    def key(self) -> str:
        """Name and seed."""
        return f"{self.name}/{self.seed}"


ABSA = Job(
    "weft-absa",
    options={"target_layers": 2, "frozen_layers": 2, "similarity_layers": 4, "aspect_dropout": 0.2},
    train={"epochs": 16, "batch_size": 32, "learning_rate": 3e-4, "layer_decay": 0.8},
    learning={"augmentation": {"concatenate": 0.5, "swap": 0.5}},
)
PAIR = Job(
    "pair",
    frequent=True,
    options={"kind": "pair"},
    train={"epochs": 8, "batch_size": 12, "learning_rate": 1e-4, "layer_decay": 0.9},
)
QUASI = {"epochs": 8, "batch_size": 12, "learning_rate": 1e-4, "layer_decay": 0.9}


def changed(job: Job, name: str, **changes: Any) -> Job:
    """The job with another name; dictionaries are merged into the job's own."""
    merged = {
        key: {**getattr(job, key), **value} if isinstance(value, dict) else value
        for key, value in changes.items()
    }
    return replace(job, name=name, **merged)


def screening() -> list[Job]:
    """Settings compared on the fixed split of train."""
    base = replace(ABSA, held="holdout")
    augment = base.learning["augmentation"]
    return [
        changed(base, "base"),
        changed(base, "target_layers=0", options={"target_layers": 0}),
        changed(base, "target_layers=4", options={"target_layers": 4}),
        changed(base, "frozen=3", options={"frozen_layers": 3}),
        changed(base, "rate=1.5e-4", train={"learning_rate": 1.5e-4}),
        changed(base, "rate=6e-4", train={"learning_rate": 6e-4}),
        changed(base, "blocks=2", options={"pooler_blocks": 2}),
        changed(base, "smoothing=0.1", learning={"label_smoothing": 0.1}),
        changed(base, "concatenate=0.7", learning={"augmentation": {**augment, "concatenate": 0.7}}),
        changed(base, "balance=0.3", learning={"class_balance": 0.3}),
        changed(base, "epochs=28", train={"epochs": 28}),
        changed(base, "layer_decay=0.65", train={"layer_decay": 0.65}),
        changed(replace(PAIR, held="holdout"), "holdout pair"),
        changed(replace(PAIR, held="holdout"), "holdout pair rate=2e-4", train={"learning_rate": 2e-4}),
    ]


def table(absa: Job) -> list[Job]:
    """Everything that the results table needs, the most important first."""
    absa = replace(absa, name="table weft-absa", held="report")
    plain = {"augmentation": {"concatenate": 0.0, "swap": 0.0}}
    qacg = Job("qacg", frequent=True, options={"kind": "qacg"}, train=QUASI)
    official = Job(
        "qacg-official", frequent=True, options={"kind": "qacg-official", "pooling": "cls"}, train=QUASI
    )
    equal = changed(absa, "weft-absa, 8 epochs, 4 aspects", frequent=True, train={"epochs": 8})
    augment = absa.learning.get("augmentation", {})
    jobs = [replace(absa, seed=seed, save=True, ship=seed == 0) for seed in range(3)]
    jobs += [replace(PAIR, seed=seed, save=True, deletion=150 * (seed == 0)) for seed in range(3)]
    jobs += [
        replace(job, seed=seed, deletion=150 * (seed == 0))
        for job in (qacg, official, equal)
        for seed in range(3)
    ]
    jobs += [changed(absa, f"table without {aspect}", left_out=(aspect,)) for aspect in ASPECTS]
    semeval = replace(
        absa,
        name="semeval weft-absa",
        corpus="semeval",
        options={**absa.options, "target_layers": 0},
        learning={},
    )
    pair = replace(PAIR, name="semeval pair", corpus="semeval", frequent=False)
    for seed in range(3):
        jobs += [replace(semeval, seed=seed), replace(pair, seed=seed)]
    jobs += [
        changed(
            absa, "distilled from pair", frequent=True, learning={"distillation": 0.5}, teacher=("pair/0",)
        ),
        changed(
            absa, "distilled from itself", learning={"distillation": 0.5}, teacher=("table weft-absa/1",)
        ),
    ]
    for seed in range(3):
        jobs += [
            replace(job, seed=seed)
            for job in (
                changed(
                    absa,
                    "no target mark, no distance",
                    options={"target_mark": False, "target_distance": False},
                ),
                changed(absa, "no distance", options={"target_distance": False}),
                changed(absa, "target layers 0", options={"target_layers": 0}),
                changed(absa, "no augmentation", learning=plain),
                changed(absa, "no concatenation", learning={"augmentation": {**augment, "concatenate": 0.0}}),
                changed(absa, "no aspect dropout", options={"aspect_dropout": 0.0, "similarity_layers": -1}),
                changed(official, "qacg-official, context id alone", options={"text_pair": False}),
                changed(official, "cg", options={"kind": "cg"}),
                changed(qacg, "qacg, gate pooling", options={"pooling": "gate"}),
            )
        ]
    return jobs


SMALL = {"batch_size": 12, "learning_rate": 2e-4, "layer_decay": 0.85}
"""For a processor core, where epochs are few: chosen by `holdout`."""


def shipped(absa: Job) -> list[Job]:
    """How the shipped model was made on one processor core, two more seeds of it, its teachers, and these with masks.

    The teachers are the three seeds of the first recipe; each student begins anew from the start.
    """
    absa = changed(absa, "weft-absa", train={**SMALL, "epochs": 10}, learning={"contrast": 2.0})
    augment = {**absa.learning["augmentation"], "mask": 0.2, "masked_texts": 0.05}
    masked = changed(absa, "weft-absa, a twentieth masked", learning={"augmentation": augment})
    pupil = changed(absa, "weft-absa, distilled", learning={"distillation": 0.5})
    pupil = replace(pupil, teacher=tuple(f"weft-absa/{seed}" for seed in range(3)))
    return [
        replace(job, seed=seed, save=True, ship=job is pupil and seed == 0)
        for job in (absa, masked, pupil)
        for seed in range(3)
    ]


def longer(absa: Job) -> list[Job]:
    """Six more epochs at a lower rate, on the part of train that chooses and on all of it."""
    more = {**SMALL, "epochs": 6, "learning_rate": 1.5e-4}
    absa = changed(absa, "weft-absa, 10 + 6 epochs", begin="weft-absa/0", train=more, seed=10)
    first = replace(absa, name="holdout, 6 + 6 epochs", held="holdout", begin="holdout, batches of 12/0")
    return [replace(first, save=True), replace(absa, save=True, ship=True)]


def equal(absa: Job) -> list[Job]:
    """Every model at one small equal budget, for a processor core: settings tuned for none of them."""
    once, few = {**SMALL, "epochs": 1}, {**SMALL, "epochs": 4}
    absa = changed(absa, "weft-absa, 1 epoch", frequent=True, train=once)
    pair = Job("pair, 1 epoch", frequent=True, options={"kind": "pair"}, train=once)
    qacg = changed(pair, "qacg, 1 epoch", options={"kind": "qacg"})
    official = changed(pair, "qacg-official, 1 epoch", options={"kind": "qacg-official", "pooling": "cls"})
    cg = changed(official, "cg, 1 epoch", options={"kind": "cg"})
    longer = changed(pair, "pair, 3 epochs", train={**SMALL, "epochs": 3})
    longest = changed(pair, "pair, 6 epochs", train={**SMALL, "epochs": 6}, save=True)
    semeval = changed(
        replace(absa, learning={}),
        "semeval weft-absa, 4 epochs",
        corpus="semeval",
        options={"target_layers": 0},
        train=few,
    )
    semeval_long = changed(semeval, "semeval weft-absa, 10 epochs", train={**SMALL, "epochs": 10})
    semeval_masked = changed(
        semeval_long,
        "semeval weft-absa, masked words, 10 epochs",
        learning={"augmentation": {"mask": 0.1}},
    )
    semeval_final = changed(
        semeval_long,
        "semeval weft-absa, masked words and terms, final, 10 epochs",
        held="final",
        terms=True,
        options={"target_layers": 2},
        learning={"augmentation": {"mask": 0.1}},
    )
    semeval_pair = changed(pair, "semeval pair, 1 epoch", corpus="semeval")
    # Three aspects at once, so that four trainings show all twelve unseen: the harder test, for nine are known.
    left_out = [
        changed(absa, f"without {', '.join(part)}", frequent=False, left_out=part)
        for part in (ASPECTS[first::4] for first in range(4))
    ]
    alone = [changed(absa, f"without {aspect}", frequent=False, left_out=(aspect,)) for aspect in ASPECTS]
    return [
        *(*left_out, absa, qacg, pair, official, cg, semeval, longer),
        *(replace(job, seed=seed) for seed in (1, 2) for job in (absa, qacg, pair, official, cg)),
        *(replace(job, seed=seed) for job in (longer, semeval) for seed in (1, 2)),
        *(replace(longest, seed=seed) for seed in range(3)),
        semeval_pair,
        *(
            replace(job, seed=seed, save=job is semeval_masked)
            for job in (semeval_long, semeval_masked, semeval_final)
            for seed in range(3)
        ),
        *(
            replace(changed(semeval_pair, "semeval pair, 6 epochs", train={"epochs": 6}), seed=s)
            for s in range(3)
        ),
        *alone,
    ]


def semeval(absa: Job) -> list[Job]:
    """Ways against overfitting on SemEval, compared on the 15 % that are for choices."""
    base = replace(absa, corpus="semeval", held="holdout", learning={})
    base = changed(base, "semeval choice", options={"target_layers": 0}, train={**SMALL, "epochs": 10})
    masked = {"augmentation": {"mask": 0.1}}
    targets = changed(base, "", options={"target_layers": 2}, learning=masked)
    first = {"begin": "weft-absa/0", "train": {"epochs": 6}}
    return [
        base,
        changed(base, "semeval choice, mask 0.1", learning=masked),
        changed(targets, "semeval choice, mask 0.1, SentiHood and terms", terms=True, **first),
        changed(targets, "semeval choice, mask 0.1, SentiHood", **first),
        changed(targets, "semeval choice, mask 0.1, terms", terms=True),
        changed(
            replace(
                base, teacher=tuple(f"semeval weft-absa, masked words, 10 epochs/{seed}" for seed in range(3))
            ),
            "semeval choice, mask 0.1, distilled from three",
            learning={**masked, "distillation": 0.5},
        ),
        changed(
            targets,
            "semeval choice, mask 0.1, terms, consistency 1",
            terms=True,
            learning={"consistency": 1.0},
        ),
        changed(
            base,
            "semeval choice, mask 0.1, nothing frozen",
            options={"frozen_layers": -1, "similarity_layers": -1, "aspect_dropout": 0.0},
            learning=masked,
        ),
        changed(base, "semeval choice, mask 0.1, rate 3e-4", train={"learning_rate": 3e-4}, learning=masked),
        changed(base, "semeval choice, smoothing 0.1", learning={"label_smoothing": 0.1}),
        changed(base, "semeval choice, balance 0.3", learning={"class_balance": 0.3}),
        changed(base, "semeval choice, rate 3e-4", train={"learning_rate": 3e-4}),
    ]


def holdout(absa: Job) -> list[Job]:
    """Batch size, class balance, contrast and augmentation, compared on the fixed split of train."""
    base = replace(absa, held="holdout", save=True)
    small = {**SMALL, "epochs": 6}
    return [
        changed(base, "holdout, batches of 12", train=small),
        changed(base, "holdout, batches of 32", train={"epochs": 6}),
        changed(base, "holdout, batches of 12, balance 0.3", train=small, learning={"class_balance": 0.3}),
        changed(base, "holdout, batches of 12, contrast 2", train=small, learning={"contrast": 2.0}),
        changed(base, "holdout, batches of 12, contrast 5", train=small, learning={"contrast": 5.0}),
        changed(
            base,
            "holdout, batches of 12, contrast 2, mask 0.1",
            train=small,
            learning={"contrast": 2.0, "augmentation": {"concatenate": 0.5, "swap": 0.5, "mask": 0.1}},
        ),
        *(
            changed(
                base,
                f"holdout, batches of 12, contrast 2, mask 0.2 in a {name}",
                train=small,
                learning={
                    "contrast": 2.0,
                    "augmentation": {"concatenate": 0.5, "swap": 0.5, "mask": 0.2, "masked_texts": share},
                },
            )
            for name, share in (("quarter", 0.25), ("tenth", 0.1), ("twentieth", 0.05))
        ),
        *(
            changed(
                base,
                f"holdout, batches of 12, contrast 2{name}",
                seed=1,
                train=small,
                learning={
                    "contrast": 2.0,
                    "augmentation": {"concatenate": 0.5, "swap": 0.5, "mask": 0.2, "masked_texts": share},
                },
            )
            for name, share in (("", 0.0), (", mask 0.2 in a twentieth", 0.05))
        ),
        changed(
            base,
            "holdout, batches of 12, contrast 2, consistency 1",
            train=small,
            learning={"contrast": 2.0, "consistency": 1.0},
        ),
        changed(
            base,
            "holdout, batches of 12, contrast 2, smoothing 0.1",
            train=small,
            learning={"contrast": 2.0, "label_smoothing": 0.1},
        ),
        changed(
            base,
            "holdout, batches of 12, contrast 2, distilled",
            train=small,
            learning={"contrast": 2.0, "distillation": 0.5},
            teacher=("holdout, batches of 12, contrast 2/0",),
        ),
        *(
            changed(
                base,
                f"holdout, batches of 12, contrast 2{name}, distilled from three",
                seed=seed,
                train=small,
                learning={
                    "contrast": 2.0,
                    "distillation": 0.5,
                    "augmentation": {"concatenate": 0.5, "swap": 0.5, "mask": 0.2, "masked_texts": share},
                },
                teacher=(
                    "holdout, batches of 12/0",
                    "holdout, batches of 12, contrast 2/0",
                    "holdout, batches of 12, contrast 2/1",
                ),
            )
            for seed in range(2)
            for name, share in (("", 0.0), (", mask 0.2 in a twentieth", 0.05))
        ),
        changed(
            base,
            "holdout, batches of 12, contrast 2, same target 0.4",
            train=small,
            learning={"contrast": 2.0, "augmentation": {"concatenate": 0.7, "swap": 0.5, "same_target": 0.4}},
        ),
    ]

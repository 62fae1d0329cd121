r"""SemEval's own split and SentiHood with a base-size start, and students of it: one command for each row.

    R=recipes/absa_base.py
    python $R --data DATA --start MPNET --out OUT/semeval --corpus semeval
    python $R --data DATA --start MINILM --out OUT/student --corpus semeval --teacher OUT/semeval/model
    python $R --data DATA --start MPNET --out OUT/folds --corpus semeval --folds 3
    python $R --data DATA --start MINILM --out OUT/student-of-folds --corpus semeval --teacher OUT/folds
    python $R --data DATA --start MPNET --out OUT/sentihood --corpus sentihood --rate 5e-5 --head-rate 20 \
        --options '{"pooler_blocks": 0}'

SemEval is learnt in two parts: restaurants of other collections (``absa_restaurants.py``) with its own, then its
train split alone, with its aspect terms. The threshold is where aspect F1 is highest on the 15 % for choices; the 15 %
for testing are asked once. ``--folds 3`` trains three teachers, each without a third of all texts, and keeps what each
says about that third: their student learns every text from a teacher that has not seen it. SentiHood: the asked place
is written "target place", the other one "other place", each view of a text is read by itself, and the aspect pools it,
plainly (``pooler_blocks`` 0) and at a rate of its own; its threshold is given. A run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from absa_base_told import TOLD, agreement, by_folds, folds, keep, taught_by, weights_of, without_fold
from absa_restaurants import Parts, as_corpus, parts
from kept import identity, kept_records, settings_of

from weft.absa.config import ModelOptions
from weft.absa.evaluate.metrics import micro_prf, semeval_metrics
from weft.absa.evaluate.report import controls, score, scored, summary
from weft.absa.evaluate.threshold import GRID, choose_threshold
from weft.absa.learn.augment import Augmentation, Augmenter, rename
from weft.absa.learn.training import Learning, split, train
from weft.absa.read.sentihood import ALL_ASPECTS, FREQUENT_ASPECTS, TARGETS, read_sentihood
from weft.absa.records import Corpus, Sentence
from weft.absa.represent.vocabulary import prune_vocabulary
from weft.absa.use.asker import Asker
from weft.absa.use.store import load, save
from weft.encoder.checkpoint.pretrained import Pretrained, load_pretrained
from weft.platform.files import append_text
from weft.train.config import TrainConfig

ASKED, OTHER = "target place", "other place"


def learn(
    sentences: Sequence[Sentence],
    polarities: Sequence[str],
    arguments: argparse.Namespace,
    name: str,
    epochs: float,
    *,
    options: ModelOptions,
    learning: Learning,
    begin: Asker | None,
    start: Pretrained,
    teacher: Any = (),
) -> Asker:
    """One part of a training."""
    corpus = replace(as_corpus(sentences), polarities=tuple(polarities))
    settings = {
        "batch_size": 12,
        "learning_rate": arguments.rate,
        "layer_decay": arguments.decay,
        "schedule": "linear",
        "warmup": 0.1,
        "precision": "bf16",
        "save_every": 100,
        "log_every": 10,
        "keep": 1,
    }
    settings |= json.loads(arguments.train)
    steps = round(epochs * len(sentences) / int(settings["batch_size"]))
    draw: Callable[..., list[Sentence]] = Augmenter(sentences, learning.augmentation)
    trained = train(
        corpus,
        start,
        options,
        TrainConfig(**settings, steps=max(1, steps), seed=arguments.seed, restore_best=False, threads=1),
        learning=learning,
        draw=draw,
        begin=begin,
        teacher=teacher,
        directory=arguments.out / name,
        identity=identity(arguments, ("data", "fold")),
    )
    return trained.asker


def depths(start: Pretrained, frozen: int | None) -> dict[str, int]:
    """A third of the layers stays as it is, where no other number is asked for."""
    third = start.encoder.config.num_hidden_layers // 3
    return {"frozen_layers": third if frozen is None else frozen, "similarity_layers": -1}


def options_of(arguments: argparse.Namespace, start: Pretrained, **others: Any) -> ModelOptions:
    """The model's options: those of the recipe, and ``--options`` over them."""
    usual = {"aspect_dropout": 0.0, **depths(start, arguments.frozen), **others}
    return ModelOptions(**usual | json.loads(arguments.options))


def semeval(arguments: argparse.Namespace, start: Pretrained) -> dict[str, Any]:
    """Other restaurants, then SemEval's own."""
    found: Parts = parts(arguments.data)
    print(
        f"{len(found.train.sentences)} to train on, {len(found.choice.sentences)} for choices, "
        f"{len(found.test.sentences)} for testing; {len(found.others)} others, {found.dropped} dropped",
        flush=True,
    )
    polarities = found.train.polarities
    own, others = list(found.train.sentences), list(found.others)
    if arguments.quick:
        own, others = own[:24], others[:24]
    if arguments.folds:
        return folded(arguments, start, own, others, found)
    asker = restaurants(arguments, start, own, others, polarities)
    save(arguments.out / "model", asker)
    return tested(asker, found)


def restaurants(
    arguments: argparse.Namespace,
    start: Pretrained,
    own: Sequence[Sentence],
    others: Sequence[Sentence],
    polarities: Sequence[str],
    under: str = "",
    longer: float = 1.0,
) -> Asker:
    """Both parts of a training, so many times as long; its checkpoints lie in the folder ``under`` of the output."""
    options = options_of(arguments, start, max_length=128)
    teacher: Any = () if arguments.teacher is None else [taught_by(arguments.teacher, [*own, *others])]
    share = arguments.distillation if teacher else 0.0
    learning = Learning(
        Augmentation(mask=0.1),
        distillation=share,
        blank_texts=0,
        polarity=arguments.polarity,
        head_rate=arguments.head_rate,
    )
    shared = {"options": options, "learning": learning, "teacher": teacher, "start": start}
    first = None
    if arguments.first:
        # A first look at SemEval's own, so that its categories are known in both parts.
        texts = [*others, *own]
        epochs = longer * arguments.first
        first = learn(texts, polarities, arguments, f"{under}first", epochs, begin=None, **shared)
    epochs = longer * arguments.epochs
    return learn(own, polarities, arguments, f"{under}second", epochs, begin=first, **shared)


def folded(
    arguments: argparse.Namespace,
    start: Pretrained,
    own: Sequence[Sentence],
    others: Sequence[Sentence],
    found: Parts,
) -> dict[str, Any]:
    """As many teachers, each asked about the texts that it was not trained on; they are measured alone, too."""
    results: dict[str, Any] = {}
    many = arguments.folds

    def teacher(fold: int, learnt: list[list[Sentence]]) -> Asker:
        print(f"fold {fold}", flush=True)
        place, settings = arguments.out / f"fold-{fold}", settings_of(arguments, ("data", "fold"))
        if kept_records(place / "kept.jsonl", settings):
            asker = load(place / "model")
        else:
            # As many steps as a teacher of all texts has: with fewer the categories are hardly learnt.
            longer = many / (many - 1)
            polarities = found.train.polarities
            asker = restaurants(arguments, start, *learnt, polarities, f"fold-{fold}/", longer)
            save(place / "model", asker)
            append_text(place / "kept.jsonl", json.dumps({"settings": settings}) + "\n")
        results[f"fold {fold}"] = tested(asker, found)
        return asker

    if arguments.fold is not None:
        teacher(arguments.fold, without_fold((own, others), many, arguments.fold))
        return results
    answers = by_folds((own, others), many, teacher)
    results["unseen train texts"] = agreement(own, answers, found.train.polarities)
    keep(arguments.out / TOLD, [*own, *others], answers, weights_of(folds(arguments.out)))
    return results


def tested(asker: Asker, found: Parts) -> dict[str, Any]:
    """The threshold that the choices prefer, and what both parts say at it."""
    chosen = score(asker, found.choice)
    threshold = max(GRID, key=lambda at: (micro_prf(replace(chosen, threshold=at))[2], -abs(at - 0.5)))
    asked = score(asker, found.test)
    return {
        "threshold": threshold,
        "choice": semeval_metrics(replace(chosen, threshold=threshold)),
        "choice at .5": semeval_metrics(replace(chosen, threshold=0.5)),
        "test": semeval_metrics(replace(asked, threshold=threshold)),
        "test at .5": semeval_metrics(replace(asked, threshold=0.5)),
    }


def views(sentence: Sentence) -> list[Sentence]:
    """One sentence for every place asked about, which is written as what it is."""
    found: list[Sentence] = []
    for target, members in sentence.groups().items():
        names = {name: ASKED if name == target else OTHER for name in TARGETS}
        found.append(
            rename(
                Sentence(
                    sentence.text,
                    tuple(sentence.contexts[i] for i in members),
                    tuple(sentence.polarities[i] for i in members),
                    f"{sentence.where} {target}",
                ),
                names,
            )
        )
    return found


def by_views(asker: Asker, corpus: Corpus) -> np.ndarray:
    """The answers to a corpus, asked view by view; rows in the corpus's order."""
    cut = [(number, view) for number, s in enumerate(corpus.sentences) for view in views(s)]
    answers = asker.answer([view for _, view in cut])
    found: dict[tuple[int, str, str], np.ndarray] = {}
    for (number, view), rows in zip(cut, answers, strict=True):
        target = view.where.rsplit(" ", 1)[1]
        found.update(((number, target, c.aspect), row) for c, row in zip(view.contexts, rows, strict=True))
    order = [(n, c.target or "", c.aspect) for n, s in enumerate(corpus.sentences) for c in s.contexts]
    return np.stack([found[key] for key in order])


def sentihood(arguments: argparse.Namespace, start: Pretrained) -> dict[str, Any]:
    """All twelve aspects of train, the four frequent ones of dev."""
    corpus = read_sentihood(arguments.data / "sentihood/sentihood-train.json", ALL_ASPECTS)
    dev = read_sentihood(arguments.data / "sentihood/sentihood-dev.json", ALL_ASPECTS).only(FREQUENT_ASPECTS)
    if arguments.choose:
        corpus, dev = split(corpus, 0.15, seed=0)
        dev = dev.only(FREQUENT_ASPECTS)
    if arguments.frequent:
        corpus = corpus.only(FREQUENT_ASPECTS)
    sentences = [view for sentence in corpus.sentences for view in views(sentence)]
    if arguments.quick:
        sentences, dev = sentences[:24], dev.subset(range(12))
    options = options_of(arguments, start)
    asker = learn(
        sentences,
        corpus.polarities,
        arguments,
        "run",
        arguments.epochs,
        options=options,
        learning=Learning(
            blank_texts=0,
            class_balance=arguments.balance,
            polarity=arguments.polarity,
            head_rate=arguments.head_rate,
        ),
        begin=None,
        start=start,
    )
    save(arguments.out / "model", asker)
    probabilities = by_views(asker, dev)
    results: dict[str, Any] = {}
    judged = {"dev": arguments.threshold, "dev at .5": 0.5}
    if arguments.choose:
        judged["chosen"] = choose_threshold(scored(dev, probabilities))
    for name, threshold in judged.items():
        result = scored(dev, probabilities, threshold)
        seen = controls(result, dev)
        results[name] = {
            "threshold": threshold,
            **summary(result, dev),
            "wrong_aspect": seen.wrong_aspect,
            "wrong_target": seen.wrong_target,
            "both_targets": seen.both_targets,
        }
    return results


def main() -> None:
    """Parse, train, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--start", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--corpus", choices=("semeval", "sentihood"), required=True)
    parser.add_argument(
        "--encoder-of", help="begin with the encoder of this trained model instead of the start's"
    )
    parser.add_argument(
        "--teacher",
        type=Path,
        help="of SemEval: a model, or a folder of --folds, whose answers are learnt, too",
    )
    parser.add_argument(
        "--folds",
        type=int,
        default=0,
        help="of SemEval: so many teachers, each without its part of the texts",
    )
    parser.add_argument(
        "--fold",
        type=int,
        help="train this one alone, beside others; the run without this option asks them all",
    )
    parser.add_argument("--distillation", type=float, default=0.6, help="weight of the teacher's answers")
    parser.add_argument(
        "--first", type=float, default=1.0, help="of SemEval: epochs over the other restaurants"
    )
    parser.add_argument("--epochs", type=float, default=5.0)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--decay", type=float, default=0.9, help="of the rate, from layer to layer")
    parser.add_argument(
        "--frozen", type=int, help="lower layers that stay; -1 trains the embeddings (a third)"
    )
    parser.add_argument("--threshold", type=float, default=0.34, help="of SentiHood")
    parser.add_argument(
        "--frequent", action="store_true", help="of SentiHood: learn the four frequent aspects alone"
    )
    parser.add_argument(
        "--choose",
        action="store_true",
        help="of SentiHood: learn 85 %% of train, measure on the rest, at the best threshold, too",
    )
    parser.add_argument("--balance", type=float, default=0.0, help="of SentiHood: exponent of class weights")
    parser.add_argument("--polarity", type=float, default=0.0, help="weight of which opinion there is")
    parser.add_argument("--head-rate", type=float, default=1.0, help="of the classifier, times the encoder's")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--train", default="{}", help="of TrainConfig, JSON")
    parser.add_argument("--options", default="{}", help="of ModelOptions, JSON")
    parser.add_argument("--quick", action="store_true", help="a few sentences: a smoke test")
    arguments = parser.parse_args()
    if arguments.folds and (arguments.corpus != "semeval" or arguments.teacher or arguments.folds < 2):
        parser.error("--folds: two or more, of --corpus semeval, without --teacher")
    if arguments.fold is not None and arguments.fold not in range(arguments.folds):
        parser.error(f"--fold: one of {arguments.folds} folds, counted from 0")
    arguments.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    begun = time.process_time()
    start = prune_vocabulary(load_pretrained(arguments.start))
    if arguments.encoder_of is not None:
        model = load(arguments.encoder_of)
        start = Pretrained(model.module.encoder, model.tokenizer, None, None)
    found = (semeval if arguments.corpus == "semeval" else sentihood)(arguments, start)
    results = {"processor_seconds": round(time.process_time() - begun), **found}
    (arguments.out / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()

"""Train ``absa-any``, the model of ``weft absa`` for any review, and measure it: one command.

    python recipes/absa_any.py --data DATA --start MINILM --out OUT

``--data`` holds ``absa/mams``, ``absa/absadatasets``, ``absa/mabsa`` (measured on, never trained on) and ``sentihood``;
``--start`` is a BERT checkpoint's directory of any size. A run that was stopped goes on where it stood.
``--without restaurants`` leaves a domain's reviews out, ``--without-kind eat`` the made and told sentences about a kind
of thing; ``--share 0.3`` takes a part of each source, for a look.
Measured figures go to ``OUT/results.json``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from absa_any_kinds import Kinds
from absa_any_lessons import Lessons
from absa_any_lists import read_aspects, read_names
from absa_any_long import EVERY, is_new, read_long
from absa_any_made import Maker
from absa_any_marked import read_marked
from absa_any_plain import Plain
from absa_any_sources import DOMAINS, held_out, reviews_of
from absa_any_told import Teller, is_told, read_both, read_things, read_told
from absa_any_typed import Typed
from kept import identity

from weft.absa.read.quadruples import read_mabsa
from weft.absa.read.reviews import POLARITIES, Review, questions
from weft.absa.read.sentihood import ALL_ASPECTS, read_sentihood
from weft.absa.records import Corpus, Sentence

MEASURED = ("coursera", "food", "hotel", "laptop", "phone", "restaurant", "sight")
Making = Callable[[Random], Sentence]
QUESTIONS = Path(__file__).parents[1] / "examples/absa/questions.csv"


def calibrated(asker: Any, data: Path, left: list[Review], without: set[str]) -> Any:
    """The model at the temperature of MAMS's categories and of laptops, of texts that it was not trained on.

    ``left`` has no review of a domain that is left out; a model without restaurants and laptops stays as it is.
    """
    import numpy as np

    from weft.absa.evaluate.temperature import logits_of
    from weft.platform.confidence import fit_temperature

    parts: list[Corpus] = []
    if "restaurants" not in without:
        parts += [questions(held_out(data), 8, 250)]
    laptops = [review for review in left if review.domain == "laptops"]
    parts += [questions(laptops, 10, 250)] if laptops else []
    if not parts:
        return asker
    answers = np.concatenate([np.concatenate(asker.answer(part.sentences)) for part in parts])
    gold = np.concatenate([np.array(part.gold()) for part in parts])
    return asker.calibrated(fit_temperature(logits_of(answers), gold).value * asker.config.temperature)


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Train, store, measure."""
    import torch

    from weft.absa.config import ModelOptions
    from weft.absa.learn.training import Learning, train
    from weft.absa.represent.vocabulary import prune_vocabulary
    from weft.absa.use.store import load, save
    from weft.encoder.checkpoint.pretrained import load_pretrained
    from weft.train.config import TrainConfig

    torch.set_num_threads(arguments.threads)
    reviews, left = reviews_of(
        arguments.data, set(arguments.without), arguments.share, arguments.tweets, arguments.seed
    )
    places = list(read_sentihood(arguments.data / "sentihood/sentihood-train.json", ALL_ASPECTS).sentences)
    reviews += arguments.marked * [one.review() for one in read_marked() if one.terms and not one.chooses]
    many = min(len(places), round(arguments.places * arguments.share * len(places)))
    places = [] if "places" in arguments.without else Random(arguments.seed).sample(places, many)
    places *= arguments.repeat
    aspects, names = read_aspects(), read_names()
    made = round(arguments.made * (len(reviews) + len(places)))
    pairs = round(arguments.pairs * len(reviews))
    out = set(arguments.without_kind)
    # Who is trained on is counted over all kinds: those that choose stay the same whatever is left out.
    told, both = (
        [one for one in trained_on(part) if one.kind not in out] for part in (read_told(), read_both())
    )
    teller = Teller(told, arguments.both * both, aspects, names)
    made_of = {kind: listed for kind, listed in names.items() if kind not in out}
    maker = by_turns(Maker(aspects, made_of), Kinds(without=out), arguments.kinds)
    maker = by_turns(maker, Plain(), arguments.plain)
    lessons = Lessons(
        reviews,
        places,
        made,
        pairs,
        aspects,
        names,
        maker,
        teller,
        arguments.told,
        arguments.unlabelled,
        arguments.several,
        arguments.joined,
    )
    for name in EVERY:
        times = getattr(arguments, name.removesuffix(".jsonl"))
        lessons.add([one for one in read_long(name) if not one.chooses], times)
    corpus = Corpus(lessons.sentences, POLARITIES)
    print(
        f"{len(reviews)} reviews, {len(places)} of places, {made} made, {pairs} pairs; {len(lessons.sentences)} rows",
        flush=True,
    )
    start = load_pretrained(arguments.start)
    options, rates = by_depth(start.encoder.config.num_hidden_layers)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    settings = {"schedule": "linear", "warmup": 0.06, "batch_size": 16, "device": device, **rates}
    settings |= {"precision": "bf16" if device == "cuda" else "fp32", **json.loads(arguments.train)}
    chosen = ModelOptions(
        **{"open_aspects": True, "aspect_dropout": 0.0, **options, **json.loads(arguments.options)}
    )
    begin = None if arguments.begin is None else under_options(arguments.begin, chosen)
    teachers = [load(name) for name in arguments.teacher]
    length = {"steps": arguments.steps} if arguments.steps else {"epochs": arguments.epochs}
    begun = time.process_time()
    trained = train(
        corpus,
        without_dropout(prune_vocabulary(start)),
        chosen,
        TrainConfig(
            **{**length, "save_every": 100, **settings},
            seed=arguments.seed,
            restore_best=False,
            keep=1,
            threads=arguments.threads,
        ),
        learning=Learning(
            contrast=arguments.contrast,
            class_balance=arguments.balance,
            polarity=arguments.polarity,
            distillation=arguments.distillation if teachers else 0.0,
            blank_texts=arguments.blank,
        ),
        teacher=teachers,
        draw=lessons,
        untaught=by_labels(arguments),
        disguise=Typed(arguments.typed) if arguments.typed else None,
        begin=begin,
        directory=arguments.out / "run",
        identity=identity(arguments, ("data", "precision")),
    )
    # Of a run that was cut off they would be those of its last part.
    seconds = None if trained.history.first_step else round(time.process_time() - begun)
    asker = calibrated(trained.asker, arguments.data, left, set(arguments.without))
    save(arguments.out / "model", asker, int8=True)
    asker = load(arguments.out / "model").compute_in(arguments.precision)
    results = {"processor_seconds": seconds, **measure(asker, arguments.data)}
    (arguments.out / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return results


def by_depth(layers: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of the model and rates of its training for a start of this many layers: half of them are frozen."""
    options = {"frozen_layers": layers // 2, "similarity_layers": layers, "pooler_blocks": 2}
    if layers > 6:
        return {**options, "target_layers": layers // 3}, {"learning_rate": 1.5e-4, "layer_decay": 0.85}
    return {**options, "target_layers": 2}, {"learning_rate": 3e-4, "layer_decay": 0.85}


def by_labels(arguments: argparse.Namespace) -> Callable[[Sentence], bool] | None:
    """Which sentences teachers are not asked about."""
    asked = [is_told] if arguments.told_by_labels else []
    asked += [of_places] if arguments.places_by_labels else []
    asked += [is_new] if arguments.new_by_labels else []
    return (lambda sentence: any(each(sentence) for each in asked)) if asked else None


def of_places(sentence: Sentence) -> bool:
    """Whether a sentence is SentiHood's."""
    return sentence.where.startswith("sentihood-")


def by_turns(first: Making, second: Making, share: float) -> Making:
    """Sentences of the second maker with a probability of ``share``, else of the first."""

    def make(random: Random) -> Sentence:
        return (second if random.random() < share else first)(random)

    return make


def every_kind() -> set[str]:
    """The kinds of things that made and told sentences are about."""
    return {*read_names(), *read_things(), *(thing.kind for thing in Kinds().things)}


def trained_on(told: list[Any]) -> list[Any]:
    """Nine of ten told sentences; choices are made by the others."""
    return [one for number, one in enumerate(told) if number % 10 != 7]


def without_dropout(start: Any) -> Any:
    """The start with no dropout in its encoder: a row is seen once or twice."""
    from torch import nn

    from weft.encoder.layer import SelfAttention

    for module in start.encoder.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        elif isinstance(module, SelfAttention):
            module.dropout_p = 0.0
    return start


def under_options(name: str | Path, options: Any) -> Any:
    """A model to go on from, its weights under other options of the same sizes.

    Of a model with more frozen layers those that are to learn begin as they are, and stay in the frozen stack, too.
    """
    from weft.absa.model.build import build_model
    from weft.absa.use.asker import Asker
    from weft.absa.use.store import load

    asker = load(name)
    module = build_model(replace(asker.config, options=options))
    weights = asker.module.state_dict()
    more = asker.config.options.frozen_layers - options.frozen_layers
    if more > 0:
        moved: dict[str, Any] = {}
        for key, weight in weights.items():
            if key.startswith("anchor."):
                _, number, rest = key.split(".", 2)
                moved[f"anchor.{int(number) + more}.{rest}"] = weight
            else:
                moved[key] = weight
        for number in range(more):
            below = f"encoder.layers.{options.frozen_layers + number}."
            moved |= {
                f"anchor.{number}.{key.removeprefix(below)}": weight
                for key, weight in weights.items()
                if key.startswith(below)
            }
        weights = moved
    module.load_state_dict(weights)
    return Asker(module, asker.tokenizer)


def measure(asker: Any, data: Path, part: str = "dev") -> dict[str, Any]:
    """M-ABSA by domain, the questions of ``examples/absa`` by kind, SentiHood."""
    import numpy as np

    from weft.absa.evaluate.opinions import opinions_report, under
    from weft.absa.evaluate.report import report
    from weft.absa.read.labelled import Columns, read_labelled
    from weft.absa.read.sentihood import FREQUENT_ASPECTS

    def measured(corpus: Corpus) -> dict[str, float]:
        answers = np.concatenate(asker.answer(corpus.sentences))
        found = opinions_report(
            corpus, under(answers, asker.classes_, corpus.polarities), asker.config.threshold
        )
        return {name: round(value, 4) for name, value in found.items()}

    results: dict[str, Any] = {}
    for domain in MEASURED:
        reviews = read_mabsa(data / f"absa/mabsa/{domain}-{part}.txt").reviews
        results[domain] = measured(questions(reviews, 10, 250))
    names = ("found", "precision", "accuracy", "all_none", "aspect_auc", "sentiment", "ece")
    results["mean"] = {n: round(float(np.mean([results[d][n] for d in MEASURED])), 4) for n in names}
    own = read_labelled(str(QUESTIONS), Columns(target="target"))
    own = replace(own, polarities=POLARITIES)
    kinds = kinds_of(QUESTIONS)
    for kind in dict.fromkeys(kinds.values()):
        picked = [i for i, sentence in enumerate(own.sentences) if kinds[sentence.text] == kind]
        results[kind] = measured(own.subset(picked))
    dev = read_sentihood(data / "sentihood/sentihood-dev.json", ALL_ASPECTS).only(FREQUENT_ASPECTS)
    dev = replace(dev, polarities=asker.classes_)
    results["sentihood"] = {name: round(value, 4) for name, value in report(asker, dev).items()}
    return results


def kinds_of(path: Path) -> dict[str, str]:
    """The kind of each text of the questions."""
    import csv

    with path.open(encoding="utf-8", newline="") as file:
        return {row["text"]: row["kind"] for row in csv.DictReader(file)}


def parsed(given: list[str] | None = None) -> argparse.Namespace:
    """What was asked for; of the command line where nothing is given."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--start", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--begin", help="a model to go on from, of the same sizes")
    parser.add_argument(
        "--teacher", action="append", default=[], help="a model whose answers are learnt, too"
    )
    parser.add_argument(
        "--unlabelled", type=int, default=0, help="questions of a review that only teachers answer"
    )
    parser.add_argument("--distillation", type=float, default=0.7, help="weight of the teachers' answers")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--steps", type=int, help="batches, in place of epochs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        choices=DOMAINS,
        help="a domain to leave out; may be repeated",
    )
    parser.add_argument(
        "--without-kind",
        action="append",
        default=[],
        metavar="KIND",
        help="a kind of thing that no made or told sentence is about; may be repeated",
    )
    parser.add_argument("--share", type=float, default=0.5, help="of each source")
    parser.add_argument("--tweets", type=float, default=0.15, help="share of the tweets")
    parser.add_argument("--places", type=float, default=2.0, help="of SentiHood, times --share")
    parser.add_argument(
        "--several", type=float, default=0.0, help="share of the told sentences that come up among others"
    )
    for name, what in (
        ("long", "whole review"),
        ("compared", "review of two things"),
        ("districts", "text about districts"),
        ("short", "short text with some five aspects"),
        ("voices", "text in which it matters who says it, when, and whether"),
        ("turns", "text in which words mislead"),
        ("against", "text that judges beside something else"),
    ):
        parser.add_argument(
            f"--{name}", type=int, default=0, help=f"how often each {what} comes up in an epoch"
        )
    parser.add_argument("--joined", type=int, default=0, help="rows of several reviews of one domain")
    parser.add_argument("--made", type=float, default=0.5, help="made sentences per text")
    parser.add_argument(
        "--kinds", type=float, default=0.0, help="of the made sentences: of many kinds of things"
    )
    parser.add_argument(
        "--plain", type=float, default=0.0, help="of the made sentences: of words that tell what is judged"
    )
    parser.add_argument(
        "--repeat", type=int, default=2, help="SentiHood's texts in an epoch, with other names each"
    )
    parser.add_argument("--pairs", type=float, default=0.3, help="two reviews in one text, per review")
    parser.add_argument("--told", type=int, default=4, help="times that a told sentence comes up in an epoch")
    parser.add_argument("--both", type=int, default=1, help="those about two things, times --told")
    parser.add_argument(
        "--marked", type=int, default=0, help="times that a sentence with marked terms comes up"
    )
    parser.add_argument(
        "--told-by-labels", action="store_true", help="teachers are not asked about told sentences"
    )
    parser.add_argument(
        "--places-by-labels", action="store_true", help="nor about SentiHood's, in which they may be weaker"
    )
    parser.add_argument("--new-by-labels", action="store_true", help="nor about --voices, --turns, --against")
    parser.add_argument(
        "--typed", type=float, default=0.0, help="share of the texts that the model sees as people type"
    )
    parser.add_argument("--contrast", type=float, default=2.0)
    parser.add_argument("--balance", type=float, default=0.0)
    parser.add_argument("--polarity", type=float, default=0.0, help="weight of which opinion there is")
    parser.add_argument("--blank", type=int, default=800, help="texts on which [MASK] is fitted")
    parser.add_argument("--precision", default="fp32", help="of the measuring: fp32, bf16, int8 or auto")
    parser.add_argument("--options", default="{}", help="of ModelOptions, JSON")
    parser.add_argument("--train", default="{}", help="of TrainConfig, JSON")
    arguments = parser.parse_args(given)
    unknown = sorted(set(arguments.without_kind) - every_kind())
    if unknown:
        parser.error(
            f"--without-kind: no sentence is about {unknown[0]!r}; kinds: {', '.join(sorted(every_kind()))}"
        )
    return arguments


def main() -> None:
    """Parse, train, measure, print."""
    arguments = parsed()
    arguments.out.mkdir(parents=True, exist_ok=True)
    print(json.dumps(run(arguments), indent=1))


if __name__ == "__main__":
    main()

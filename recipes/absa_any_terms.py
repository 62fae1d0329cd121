"""Train the tagger of ``absa-any``, which finds what a text judges, and measure it: one command.

    python recipes/absa_any_terms.py --data DATA --model OUT/model --out OUT2

The tagger stands on the model's frozen layers; nothing else of the model changes. ``DATA/absa/mabsa`` is measured on
and never trained on. How readily it tags (``--outside``) is chosen on T-shirts, where ``--without t-shirts`` left them
out, on what MAMS and ACOS hold out and M-ABSA does not measure, on SemEval-2014's laptops and on a tenth of the written
sentences. Measured figures go to
``OUT2/results.json``.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from absa_any import MEASURED
from absa_any_found import measured, told_by
from absa_any_kinds import Kinds
from absa_any_lists import LISTS
from absa_any_marked import REVIEWS, learnt, learnt_answers, read_marked
from absa_any_sources import COLLECTION, DOMAINS, LONG, measured_texts, plain, unseen
from kept import identity

from weft.absa.read.mams import read_mams
from weft.absa.read.quadruples import read_acos, read_mabsa
from weft.absa.read.reviews import Opinion, Review, Reviews
from weft.absa.read.three_lines import read_three_lines
from weft.absa.records import NONE

OUTSIDE = (-1.0, -0.5, 0.0, 0.5, 1.0)
"""What may be added to the logit of "outside": below 0 more is tagged."""
LIMITS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
"""From which share an opinion about a term may count."""


def texts(data: Path, without: set[str], seed: int) -> list[Any]:
    """The marked texts, none of which is measured on; tweets mark names alone and are left out."""
    from weft.absa.learn.terms import marked

    others = data / "absa/absadatasets"
    quadruples: list[Reviews] = []
    if "laptops" not in without:
        quadruples.append(read_acos(others / "acos-laptop_quad_train.tsv.jsonl", "laptops"))
    terms: list[Reviews] = []
    if "restaurants" not in without:
        quadruples.append(read_acos(others / "acos-rest16_quad_train.tsv.jsonl", "restaurants"))
        terms.append(read_mams(data / "absa/mams/ATSA-train.xml"))
    for domain, file in COLLECTION.items():
        if domain not in {"tweets", *without}:
            terms.append(read_three_lines(others / f"{file}-train.seg", domain))
    measured = measured_texts(data)
    found = [text for source in quadruples for text in marked(source.reviews, opinions=True)]
    found += [text for source in terms for text in marked(source.reviews)]
    kept = [text for text in found if plain(text.text) not in measured and len(text.text) < LONG]
    Random(seed).shuffle(kept)
    return kept


def written(times: int, reviews: int, answers: int) -> list[Any]:
    """Marked texts, so many times: sentences of ``terms.txt`` but for those that choose, reviews, answers of forms."""
    from weft.absa.learn.terms import Marked

    texts = learnt(LISTS / "terms.txt", chooses=True) * times + learnt(REVIEWS) * reviews
    texts += [one.marked for one in learnt_answers()] * answers
    return [Marked(one.text, one.terms, one.words) for one in texts]


def made(count: int, seed: int) -> list[Any]:
    """Sentences of many kinds of things; what is judged in them stands in their words."""
    from weft.absa.learn.terms import marked

    random, maker = Random(seed), Kinds()
    reviews: list[Review] = []
    while len(reviews) < count:
        sentence = maker(random)
        judged = zip(sentence.contexts, sentence.polarities, strict=True)
        terms = {context.aspect for context, polarity in judged if polarity != NONE}
        if all(term in sentence.text.lower() for term in terms):
            opinions = tuple(Opinion("positive", term=term) for term in sorted(terms))
            reviews.append(Review(sentence.text, opinions, "made"))
    return marked(reviews)


def choosing(data: Path, without: set[str]) -> dict[str, list[Review]]:
    """Reviews that choose: neither trained on nor measured. T-shirts are among them where they were left out."""
    others = data / "absa/absadatasets"
    shirts = read_three_lines(others / "tshirt-train.seg", "t-shirts").reviews[:300]
    # ACOS' own laptops are M-ABSA's, every one.
    laptops = read_three_lines(others / "laptop14-train.seg", "laptops").reviews
    return {
        **({"t-shirts": list(shirts)} if "t-shirts" in without else {}),
        "mams": unseen(read_mams(data / "absa/mams/ATSA-val.xml").reviews, data),
        "laptops": unseen(laptops, data)[:300],
        "restaurants": unseen(read_acos(others / "acos-rest16_quad_dev.tsv.jsonl", "").reviews, data),
        "written": [one.review() for one in read_marked() if one.chooses],
    }


def choose_outside(asker: Any, parts: dict[str, list[Review]]) -> dict[str, Any]:
    """Set ``outside`` to where the mean F1 of terms over what chooses is highest; in place."""
    tried: dict[float, list[float]] = {}
    for outside in OUTSIDE:
        asker.config = replace(asker.config, outside=outside)
        tried[outside] = [f1_of_terms(asker, reviews) for reviews in parts.values()]
        print(f"outside {outside:+.1f}: {[round(value, 4) for value in tried[outside]]}", flush=True)
    best = max(tried, key=lambda outside: (sum(tried[outside]), -abs(outside)))
    asker.config = replace(asker.config, outside=best)
    return {"outside": best, "chosen_on": dict(zip(parts, tried[best], strict=True))}


def choose_limit(asker: Any, parts: dict[str, list[Review]]) -> dict[str, Any]:
    """Set ``term_threshold`` to where the mean F1 of terms with their polarity is highest; in place.

    Over what chooses, and the marked reviews that choose.
    """
    from weft.absa.evaluate.terms import term_scores
    from weft.absa.find.finder import Finder

    reviews = read_marked(LISTS / "marked-choices.txt")
    tried: dict[float, list[float]] = {}
    for limit in LIMITS:
        asker.config = replace(asker.config, term_threshold=limit)
        finder = Finder(asker)
        tried[limit] = [term_scores(finder, some)["pair_f1"] for some in parts.values()]
        tried[limit].append(
            measured(reviews, told_by(finder)([one.text for one in reviews]))["F1 with polarity"]
        )
        print(f"term_threshold {limit}: {[round(value, 4) for value in tried[limit]]}", flush=True)
    best = max(tried, key=lambda limit: sum(tried[limit]))
    asker.config = replace(asker.config, term_threshold=best)
    return {
        "term_threshold": best,
        "limits_tried_on": dict(zip([*parts, "marked"], tried[best], strict=True)),
    }


def f1_of_terms(asker: Any, reviews: list[Review]) -> float:
    """F1 of exact words, once a text."""
    from weft.absa.find.spans import spans_of

    right = told = gold = 0
    for review, windows in zip(reviews, asker.tags([r.text for r in reviews]), strict=True):
        spans = {span for offsets, tags in windows for span in spans_of(review.text, offsets, tags.tolist())}
        found = {review.text[s.start : s.stop].lower() for s in spans if s.kind == "term"}
        terms = {o.term.lower() for o in review.opinions if o.term}
        right, told, gold = right + len(found & terms), told + len(found), gold + len(terms)
    return 2 * right / max(told + gold, 1)


def measure(asker: Any, data: Path) -> dict[str, Any]:
    """F1 of terms, and of terms with their polarity, on M-ABSA dev, by domain."""
    from weft.absa.evaluate.terms import term_scores
    from weft.absa.find.finder import Finder

    results: dict[str, Any] = {}
    for domain in MEASURED:
        scores = term_scores(Finder(asker), read_mabsa(data / f"absa/mabsa/{domain}-dev.txt").reviews)
        results[domain] = {name: round(value, 4) for name, value in scores.items()}
    return results


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Train, store, measure."""
    import torch

    from weft.absa.learn.terms import train_tagger, with_tagger
    from weft.absa.use.store import load, save
    from weft.train.config import TrainConfig

    torch.set_num_threads(arguments.threads)
    asker = load(arguments.model)
    without = set(arguments.without)
    found = texts(arguments.data, without, arguments.seed)
    found += made(arguments.made, arguments.seed) + written(
        arguments.written, arguments.reviews, arguments.answers
    )
    print(f"{len(found)} texts", flush=True)
    settings = {
        "steps": arguments.steps,
        "batch_size": 24,
        "learning_rate": 3e-4,
        "schedule": "linear",
        "warmup": 0.06,
        "save_every": 100,
    }
    settings |= json.loads(arguments.train)
    config = TrainConfig(
        **settings,
        seed=arguments.seed,
        device="cpu",
        restore_best=False,
        keep=1,
        threads=arguments.threads,
    )
    temperature, threshold = asker.config.temperature, asker.config.threshold
    if not arguments.further:
        asker = with_tagger(asker, arguments.layers).calibrated(temperature, threshold)
    if arguments.tagger is None:
        train_tagger(
            asker, found, config, arguments.out / "run", identity(arguments, ("data", "outside", "bits"))
        )
    else:
        take_tagger(asker, load(arguments.tagger))
    chosen: dict[str, Any] = {}
    if arguments.outside:
        parts = choosing(arguments.data, without)
        chosen = choose_outside(asker, parts) | choose_limit(asker, parts)
    save(arguments.out / "model", asker, int8=True, bits=json.loads(arguments.bits))
    results = {**chosen, **measure(load(arguments.out / "model"), arguments.data)}
    (arguments.out / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return results


def below_tagger(weights: dict[str, Any], options: Any) -> dict[str, Any]:
    """The frozen weights that a tagger stands on, layers by their depth: the encoder's own and their copies."""
    found: dict[str, Any] = {}
    for name, weight in weights.items():
        parts = name.split(".", 3)
        if name.startswith("encoder.embeddings."):
            found[name] = weight
        elif name.startswith("encoder.layers.") and int(parts[2]) < options.frozen_layers:
            found[f"{parts[2]}.{parts[3]}"] = weight
        elif name.startswith("anchor."):
            _, number, rest = name.split(".", 2)
            found[f"{int(number) + options.frozen_layers}.{rest}"] = weight
    return {n: w for n, w in found.items() if not n[0].isdigit() or int(n.split(".")[0]) < options.term_depth}


def take_tagger(asker: Any, other: Any) -> None:
    """Another model's tagger, where both have frozen the same layers."""
    import torch

    mine, theirs = asker.module.state_dict(), other.module.state_dict()
    # [MASK] is fitted anew after each training, and no text that is tagged holds one.
    for weights, model in ((mine, asker), (theirs, other)):
        words = weights["encoder.embeddings.word_embeddings.weight"].clone()
        words[model.mask_id] = 0
        weights["encoder.embeddings.word_embeddings.weight"] = words
    mine, theirs = (below_tagger(w, model.config.options) for w, model in ((mine, asker), (theirs, other)))
    unlike = [n for n in mine if n not in theirs or not torch.equal(mine[n], theirs[n])]
    if unlike or len(mine) != len(theirs):
        raise SystemExit(
            f"the tagger was trained on other frozen layers: {[*unlike, 'their number'][0]} differs"
        )
    asker.module.terms.load_state_dict(other.module.terms.state_dict())
    given = other.config
    asker.config = replace(asker.config, outside=given.outside, term_threshold=given.term_threshold)


def main() -> None:
    """Parse, train, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", required=True, help="the model that gets a tagger")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--tagger", help="a model whose tagger is taken over, trained on the same frozen layers"
    )
    parser.add_argument("--further", action="store_true", help="the model's own tagger goes on learning")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--made", type=int, default=0, help="made sentences beside the texts")
    parser.add_argument("--written", type=int, default=2, help="times that a written sentence comes up")
    parser.add_argument("--reviews", type=int, default=0, help="times that a marked review comes up")
    parser.add_argument(
        "--answers", type=int, default=0, help="times that a marked answer of a form comes up"
    )
    parser.add_argument(
        "--outside", action="store_true", help="choose how readily it tags, and what is judged"
    )
    parser.add_argument("--steps", type=int, default=1000, help="batches of 24 texts")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        choices=DOMAINS,
        help="a domain to leave out; may be repeated",
    )
    parser.add_argument("--train", default="{}", help="of TrainConfig, JSON")
    parser.add_argument(
        "--bits", default="{}", help="JSON: how fine matrices are whose names begin so, for a smaller wheel"
    )
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    print(json.dumps(run(arguments), indent=1))


if __name__ == "__main__":
    main()

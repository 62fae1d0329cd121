"""A data set and a model to a table of scores: what the command and a program ask for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import torch

from weft.kg.evaluate.baselines import baseline_scores
from weft.kg.evaluate.calibrate import AskedScore, calibrate, judge, outcomes
from weft.kg.evaluate.confidence import Confidence
from weft.kg.evaluate.scores import Score, evaluate
from weft.kg.evaluate.texts import (
    TextScore,
    ask_tails,
    ask_texts,
    baseline_text_scores,
    calibrate_texts,
    score_texts,
)
from weft.kg.evaluate.triples import Guess, guess_tails
from weft.kg.evaluate.views import GUESSED, make_views
from weft.kg.extraction.model import model_kind
from weft.kg.model.entity_graph import EntityGraphModel
from weft.kg.model.leafy_chain import KIND as CHAIN_KIND
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.represent.dataset import Dataset, load_dataset
from weft.kg.represent.passages import load_text_dataset
from weft.platform.models import find_model


def score_code(
    data: Path,
    model: str | Path | None = None,
    *,
    role: str = "test",
    limit: int = 1000,
    beams: int = 10,
    device: torch.device | str = "cpu",
    calibrated: bool = False,
    shuffle_relations: bool = False,
) -> dict[str, Mapping[str, Score]]:
    """Scores of the baselines and of a model on a data set of code.

    Args:
        data: The data set.
        model: A name or a folder; the baselines alone where None.
        role: Whose modules.
        limit: Queries of each view.
        beams: Hypotheses of a tail.
        device: Where to compute.
        calibrated: Whether to learn confidences from the validation part first, and save them with the model.
        shuffle_relations: Whether to ask for random relations: a control.

    Returns:
        For each system, a score for each view.

    Raises:
        InputError: No such data set.
        CheckpointError: No such model, or one that does not fit the data.
    """
    dataset = load_dataset(data)
    views = make_views(dataset, role, limit)
    scores: dict[str, Mapping[str, Score]] = dict(baseline_scores(dataset, views))
    if model is not None:
        asked, folder = _model(dataset, model, limit, beams, device, calibrated)
        scores["model"] = evaluate(
            asked,
            dataset.corpus.to(device),
            views,
            dataset.schema.names,
            beams=beams,
            shuffle_relations=shuffle_relations,
            confidence=Confidence.load(folder),
        )
    return scores


def judge_asked(
    data: Path,
    model: str | Path,
    *,
    role: str = "test",
    limit: int = 1000,
    beams: int = 10,
    device: torch.device | str = "cpu",
    calibrated: bool = False,
) -> dict[str, AskedScore]:
    """How far a model's confidences can be trusted on all questions of whole chunks; arguments as above.

    Returns:
        By part: all questions, those that the syntax answers, and types, which are judged on a draw of their own.

    Raises:
        InputError: No such data set.
        CheckpointError: No such model, or one that does not fit the data.
    """
    dataset = load_dataset(data)
    asked, folder = _model(dataset, model, limit, beams, device, calibrated)
    ask = partial(outcomes, asked, dataset, dataset.corpus.to(device), role, limit, beams)
    found, types = list(ask()), list(ask(views=GUESSED))
    parts = {"all": found, "stated": [item for item in found if not item.typed], "types": types}
    confidence = Confidence.load(folder)
    return {name: judge(items, confidence) for name, items in parts.items() if items}


def score_documents(
    data: Path,
    model: str | Path | None = None,
    *,
    role: str = "test",
    device: torch.device | str = "cpu",
    calibrated: bool = False,
) -> dict[str, TextScore]:
    """Scores of the baselines and of a model on a data set of text; arguments as above.

    Raises:
        InputError: No such data set.
        CheckpointError: No such model, or one that does not fit the data.
    """
    dataset = load_text_dataset(data)
    scores = dict(baseline_text_scores(dataset, role))
    if model is not None:
        folder = find_model("kg", model)
        untyped: list[Guess] = []
        if model_kind(folder) == CHAIN_KIND:
            chains = LeafyChainModel.load(folder).to(device)
            sizes = chains.config.encoder.vocab_size, chains.config.num_relations
            dataset.check_model(*sizes, dataset.types, str(folder))
            asked = ask_tails(chains, dataset, role)
            if calibrated:
                untyped = guess_tails(chains, dataset, dataset.documents_of("valid"), typed=False)
        else:
            asked_model = EntityGraphModel.load(folder).to(device)
            config = asked_model.config
            dataset.check_model(config.encoder.vocab_size, config.num_relations, config.types, str(folder))
            asked = ask_texts(asked_model, dataset, role)
        if calibrated:
            calibrate_texts(dataset, asked.valid, untyped).save(folder)
        scores["model"] = score_texts(dataset, asked, Confidence.load(folder))
    return scores


def _model(
    dataset: Dataset,
    name: str | Path,
    limit: int,
    beams: int,
    device: torch.device | str,
    calibrated: bool,
) -> tuple[LeafyChainModel, Path]:
    folder = find_model("kg", name)
    model = LeafyChainModel.load(folder).to(device).eval()
    dataset.check_model(folder, model.config.num_relations)
    if calibrated:
        calibrate(model, dataset, dataset.corpus.to(device), limit, beams).save(folder)
    return model, folder

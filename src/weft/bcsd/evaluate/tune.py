"""The weights of the hybrid score, chosen on the validation packages."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa

from weft.bcsd.evaluate.report import Vectors
from weft.bcsd.evaluate.tasks import Labels
from weft.bcsd.use.embedder import Embedder
from weft.bcsd.use.score import ScoreWeights, crowding
from weft.objective.metrics import hit_at_k, ranks

LEXICAL = (0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.3, 1.6, 2.0)
HUBNESS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
NEIGHBOURS = (3, 5, 10, 20)
OPERATIONS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)


def tune(functions: pa.Table, embedder: Embedder) -> tuple[ScoreWeights, float]:
    """Choose the weights with the highest mean Recall@1 over the settings of :meth:`Labels.tasks`.

    Args:
        functions: Rows of at least the validation packages.
        embedder: The model.

    Returns:
        The weights, and their mean Recall@1.
    """
    labels = Labels(functions)
    tasks = labels.tasks("valid")
    vectors = Vectors(functions, tasks, embedder, embedder.lexical)
    best, best_recall = ScoreWeights(0.0, 0.0, 1), -1.0
    shares = OPERATIONS if vectors.operations.nnz else (0.0,)
    for lexical, operations in product(LEXICAL, shares):
        tried = ScoreWeights(lexical, operations=operations)
        scores = [vectors.combined(task, tried) for task in tasks]
        for neighbours in NEIGHBOURS:
            crowds = [crowding(score, neighbours) for score in scores]
            for hubness in HUBNESS:
                found = [
                    hit_at_k(ranks(score - hubness * crowd, task.right).realistic, 1)
                    for score, crowd, task in zip(scores, crowds, tasks, strict=True)
                ]
                if np.mean(found) > best_recall:
                    best = ScoreWeights(lexical, hubness, neighbours, operations)
                    best_recall = float(np.mean(found))
    return best, best_recall

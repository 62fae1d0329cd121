"""One sentence, one query word, and what each mechanism does to where it looks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch.nn.functional import normalize

from weft.attention import Decay, Maps, Prefix, Quasi, Terms, attend, oracle

SENTENCE = re.findall(r"\w+", "the battery lasts two days but the screen is dim and the price is high")
QUERY = "screen"
CONTEXT = "price"
WIDTH = 32


@dataclass(frozen=True)
class Variant:
    """A named set of terms, in torch and for the oracle."""

    name: str
    terms: Terms
    expected: oracle.Inputs


def vectors(words: list[str]) -> Tensor:
    """A fixed vector for each word, from hashes of its letter pairs: the same on every machine."""
    rows: list[Tensor] = []
    for word in words:
        pairs = [f"^{word}$"[i : i + 2] for i in range(len(word) + 1)]
        seeds = [int.from_bytes(sha256(pair.encode()).digest()[:8]) for pair in pairs]
        rows.append(
            torch.tensor(np.mean([np.random.default_rng(s).standard_normal(WIDTH) for s in seeds], axis=0))
        )
    return normalize(torch.stack(rows), dim=-1)[None, None] * 3.5


def variants(tokens: Tensor) -> list[Variant]:
    """Plain attention, each mechanism alone, and all of them together."""
    length = tokens.shape[2]
    summary = vectors(["electronics"])
    place = torch.arange(length)
    factor = (0.6 ** ((place[:, None] - place[None, :]).abs() / 2.0))[None, None].double()
    context = vectors([CONTEXT]).expand_as(tokens)
    similarity = torch.sigmoid((tokens * context).sum(-1) / WIDTH**0.5)
    prefix, decay = Prefix(summary, summary), Decay(factor, "scores")
    quasi = Quasi(context, tokens, similarity, similarity, 1.0 / length, gate="pair")

    def inputs(terms: Terms) -> oracle.Inputs:
        operands: dict[str, object] = {}
        if terms.prefix is not None:
            operands |= {"prefix_key": terms.prefix.key.numpy(), "prefix_value": terms.prefix.value.numpy()}
        if terms.decay is not None:
            operands |= {"factor": terms.decay.factor.numpy(), "decay_mode": terms.decay.mode}
        if terms.quasi is not None:
            names = ("query", "key", "lambda_query", "lambda_key")
            given = [getattr(terms.quasi, name).numpy() for name in names]
            operands |= dict(zip(("context_query", "context_key", *names[2:]), given, strict=True))
            operands |= {"alpha": 1.0 / length, "gate": "pair"}
        x = tokens.numpy()
        return oracle.Inputs(x, x, x, **operands)  # pyright: ignore[reportArgumentType] - a dict of operands

    named = {
        "plain": Terms(),
        "prefix": Terms(prefix=prefix),
        "decay": Terms(decay=decay),
        "quasi": Terms(quasi=quasi),
        "together": Terms(prefix, decay, quasi),
    }
    return [Variant(name, terms, inputs(terms)) for name, terms in named.items()]


def show(console: Console) -> None:
    """Print where the query word looks under each variant, and how exactly each path computes it."""
    tokens = vectors(SENTENCE)
    row = SENTENCE.index(QUERY)
    table = Table(show_edge=False, header_style="bold", title_justify="left")
    table.add_column("")
    columns: list[list[str]] = []
    checks: list[str] = []
    for variant in variants(tokens):
        output, maps = attend(tokens, tokens, tokens, terms=variant.terms, need_maps=True)
        columns.append(_column(maps, row))
        table.add_column(variant.name, justify="right")
        fast, _ = attend(tokens, tokens, tokens, terms=variant.terms, path="chunked")
        expected = torch.from_numpy(oracle.forward(variant.expected).output)
        error = max(float((out - expected).abs().max()) for out in (output, fast))
        checks.append(f"{variant.name} {error:.0e}")
    for word, *cells in zip(["(graph prefix)", *SENTENCE], *columns, strict=True):
        table.add_row(f"[bold]{word}[/]" if word == QUERY else word, *cells)
    console.print(
        f"[bold]Attention.[/] Where “{QUERY}” looks, in %; the context of quasi-attention is “{CONTEXT}”.\n"
    )
    console.print(table)
    console.print(f"largest difference from the NumPy oracle, both paths: {', '.join(checks)}")


def _column(maps: Maps | None, row: int) -> list[str]:
    if maps is None or maps.weights is None:
        raise ValueError("the maps were asked for")
    weights = maps.weights[0, 0, row]
    prefix = len(weights) - len(SENTENCE)
    cells = weights[prefix:].clone()
    if maps.quasi is not None and maps.gate is not None:
        cells += (maps.gate * maps.quasi)[0, 0, row]
    head = [f"{100 * float(weights[0]):.1f}"] if prefix else [""]
    return head + [f"{100 * float(cell):.1f}" for cell in cells]

"""An explanation as JSON values and as text."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.bcsd.explain.occlusion import Explanation, Half
from weft.bcsd.read.names import spelled

_SHOWN = 5


def explanation_record(explanation: Explanation) -> dict[str, Any]:
    """The explanation; see ``docs/bcsd.md``."""
    return {
        "schema": 1,
        "learned": round(explanation.learned, 4),
        "lexical": round(explanation.lexical, 4),
        "tokens": [{"token": token, "share": round(share, 4)} for token, share in explanation.tokens],
        "a": _half_record(explanation.a),
        "b": _half_record(explanation.b),
    }


def _half_record(half: Half) -> dict[str, Any]:
    function = half.function
    return {
        "path": spelled(half.path),
        "name": function.name,
        "address": function.address,
        "blocks": [
            {
                "address": function.instructions[block.start][0],
                "instructions": block.end - block.start,
                "drop": round(float(drop), 4),
            }
            for block, drop in zip(function.blocks, half.blocks, strict=True)
        ],
        "instructions": [
            {"address": address, "text": f"{mnemonic} {operands}".rstrip(), "drop": round(float(drop), 4)}
            for (address, _, mnemonic, operands), drop in zip(
                function.instructions, half.instructions, strict=True
            )
            if not math.isnan(drop)
        ],
        "prefix": None if half.prefix is None else np.round(half.prefix, 4).tolist(),
        **({"remarks": list(half.remarks)} if half.remarks else {}),
    }


def describe(explanation: Explanation) -> str:
    """The strongest parts for a person."""
    rows = [f"learned similarity {explanation.learned:.3f}, lexical {explanation.lexical:.3f}"]
    for half in (explanation.a, explanation.b):
        function = half.function
        rows.append(f"\n{half.path}:{function.name} at {function.address:#x}; the similarity falls by …")
        for block in np.argsort(-half.blocks, kind="stable")[:_SHOWN].tolist():
            start, end = function.blocks[block]
            rows.append(
                f"  {half.blocks[block]:+.3f} without block {block} at {function.instructions[start][0]:#x} "
                f"({end - start} instructions)"
            )
        probed = np.where(np.isnan(half.instructions), -np.inf, half.instructions)
        for index in np.argsort(-probed, kind="stable")[:_SHOWN].tolist():
            if math.isnan(half.instructions[index]):
                continue
            address, _, mnemonic, operands = function.instructions[index]
            rows.append(
                f"  {half.instructions[index]:+.3f} without {address:#x}  {mnemonic} {operands}".rstrip()
            )
        if half.prefix is not None:
            layers = ", ".join(f"{weight:.3f}" for weight in half.prefix.mean(axis=1))
            rows.append(f"  attention on the graph's prefix, by layer: {layers}")
    shares = ", ".join(f"{token} {share:.3f}" for token, share in explanation.tokens)
    rows.append(f"\nof the lexical part: {shares or 'no token in common'}")
    return "\n".join(rows)

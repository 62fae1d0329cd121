"""A model of opinions for answers only: its layers multiply in eight bits or bfloat16."""

from __future__ import annotations

import copy
from typing import cast

from weft.absa.model.context_pooling import ContextBlock
from weft.absa.model.pair import PairBert
from weft.absa.model.weft_absa import WeftAbsa
from weft.encoder.answering.layer import convert_products, convert_stack
from weft.encoder.answering.product import Arithmetic


def for_answers(model: WeftAbsa | PairBert, arithmetic: Arithmetic) -> WeftAbsa | PairBert:
    """A copy that shares the model's parameters, except those of the products, which are made anew.

    Args:
        model: The model, on the CPU.
        arithmetic: How it multiplies.

    Raises:
        ConfigError: Eight bits on a processor that does not multiply them exactly.
    """
    shared = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    found = copy.deepcopy(model, shared)
    stacks = [found.encoder.layers]
    if isinstance(found, WeftAbsa):
        stacks += [found.anchor, *([] if found.terms is None else [found.terms.layers])]
    for stack in stacks:
        convert_stack(stack, arithmetic)
    if isinstance(found, WeftAbsa):
        for block in found.blocks:
            convert_products(cast(ContextBlock, block).layer, arithmetic)
    return found.eval()

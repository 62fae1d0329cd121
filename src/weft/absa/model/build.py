"""From a configuration to the model of its kind."""

from __future__ import annotations

import copy
from typing import TypeAlias

from weft.absa.config import AbsaConfig
from weft.absa.model.pair import PairBert
from weft.absa.model.qacg import Qacg, QacgOfficial
from weft.absa.model.weft_absa import WeftAbsa
from weft.encoder.encoder import Encoder
from weft.encoder.pooling import ClsPooler

AnyModel: TypeAlias = WeftAbsa | PairBert | Qacg | QacgOfficial


def build_model(
    config: AbsaConfig, encoder: Encoder | None = None, pooler: ClsPooler | None = None
) -> AnyModel:
    """The model of ``config.kind``.

    Args:
        config: The model's configuration.
        encoder: A pretrained encoder; it is copied. Random weights where None.
        pooler: The checkpoint's tanh pooler, for the models that pool the ``[CLS]`` token.
    """
    start = copy.deepcopy(encoder)
    if config.kind == "weft-absa":
        return WeftAbsa(config, start)
    if config.kind == "pair":
        model: PairBert | Qacg | QacgOfficial = PairBert(config, start)
    elif config.kind == "qacg":
        model = Qacg(config, start)
    else:
        model = QacgOfficial(config, start)
    if pooler is not None and isinstance(model.pooler, ClsPooler):
        model.pooler.load_state_dict(pooler.state_dict())
    return model

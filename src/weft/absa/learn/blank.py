"""What ``[MASK]`` means to a trained model: a word that is not there, fitted last."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from weft.absa.learn.augment import mask_words
from weft.absa.records import Corpus
from weft.absa.use.asker import Asker
from weft.train.config import Precision

_BATCH = 16
_RATE = 0.02
_SHARE = 0.2


def fit_blank(
    asker: Asker, corpus: Corpus, *, texts: int = 800, seed: int = 0, precision: Precision = "fp32"
) -> None:
    """Fit the embedding of ``[MASK]``, and nothing else, on texts some of whose words are masked.

        min over E[MASK]:  mean −log softmax(logits(text with masks))[gold]

    A model that never saw ``[MASK]`` in training is moved by any of them, wherever it stands. All explanations that put
    it in a word's place, and the deletion test, then measure that as much as what the word said. Training with masked
    texts helps as well, at a price in answers; here the answers about texts without ``[MASK]`` stay as they are, bit by
    bit.

    Args:
        asker: A trained model; one whose vocabulary has no ``[MASK]`` is left as it is.
        corpus: The sentences that it was trained on.
        texts: How many texts are masked in all, drawn at random with replacement; 0 fits nothing.
        seed: Of the draw and of the masks.
        precision: ``bf16`` multiplies matrices in bfloat16, in a third of the time with a base-size model.
    """
    steps = math.ceil(texts / _BATCH)
    if not steps or asker.tokenizer.token_to_id("[MASK]") is None:
        return
    module, generator = asker.module, torch.Generator().manual_seed(seed)
    table = module.get_submodule("encoder.embeddings.word_embeddings")
    assert isinstance(table, nn.Embedding)  # every kind reads with an Encoder
    blank = table.weight[asker.mask_id].detach().clone().requires_grad_()
    optimizer = torch.optim.Adam([blank], lr=_RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)

    def put(_table: nn.Module, inputs: tuple[Tensor], embedded: Tensor) -> Tensor:
        return torch.where((inputs[0] == asker.mask_id)[..., None], blank, embedded)

    training = module.training
    module.eval()
    hook = table.register_forward_hook(put)
    try:
        for _ in range(steps):
            drawn = torch.randint(len(corpus.sentences), (_BATCH,), generator=generator).tolist()
            masked = [mask_words(corpus.sentences[number], _SHARE, generator) for number in drawn]
            questions = asker.represent(masked).to(asker.device)
            assert questions.labels is not None  # a corpus is labelled
            with torch.autocast(asker.device.type, torch.bfloat16, enabled=precision == "bf16"):
                logits = module(questions).logits
            loss = F.cross_entropy(logits.float(), questions.labels)
            (blank.grad,) = torch.autograd.grad(loss, [blank], allow_unused=True, materialize_grads=True)
            optimizer.step()
            schedule.step()
    finally:
        hook.remove()
        module.train(training)
    with torch.no_grad():
        table.weight[asker.mask_id] = blank

"""The model contract's "Loss Functions" and "Training Loop Interface", statement by statement.

Deviations, each tested below under its name:

- ``labels`` of the contrastive loss are group ids: a 1 or 0 per example cannot name pairs.
- embeddings are L2-normalised and an example is no candidate for itself, as NT-Xent is defined.
- an empty mask gives a zero loss; a batch without a positive pair is an error. The formulas give NaN.
- ``mask`` is optional: labels may carry −100 instead.
"""

import inspect
import math
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from weft.documents.epochs import train_epoch, validate
from weft.errors import InputError
from weft.objective.losses import masked_language_modeling_loss, nt_xent_loss

BATCH, SEQ, VOCAB, HIDDEN = 4, 10, 50, 768


@pytest.fixture
def tensors():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(BATCH, SEQ, VOCAB, generator=generator)
    labels = torch.randint(VOCAB, (BATCH, SEQ), generator=generator)
    mask = (torch.rand(BATCH, SEQ, generator=generator) < 0.3).long()
    return logits, labels, mask


def test_mlm_signature():
    assert list(inspect.signature(masked_language_modeling_loss).parameters) == ["logits", "labels", "mask"]


def test_mlm_formula(tensors):
    """loss = CrossEntropy(logits[mask], labels[mask]), a scalar."""
    logits, labels, mask = tensors
    loss = masked_language_modeling_loss(logits, labels, mask)
    assert loss.shape == ()
    assert loss.item() == pytest.approx(F.cross_entropy(logits[mask.bool()], labels[mask.bool()]).item())


def test_mlm_looks_at_masked_tokens_only(tensors):
    logits, labels, mask = tensors
    other = torch.where(mask.bool()[..., None], logits, torch.randn_like(logits))
    assert torch.equal(
        masked_language_modeling_loss(logits, labels, mask),
        masked_language_modeling_loss(other, labels, mask),
    )


def test_deviation_mlm_empty_mask_is_zero(tensors):
    logits, labels, mask = tensors
    assert masked_language_modeling_loss(logits, labels, torch.zeros_like(mask)).item() == 0.0


def test_deviation_mlm_mask_is_optional(tensors):
    logits, labels, mask = tensors
    carried = labels.masked_fill(mask == 0, -100)
    assert torch.equal(
        masked_language_modeling_loss(logits, carried), masked_language_modeling_loss(logits, labels, mask)
    )


def test_contrastive_signature():
    parameters = inspect.signature(nt_xent_loss).parameters
    assert list(parameters)[:3] == ["embeddings", "labels", "temperature"]
    assert parameters["temperature"].default == 0.07


def test_contrastive_formula():
    """sim = e @ e.T / temperature; −log(exp(sim_ij) / Σ_k exp(sim_ik)) for positive pairs (i, j)."""
    embeddings = F.normalize(torch.randn(BATCH, HIDDEN), dim=-1)
    labels = torch.tensor([0, 1, 0, 2])
    sim = (embeddings @ embeddings.T / 0.07).tolist()
    losses = []
    for i, j in ((0, 2), (2, 0)):
        total = sum(math.exp(sim[i][k]) for k in range(BATCH) if k != i)
        losses.append(-math.log(math.exp(sim[i][j]) / total))
    loss = nt_xent_loss(embeddings, labels)
    assert loss.shape == ()
    assert loss.item() == pytest.approx(sum(losses) / 2, rel=1e-4)


def test_contrastive_temperature_sharpens():
    embeddings = torch.randn(BATCH, HIDDEN)
    labels = torch.tensor([0, 0, 1, 1])
    assert nt_xent_loss(embeddings, labels, 0.01) != nt_xent_loss(embeddings, labels, 1.0)


def test_deviation_labels_are_groups_not_flags():
    """Flags would call the two 0s dissimilar; ids call them one group."""
    embeddings = torch.eye(4)[[0, 0, 1, 1]]
    assert nt_xent_loss(embeddings, torch.tensor([1, 1, 0, 0])).item() == pytest.approx(0.0, abs=1e-4)


def test_deviation_embeddings_are_normalised():
    embeddings, labels = torch.randn(BATCH, HIDDEN), torch.tensor([0, 0, 1, 1])
    assert nt_xent_loss(embeddings * 9, labels).item() == pytest.approx(
        nt_xent_loss(embeddings, labels).item(), rel=1e-5
    )


def test_deviation_no_positive_pair_is_an_error():
    with pytest.raises(InputError):
        nt_xent_loss(torch.randn(3, HIDDEN), torch.arange(3))


class Model(nn.Module):
    """Answers as the contract's model does."""

    def __init__(self):
        super().__init__()
        self.embeddings = nn.Embedding(VOCAB, 16)
        self.decoder = nn.Linear(16, VOCAB)

    def forward(self, batch):
        hidden = self.embeddings(batch["input_ids"])
        return {"embeddings": hidden.mean(1), "mlm_logits": self.decoder(hidden)}


@pytest.fixture
def loader(tensors):
    _, labels, mask = tensors
    pairs = torch.tensor([0, 0, 1, 1])
    return [{"input_ids": labels, "labels": labels, "mlm_mask": mask, "pair_labels": pairs}]


def test_training_loop_interface(loader):
    assert list(inspect.signature(train_epoch).parameters) == [
        "model",
        "dataloader",
        "optimizer",
        "loss_fn",
        "device",
    ]
    assert list(inspect.signature(validate).parameters) == ["model", "dataloader", "loss_fn", "device"]
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    loss_fn = {"mlm": masked_language_modeling_loss, "contrastive": nt_xent_loss}
    trained = train_epoch(model, loader, optimizer, loss_fn, "cpu")
    validated = validate(model, loader, loss_fn, "cpu")
    assert set(trained) == set(validated) == {"train_loss", "mlm_loss", "contrastive_loss"}


def test_total_loss_is_mlm_plus_half_contrastive(loader):
    loss_fn = {"mlm": lambda *_: torch.tensor(3.0), "contrastive": lambda *_: torch.tensor(2.0)}
    assert validate(Model(), loader, loss_fn, "cpu")["train_loss"] == 4.0


def test_loss_decreases_over_ten_iterations(loader):
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    loss_fn = {"mlm": masked_language_modeling_loss, "contrastive": nt_xent_loss}
    losses = [train_epoch(model, loader, optimizer, loss_fn, "cpu")["train_loss"] for _ in range(10)]
    assert all(later < earlier for earlier, later in pairwise(losses))

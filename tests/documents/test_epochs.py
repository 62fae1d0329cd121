import pytest
import torch
from torch import nn

from weft.documents.epochs import train_epoch, validate
from weft.errors import ConfigError, InputError
from weft.objective.losses import masked_language_modeling_loss, nt_xent_loss

LOSSES = {"mlm": masked_language_modeling_loss, "contrastive": nt_xent_loss}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embeddings = nn.Embedding(11, 6)
        self.dropout = nn.Dropout(0.5)
        self.decoder = nn.Linear(6, 11)

    def forward(self, batch):
        hidden = self.dropout(self.embeddings(batch["input_ids"]))
        return {"mlm_logits": self.decoder(hidden), "embeddings": hidden.mean(dim=1)}


def batch(seed):
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(11, (4, 5), generator=generator)
    mask = torch.rand(4, 5, generator=generator) < 0.5
    return {"input_ids": ids, "labels": ids, "mlm_mask": mask, "pair_labels": torch.tensor([0, 0, 1, 1])}


def test_training_lowers_the_loss_and_returns_its_parts():
    model, loader = Model(), [batch(0), batch(1)]
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    first = train_epoch(model, loader, optimizer, LOSSES, "cpu")
    for _ in range(20):
        last = train_epoch(model, loader, optimizer, LOSSES, "cpu")
    assert set(first) == {"train_loss", "mlm_loss", "contrastive_loss"}
    assert all(isinstance(value, float) for value in first.values())
    assert last["train_loss"] < first["train_loss"] / 2
    assert last["train_loss"] == pytest.approx(last["mlm_loss"] + 0.5 * last["contrastive_loss"], rel=1e-5)


def test_validation_is_the_mean_over_batches_and_changes_nothing():
    model, loader = Model(), [batch(0), batch(1), batch(2)]
    model.dropout.eval()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    found = validate(model, loader, LOSSES, torch.device("cpu"))
    assert model.training
    assert not model.dropout.training
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())
    model.eval()
    mlm = [LOSSES["mlm"](model(b)["mlm_logits"], b["labels"], b["mlm_mask"]).item() for b in loader]
    pairs = [LOSSES["contrastive"](model(b)["embeddings"], b["pair_labels"]).item() for b in loader]
    assert found["mlm_loss"] == pytest.approx(sum(mlm) / 3)
    assert found["contrastive_loss"] == pytest.approx(sum(pairs) / 3)
    assert found["train_loss"] == pytest.approx((sum(mlm) + 0.5 * sum(pairs)) / 3)


def test_validation_drops_nothing_and_training_does():
    model, modes = Model(), []
    model.dropout.register_forward_hook(lambda module, *_: modes.append(module.training))
    first = validate(model, [batch(0)], LOSSES, "cpu")
    assert modes == [False]
    assert model.dropout.training
    assert validate(model, [batch(0)], LOSSES, "cpu") == first
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    model.eval()
    assert train_epoch(model, [batch(0)], optimizer, LOSSES, "cpu") != first
    assert modes[-1]


def test_labels_may_carry_the_mask():
    model = Model().eval()
    full = batch(0)
    without = {name: value for name, value in full.items() if name != "mlm_mask"}
    without["labels"] = full["labels"].masked_fill(~full["mlm_mask"], -100)
    assert validate(model, [full], LOSSES, "cpu") == validate(model, [without], LOSSES, "cpu")


def test_what_is_missing_is_named():
    model = Model()
    with pytest.raises(ConfigError, match="loss_fn has mlm; it needs 'mlm' and 'contrastive'"):
        validate(model, [batch(0)], {"mlm": masked_language_modeling_loss}, "cpu")
    with pytest.raises(InputError, match="no batches"):
        validate(model, [], LOSSES, "cpu")
    broken = {name: value for name, value in batch(0).items() if name != "pair_labels"}
    with pytest.raises(InputError, match="batch 1: no entry 'pair_labels'"):
        validate(model, [batch(0), broken], LOSSES, "cpu")

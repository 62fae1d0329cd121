import pytest
import torch
from torch import nn

from weft.encoder import Encoder, EncoderConfig
from weft.errors import ConfigError, InputError
from weft.train import TrainConfig
from weft.train.optimizer import build_optimizer, parameter_groups, set_learning_rate


class Model(nn.Module):
    """An encoder with a graph branch, whose layers are not the encoder's, and a head."""

    def __init__(self):
        super().__init__()
        self.encoder = Encoder(
            EncoderConfig(
                vocab_size=20,
                hidden_size=8,
                num_hidden_layers=3,
                num_attention_heads=2,
                intermediate_size=16,
                max_position_embeddings=10,
            )
        )
        self.graph = nn.Module()
        self.graph.layers = nn.ModuleList([nn.Linear(4, 4)])
        self.decay = nn.Parameter(torch.ones(2))
        self.head = nn.Linear(8, 2)


def by_name(groups):
    return {name: group for group in groups for name in group["names"]}


def test_every_trainable_parameter_is_in_one_group():
    model = Model()
    model.head.bias.requires_grad_(False)
    groups = parameter_groups(model, TrainConfig(epochs=1, layer_decay=0.9))
    names = [name for group in groups for name in group["names"]]
    assert sorted(names) == sorted(name for name, p in model.named_parameters() if p.requires_grad)
    parameters = dict(model.named_parameters())
    for group in groups:
        assert all(parameters[name] is p for name, p in zip(group["names"], group["params"], strict=True))


def test_biases_norms_and_vectors_do_not_decay():
    model = Model()
    model.norm = nn.LayerNorm((3, 8))  # a norm whose weight has two dimensions
    for name, group in by_name(parameter_groups(model, TrainConfig(epochs=1, weight_decay=0.1))).items():
        is_matrix = dict(model.named_parameters())[name].ndim > 1 and not name.startswith("norm")
        assert group["weight_decay"] == (0.1 if is_matrix else 0.0), name


def test_lower_layers_learn_more_slowly():
    groups = by_name(parameter_groups(Model(), TrainConfig(epochs=1, layer_decay=0.5)))
    scales = {name: group["scale"] for name, group in groups.items()}
    assert {scale for name, scale in scales.items() if name.startswith("encoder.embeddings.")} == {0.125}
    for layer, scale in enumerate((0.25, 0.5, 1.0)):
        assert {s for name, s in scales.items() if name.startswith(f"encoder.layers.{layer}.")} == {scale}
    assert scales["graph.layers.0.weight"] == scales["decay"] == scales["head.weight"] == 1.0


def test_an_encoder_alone_has_layers_too():
    groups = by_name(parameter_groups(Model().encoder, TrainConfig(epochs=1, layer_decay=0.5)))
    assert {groups[name]["scale"] for name in groups if name.startswith("layers.0.")} == {0.25}


def test_the_rate_reaches_every_group():
    config = TrainConfig(epochs=1, layer_decay=0.5, learning_rate=0.1)
    optimizer = build_optimizer(Model(), config, torch.device("cpu"))
    set_learning_rate(optimizer, 0.04)
    assert {group["lr"] for group in optimizer.param_groups} == {0.04, 0.02, 0.01, 0.005}


def test_nothing_to_train_and_no_layers_are_errors():
    with pytest.raises(InputError, match="no trainable parameter"):
        parameter_groups(Model().requires_grad_(False), TrainConfig(epochs=1))
    with pytest.raises(ConfigError, match=r"layer_decay is 0\.9, and no parameter"):
        parameter_groups(nn.Linear(2, 2), TrainConfig(epochs=1, layer_decay=0.9))


def test_a_model_may_scale_the_rate_of_a_parameter():
    model = Model()
    model.learning_rate_scales = {"decay": 50.0, "encoder.layers.0.output.bias": 2.0}
    config = TrainConfig(epochs=1, layer_decay=0.5)
    scales = {name: group["scale"] for name, group in by_name(parameter_groups(model, config)).items()}
    plain = {name: group["scale"] for name, group in by_name(parameter_groups(Model(), config)).items()}
    changed = {name: scales[name] / plain[name] for name in scales if scales[name] != plain[name]}
    assert changed == {"decay": 50.0, "encoder.layers.0.output.bias": 2.0}

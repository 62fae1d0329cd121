"""The model of texts with entities: what must not change its scores, what must, and that it learns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.kg.text_corpus import write_corpus

from weft.encoder.config import EncoderConfig
from weft.errors import ConfigError, InputError
from weft.kg.dataset.text import TextBuildConfig, build_redocred
from weft.kg.entity_config import EntityGraphConfig
from weft.kg.learn.setup import Setup, Shape
from weft.kg.learn.text import (
    course,
    entity_loss,
    from_scratch,
    mean_loss,
    weight_of_unstated,
    with_frozen_states,
)
from weft.kg.model.entity_graph import EntityGraphModel, threshold_loss
from weft.kg.model.pairs import DISTANCES, distance_buckets
from weft.kg.represent.entities import EntityExample, entity_batch
from weft.kg.represent.passages import TextDataset, load_text_dataset, windows
from weft.train import TrainConfig


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> TextDataset:
    folder = tmp_path_factory.mktemp("texts")
    config = TextBuildConfig(vocab_size=400, valid_percent=20, test_percent=20)
    build_redocred([write_corpus(folder / "corpus.json", 48)], folder / "data", config)
    return load_text_dataset(folder / "data")


def small(**choices: object) -> EntityGraphModel:
    torch.manual_seed(0)
    encoder = EncoderConfig(
        vocab_size=400,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=128,
    )
    values = {
        "num_relations": 5,
        "types": ("", "LOC", "PER", "ORG"),
        "pair_size": 16,
        "pair_layers": 1,
        **choices,
    }
    return EntityGraphModel(EntityGraphConfig(encoder, **values)).eval()  # type: ignore[arg-type]  # names of fields


def example(seed: int, tokens: int = 30, entities: int = 4, mentions: int = 7) -> EntityExample:
    generator = torch.Generator().manual_seed(seed)

    def draw(most: int, count: int) -> torch.Tensor:
        return torch.randint(0, most, (count,), generator=generator)

    start = draw(tokens - 3, mentions)
    owner = torch.cat([torch.arange(entities), draw(entities, mentions - entities)])
    return EntityExample(
        document=seed,
        ids=5 + draw(390, tokens),
        mention_entity=owner,
        mention_start=start,
        mention_end=start + 1 + draw(3, mentions),
        types=draw(4, entities),
        entity=torch.arange(entities),
        facts=torch.tensor([[0, 1, 1], [1, 4, 2], [0, 2, 1]]),
    )


@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"shared_layers": 1, "moving_roots": False},
        {"leaves": False, "context": False, "distances": False, "pair_layers": 0},
    ],
)
def test_padding_and_company_change_no_score(choices: dict[str, object]) -> None:
    model = small(**choices)
    short, long = example(1), example(2, tokens=57, entities=6, mentions=11)
    with torch.no_grad():
        alone, together = model(entity_batch([short])), model(entity_batch([long, short]))
    torch.testing.assert_close(together[1, :4, :4], alone[0], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("unstated", [1.0, 0.2])
def test_the_mean_loss_does_not_depend_on_the_size_of_batches(unstated: float) -> None:
    model = small()
    sizes = ((12, 3, 3), (20, 4, 7), (30, 4, 7), (40, 5, 9), (57, 9, 14))
    texts = [example(number, *size) for number, size in enumerate(sizes)]
    with torch.no_grad():
        together = float(entity_loss(model, entity_batch(texts), unstated)["loss"])
    for size in range(1, 6):
        assert mean_loss(model, texts, size, unstated) == pytest.approx(together, rel=1e-5)


def test_the_order_of_entities_and_mentions_does_not_matter() -> None:
    model, item = small(), example(3)
    order, shuffled = torch.tensor([2, 0, 3, 1]), torch.tensor([4, 2, 6, 0, 1, 5, 3])
    turned = replace(
        item,
        mention_entity=order.argsort()[item.mention_entity][shuffled],
        mention_start=item.mention_start[shuffled],
        mention_end=item.mention_end[shuffled],
        types=item.types[order],
    )
    with torch.no_grad():
        plain, changed = model(entity_batch([item]))[0], model(entity_batch([turned]))[0]
    torch.testing.assert_close(changed, plain[order][:, order], atol=1e-5, rtol=1e-4)


def test_roots_do_not_see_leaves() -> None:
    model, item = small(context=False, pair_layers=0), example(4)
    batch = entity_batch([item])
    seen: list[torch.Tensor] = []
    model.encoder.layers[-1].register_forward_hook(lambda *values: seen.append(values[2][0]))
    with torch.no_grad():
        model(batch)
        alone = model.encoder(batch.input_ids, batch.real).last_hidden_state
    torch.testing.assert_close(seen[0][:, : batch.input_ids.shape[1]], alone, atol=1e-5, rtol=1e-4)


def test_every_parameter_learns() -> None:
    model = small().train()
    entity_loss(model, entity_batch([example(5), example(6)]))["loss"].backward()
    silent = [
        name
        for name, parameter in model.named_parameters()
        # A type that is absent has no gradient, a key's bias none but noise; row 0 of types is "not known".
        if parameter.grad is None or not parameter.grad.abs().sum() > 0
    ]
    assert not [name for name in silent if not name.endswith("key.bias")]


def test_frozen_states_are_what_the_frozen_layers_give() -> None:
    model, items = small(shared_layers=1, frozen=True), [example(7), example(8, tokens=41)]
    assert not any(parameter.requires_grad for parameter in model.encoder.layers[0].parameters())
    kept = with_frozen_states(model, items)
    with torch.no_grad():
        fresh = model(entity_batch(items))
        stored = model(entity_batch([replace(item, hidden=item.hidden.float()) for item in kept]))  # type: ignore[union-attr]  # kept
    torch.testing.assert_close(stored, fresh, atol=0.05, rtol=0.05)


def test_a_batch_has_what_every_text_has() -> None:
    first, second = (replace(example(seed), cases=torch.ones(30, dtype=torch.int64)) for seed in (1, 2))
    cases = entity_batch([first, second]).cases
    assert cases is not None
    assert cases[:, :30].eq(1).all()
    assert cases[:, 30:].eq(0).all()
    assert entity_batch([first, replace(second, cases=None)]).cases is None


def test_loss_equals_a_loop() -> None:
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(1, 3, 3, 4, generator=generator, dtype=torch.float64)
    labels = torch.rand(1, 3, 3, 4, generator=generator) < 0.3
    labels[..., 0] = False
    pairs = ~torch.eye(3, dtype=torch.bool)[None]
    expected = []
    for i, j in pairs[0].nonzero().tolist():
        row, true = scores[0, i, j], labels[0, i, j].nonzero().flatten().tolist()
        others = [r for r in range(4) if r not in true]
        above = -sum(float(row[r] - torch.logsumexp(row[[0, *true]], 0)) for r in true)
        expected.append(above - float(row[0] - torch.logsumexp(row[others], 0)))
    assert float(threshold_loss(scores, labels, pairs)) == pytest.approx(sum(expected) / len(expected))
    weights = [1.0 if labels[0, i, j].any() else 0.1 for i, j in pairs[0].nonzero().tolist()]
    assert 0.1 in weights
    assert 1.0 in weights
    weighed = sum(w * value for w, value in zip(weights, expected, strict=True)) / sum(weights)
    assert float(threshold_loss(scores, labels, pairs, 0.1)) == pytest.approx(weighed)


def test_pairs_without_a_fact_are_weighed_by_how_many_there_are() -> None:
    sparse = replace(example(5, entities=5), facts=torch.tensor([[0, 1, 1], [0, 2, 1], [3, 1, 2]]))
    none = replace(example(6), facts=torch.empty(0, 3, dtype=torch.int64))
    # Five entities make twenty pairs, four make twelve; two pairs have facts.
    assert weight_of_unstated([sparse, none], 6.0) == pytest.approx(6 * 2 / 30)
    assert weight_of_unstated([sparse, none], 15.0) == weight_of_unstated([sparse, none], 99.0) == 1.0
    assert weight_of_unstated([none], 6.0) == 1.0


def test_a_training_weighs_pairs_without_a_fact(texts: TextDataset, tmp_path: Path) -> None:
    seen: list[float] = []
    told, *others = texts.documents_of("train")
    few = replace(
        texts,
        passages=tuple(
            replace(item, facts=item.facts[:0]) if item.document in others else item
            for item in texts.passages
        ),
    )
    assert any(len(item.facts) for item in few.passages if item.document == told)
    for unstated in (None, 6.0):
        torch.manual_seed(0)
        model = from_scratch(few, hidden_size=32, layers=1, heads=2, pair_size=16)
        config = TrainConfig(steps=1, batch_size=64, learning_rate=1e-9, restore_best=False)
        outcome = course(model, few, config, unstated=unstated).run(tmp_path / str(unstated))
        seen.append(outcome.history.evaluations[-1]["loss"])
    # The rate is too small to learn anything: what differs is how pairs without a fact count.
    assert seen[1] > 1.05 * seen[0]
    with pytest.raises(ConfigError, match="must be above 0"):
        Setup(tmp_path, tmp_path, Shape(kind="entities"), unstated=0.0)
    with pytest.raises(ConfigError, match="for the kind entities, not graphmert"):
        Setup(tmp_path, tmp_path, Shape(kind="graphmert"), unstated=None)


def test_the_loss_is_not_chosen_by_its_highest(texts: TextDataset) -> None:
    model = from_scratch(texts, hidden_size=32, layers=1, heads=2, pair_size=16)
    with pytest.raises(ConfigError, match="of 'loss' the lower is better"):
        course(model, texts, TrainConfig(steps=1, mode="max")).run()


def test_distances_equal_brute_force() -> None:
    start = torch.tensor([[3, 40, 11, 90, 0]])
    entity = torch.tensor([[0, 0, 1, 2, -1]])
    owned = entity[:, None] == torch.arange(3)[:, None]
    found = distance_buckets(start, owned)[0]
    for i in range(3):
        for j in range(3):
            gaps = [
                (abs(b - a), b < a)
                for a, x in zip(start[0].tolist(), entity[0].tolist(), strict=True)
                for b, y in zip(start[0].tolist(), entity[0].tolist(), strict=True)
                if x == i and y == j
            ]
            gap, before = min(gaps)
            assert (
                int(found[i, j])
                == min(int(torch.log2(torch.tensor(gap + 1.0))), DISTANCES - 1) + DISTANCES * before
            )


def test_windows_cover_all_chunks_and_overlap() -> None:
    assert windows([100, 100, 100], 512) == [(0, 3)]
    assert windows([100] * 7, 400) == [(0, 4), (2, 6), (4, 7)]
    assert windows([600, 10], 512) == [(0, 1), (1, 2)]


def test_each_process_has_its_share(texts: TextDataset, monkeypatch) -> None:
    def plan() -> list[list[int]]:
        model = from_scratch(texts, hidden_size=32, layers=2, heads=2, pair_size=32)
        lessons = course(model, texts, TrainConfig(steps=1, batch_size=4))
        assert lessons.batches.rank == lessons.batches.plan.rank
        return lessons.batches.plan.epoch(0)

    whole = plan()
    monkeypatch.setenv("WORLD_SIZE", "2")
    shares = []
    for rank in range(2):
        monkeypatch.setenv("RANK", str(rank))
        shares.append(plan())
    assert [sorted(first + second) for first, second in zip(*shares, strict=True)] == [*map(sorted, whole)]


def test_it_learns_and_shuffled_relations_do_not(texts: TextDataset, tmp_path: Path) -> None:
    config = TrainConfig(
        epochs=12, batch_size=4, learning_rate=3e-3, precision="fp32", device="cpu", threads=1
    )
    losses = {}
    for shuffled in (False, True):
        torch.manual_seed(0)
        model = from_scratch(texts, hidden_size=32, layers=2, heads=2, pair_size=32)
        history = course(model, texts, config, shuffle_relations=shuffled).run().history
        losses[shuffled] = history.evaluations[-1]["loss"]
    assert losses[False] < 0.5 * losses[True]


def test_bad_input_is_refused() -> None:
    with pytest.raises(ConfigError, match="context needs leaves"):
        EntityGraphConfig(leaves=False)
    with pytest.raises(ConfigError, match="types must begin"):
        EntityGraphConfig(types=("PER",))
    with pytest.raises(InputError, match="outside the 30 tokens"):
        replace(example(0), mention_end=torch.full((7,), 31))
    with pytest.raises(InputError, match="without a mention"):
        replace(example(0), types=torch.zeros(9, dtype=torch.int64))
    with pytest.raises(InputError, match="no texts"):
        entity_batch([])

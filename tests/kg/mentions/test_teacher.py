"""``recipes/kg_text_teacher.py``: tags learnt from probabilities, a teacher of other ids, short texts together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch
from tests.kg.text_corpus import write_corpus
from tokenizers import Tokenizer
from tokenizers.models import WordPiece

from weft.kg.dataset.text import TextBuildConfig, build_redocred
from weft.kg.learn.text import from_scratch
from weft.kg.mentions.find import find_spans, score_mentions
from weft.kg.mentions.tags import number_of_tags
from weft.kg.mentions.training import Tagger
from weft.kg.represent.passages import TextDataset, load_text_dataset
from weft.train import TrainConfig

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def teaching(recipe: Callable[[str], ModuleType]) -> ModuleType:
    return recipe("kg_text_teacher")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> TextDataset:
    place = tmp_path_factory.mktemp("towns")
    config = TextBuildConfig(vocab_size=400, valid_percent=20, test_percent=20)
    build_redocred([write_corpus(place / "towns.json", 48)], place / "data", config)
    return load_text_dataset(place / "data")


def test_mentions_are_learnt_from_probabilities(
    teaching: ModuleType, dataset: TextDataset, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "layers": 2, "heads": 2, "pair_size": 16}
    model = from_scratch(dataset, **sizes, shared_layers=1, mention_layers=1)
    passages = dataset.passages_of("train")
    targets = teaching.given_probabilities(passages, number_of_tags(len(dataset.types) - 1))
    assert all(torch.equal(item.sum(dim=1), torch.ones(len(item)).half()) for item in targets)
    config = TrainConfig(steps=100, batch_size=2, learning_rate=1e-2, restore_best=False)
    teaching.learn_tags(Tagger(model), passages, targets, config, tmp_path)
    valid = dataset.passages_of("valid")
    assert score_mentions(find_spans(model, valid), valid, dataset.types[1:]).typed_f1 > 0.8
    bare = teaching.bare_passages(dataset, [])
    assert bare == []


def test_a_teacher_reads_the_same_words_by_ids_of_its_own(teaching: ModuleType) -> None:
    def words(*names: str) -> Tokenizer:
        return Tokenizer(WordPiece({name: number for number, name in enumerate(names)}, unk_token="[UNK]"))

    ours = words("<pad>", "[UNK]", "[CLS]", "[SEP]", "<tail>", "river", "##s")
    mpnet = words("<s>", "<pad>", "</s>", "##s", "[UNK]", "[CLS]", "river")
    assert teaching.ids_of(ours, mpnet).tolist() == [1, 4, 0, 2, 4, 6, 3]
    bert = words("[UNK]", "river", "[CLS]", "[SEP]", "##s", "<pad>")
    assert teaching.ids_of(ours, bert).tolist() == [5, 0, 2, 3, 0, 1, 4]


def test_short_texts_count_together(teaching: ModuleType) -> None:
    lengths = [300, *([60] * 9), 200, 20]
    groups = teaching._grouped(lengths)
    assert sorted(number for group in groups for number in group) == list(range(len(lengths)))
    assert [sorted(lengths[number] for number in group) for group in groups] == [
        [20, 60, 60, 60],
        [60, 60, 60, 60],
        [60, 60],
        [200],
        [300],
    ]

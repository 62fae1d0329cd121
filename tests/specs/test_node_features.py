"""The model contract: initialize_node_features."""

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers

from weft.documents.bcs_model import initialize_node_features
from weft.errors import InputError


def word_tokenizer():
    words = {"[UNK]": 0, "mov": 1, "eax": 2, "ebx": 3, "ret": 4, "add": 5, ",": 6}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def test_node_features_are_the_mean_of_the_tokens_of_a_block():
    embedding = torch.nn.Embedding(7, 5)
    blocks = [["mov eax, ebx", "add eax, eax"], [], ["ret"], ["jmp"]]
    features = initialize_node_features(blocks, word_tokenizer(), embedding)
    assert features.shape == (4, 5)
    E = embedding.weight
    torch.testing.assert_close(features[0], E[[1, 2, 6, 3, 5, 2, 6, 2]].mean(0))
    assert not features[1].any()
    torch.testing.assert_close(features[2], E[4])
    torch.testing.assert_close(features[3], E[0])
    features.sum().backward()
    assert embedding.weight.grad.any()
    assert not initialize_node_features([[]], word_tokenizer(), embedding).any()


def test_node_features_of_nothing_or_of_unknown_tokens():
    with pytest.raises(InputError, match="no basic blocks"):
        initialize_node_features([], word_tokenizer(), torch.nn.Embedding(7, 5))
    with pytest.raises(InputError, match="token 6; the embedding layer has 6 rows"):
        initialize_node_features([["mov eax, ebx"]], word_tokenizer(), torch.nn.Embedding(6, 5))

"""Vocabularies of text: learnt from a corpus, or taken from a BERT directory.

Text is cut into runs of letters, marks and digits, and into single other characters. White space falls
away: offsets keep the text, and a name has the same tokens wherever it stands, across a line break too,
which is what copying needs. Each piece opens with a mark of its own, so that a tail that stands nowhere in
the text can be spelled with its spaces.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders
from tokenizers.pre_tokenizers import ByteLevel, Sequence, Split

from weft.errors import CheckpointError
from weft.kg.dataset.tokens import SPECIALS, UNKNOWN, CodeTokenizer, learn_pairs
from weft.platform.reading import read_object

_PIECES = r"\w+|[^\w\s]|\s+"
# Pieces come out of the decoder with a space between any two; these are the places where English has none.
_NO_SPACE = (
    r"\A ",
    r" (?=[.,;:!?)\]%’'])",
    r"(?<=[(\[$#]) ",
    r"(?<=\w['’]) (?=\w)",
    r"(?<=\w) (?=-\s?\w)",
    r"(?<=\w-) ",
)


def learn_vocabulary(texts: Iterable[str], vocab_size: int = 8192) -> CodeTokenizer:
    """Learn a byte-pair encoding of text; every character can be spelled, by its bytes if need be."""
    pre_tokenizer = Sequence(
        [
            Split(Regex(_PIECES), behavior="isolated"),
            Split(Regex(r"\A\s+\z"), behavior="removed"),
            ByteLevel(add_prefix_space=True, use_regex=False),
        ]
    )
    decoder = decoders.Sequence(
        [decoders.ByteLevel(), *(decoders.Replace(Regex(pattern), "") for pattern in _NO_SPACE)]
    )
    return learn_pairs(texts, vocab_size, pre_tokenizer, decoder)


def bert_vocabulary(folder: Path) -> CodeTokenizer:
    """The vocabulary of a BERT directory, every word piece with the id that it has there.

    The first five ids are BERT's padding and four tokens that it never used; they become
    :data:`~weft.kg.dataset.tokens.SPECIALS`. A model that starts from the checkpoint copies the embeddings of
    ``[MASK]`` and ``[UNK]`` into two of them. That of a model of text is taken as it is.

    Raises:
        CheckpointError: There is no ``tokenizer.json`` of that kind.
    """
    path = folder / "tokenizer.json"
    try:
        data = read_object(path)
        vocabulary = data["model"]["vocab"]
        by_id = {number: token for token, number in vocabulary.items()}
        old = [by_id[number] for number in range(len(SPECIALS))]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"no word-piece vocabulary can be read: {error!r}", where=str(path)) from error
    if tuple(old) == SPECIALS:
        return CodeTokenizer.load(path)
    if data["model"].get("type") != "WordPiece" or not all(
        token == "[PAD]" or token.startswith("[unused") for token in old
    ):
        raise CheckpointError(f"the first ids are {old}; BERT's are padding and unused ones", where=str(path))
    for number, token in enumerate(SPECIALS):
        del vocabulary[old[number]]
        vocabulary[token] = number
    data["model"]["unk_token"] = SPECIALS[UNKNOWN]
    data["model"]["vocab"] = dict(sorted(vocabulary.items(), key=lambda item: item[1]))
    data["added_tokens"] = [token for token in data.get("added_tokens", []) if token["id"] >= len(SPECIALS)]
    data["truncation"] = data["padding"] = data["post_processor"] = None
    return CodeTokenizer(Tokenizer.from_str(json.dumps(data)))

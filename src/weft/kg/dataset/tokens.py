"""Sub-word tokens of source code, with the word that each belongs to.

Text is cut into words first: identifiers, numbers, line breaks with the indentation after them, single
other characters and runs of operators. Spaces inside a line fall away: offsets keep the text, and an
identifier has the same tokens wherever it stands, which is what copying needs.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Regex, Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.decoders import Decoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, PreTokenizer, Sequence, Split
from tokenizers.trainers import BpeTrainer

from weft.encoder.checkpoint.tokenizer import parse_tokenizer
from weft.errors import CheckpointError
from weft.platform.files import write_text
from weft.platform.reading import raising, read_text

PAD, UNKNOWN, MASK, START, END = range(5)
SPECIALS = ("<pad>", "<unk>", "<mask>", "<tail>", "<end>")
NO_WORD = 255
"""Word index of a token that is part of no word."""

_WORD = re.compile(r"\w+")
_PIECES = r"(?:\r?\n[ \t\f\r]*)+|[^\W\d]\w*|\d\w*|[ \t\f\r]+|[-+*/%=<>!&|^~@:.]+|[^\w\s]|\s"


@dataclass(frozen=True)
class Tokens:
    """The tokens of one text.

    Args:
        ids: ``(n,)`` int64.
        starts: ``(n,)`` offsets of the first character of each.
        ends: ``(n,)`` offsets after the last.
        words: ``(n,)`` index of the word that each is part of, ascending.
    """

    ids: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    words: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ids)


class CodeTokenizer:
    """A byte-pair encoding of source code.

    Args:
        tokenizer: A tokenizer with the five :data:`SPECIALS` as its first ids.

    Raises:
        CheckpointError: The tokenizer lacks them.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        found = tuple(tokenizer.id_to_token(number) for number in range(len(SPECIALS)))
        if found != SPECIALS:
            raise CheckpointError(f"the tokenizer's first ids are {found}, not {SPECIALS}")
        self.tokenizer = tokenizer
        # A "[MASK]" that stands in a text is characters like others: special tokens are given by their ids.
        self.tokenizer.encode_special_tokens = True

    @staticmethod
    def train(texts: Iterable[str], vocab_size: int = 8192) -> CodeTokenizer:
        """Learn a vocabulary from texts."""
        return learn_pairs(texts, vocab_size, _pre_tokenizer(), ByteLevelDecoder())

    @staticmethod
    def load(path: Path) -> CodeTokenizer:
        """Read a ``tokenizer.json``.

        Raises:
            CheckpointError: The file is no tokenizer.
        """
        with raising(CheckpointError):
            text = read_text(path)
        return CodeTokenizer(parse_tokenizer(text, str(path), (_PIECES,)))

    def save(self, path: Path) -> None:
        """Write a ``tokenizer.json``."""
        write_text(path, self.tokenizer.to_str())

    @cached_property
    def vocab_size(self) -> int:
        """Number of token ids."""
        return self.tokenizer.get_vocab_size()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the vocabulary and of how text is cut, in hex: two of one digest give the same tokens."""
        return hashlib.sha256(self.tokenizer.to_str().encode()).hexdigest()

    def encode(self, text: str) -> Tokens:
        """Tokens of a text."""
        return _tokens(self.tokenizer.encode(text, add_special_tokens=False))

    def encode_many(self, texts: list[str]) -> Iterator[Tokens]:
        """Tokens of many texts, in order."""
        return map(_tokens, self.tokenizer.encode_batch(texts, add_special_tokens=False))

    def tail(self, text: str) -> tuple[int, ...]:
        """The token ids of a tail."""
        return tuple(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def text(self, ids: Iterable[int]) -> str:
        """The text of token ids."""
        return self.tokenizer.decode(list(ids))


def is_word(word: str) -> bool:
    """Whether a piece of text is an identifier, a keyword or a number."""
    return _WORD.fullmatch(word) is not None


def learn_pairs(
    texts: Iterable[str], vocab_size: int, pre_tokenizer: PreTokenizer, decoder: Decoder
) -> CodeTokenizer:
    """Learn a byte-pair encoding of at most ``vocab_size`` tokens, :data:`SPECIALS` first, from texts."""
    tokenizer = Tokenizer(BPE(unk_token=SPECIALS[UNKNOWN]))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoder
    trainer = BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=list(SPECIALS),
        initial_alphabet=ByteLevel.alphabet(),
        max_token_length=24,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return CodeTokenizer(tokenizer)


def _pre_tokenizer() -> PreTokenizer:
    return Sequence(
        [
            Split(Regex(_PIECES), behavior="isolated"),
            Split(Regex(r"\A[ \t\f\r]+\z"), behavior="removed"),
            ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


def _tokens(encoding: Encoding) -> Tokens:
    offsets = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)
    words = np.array(encoding.word_ids, dtype=np.int64)
    return Tokens(np.array(encoding.ids, dtype=np.int64), offsets[:, 0], offsets[:, 1], words)

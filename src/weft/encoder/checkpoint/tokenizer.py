"""The tokenizer beside a checkpoint: ``tokenizer.json``, or a WordPiece vocabulary."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from weft.encoder.checkpoint.tensors import read_json
from weft.errors import CheckpointError
from weft.platform.reading import parse_json, raising, read_text

TOKENIZER = "tokenizer.json"
_LONGEST_PATTERN = 1000
_PIECES = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\(\?[:=!<>]*|(?:[*+?]|\{\d*,?\d*\})[+?]?|.", re.DOTALL)
"""The parts of a regular expression: what is escaped, classes, what opens a group, repetitions, the rest."""


def load_tokenizer(directory: str | Path) -> Tokenizer | None:
    """Load ``tokenizer.json``, or build BERT's tokenizer from ``vocab.txt``; None where there is neither.

    Padding and truncation that the file prescribes are switched off: cutting a text is for the caller to
    decide, who may want to say so.

    Raises:
        CheckpointError: A file that is no tokenizer, or a vocabulary without the special tokens.
    """
    directory = Path(directory)
    if (directory / TOKENIZER).is_file():
        with raising(CheckpointError):
            text = read_text(directory / TOKENIZER)
        tokenizer = parse_tokenizer(text, str(directory / TOKENIZER))
    elif (directory / "vocab.txt").is_file():
        tokenizer = _wordpiece(directory)
    else:
        return None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def parse_tokenizer(text: str, where: str, patterns: Collection[str] = ()) -> Tokenizer:
    """A tokenizer from the text of a ``tokenizer.json``.

    Args:
        text: The text.
        where: Its file, for messages.
        patterns: Regular expressions of whoever asks, which are known to end soon.

    Raises:
        CheckpointError: It is no tokenizer, or has a regular expression that may try for ever on some text.
    """
    with raising(CheckpointError):
        description = parse_json(text, where)
    parts = description if isinstance(description, dict) else {}
    for part in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
        for pattern in _patterns(parts.get(part)):
            if pattern not in patterns and not _ends_soon(pattern):
                raise CheckpointError(
                    f"its {part} has the regular expression {pattern[:80]!r}, which may try for ever",
                    where=where,
                    hint="one repetition in each of its alternatives, and none of a group, is read",
                )
    try:
        return Tokenizer.from_str(text)
    except Exception as error:  # tokenizers raises the bare class for a bad file
        raise CheckpointError(f"is no tokenizer: {error}", where=where) from error


def _patterns(part: Any) -> Iterator[str]:
    values = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    for value in values:
        yield from _patterns(value)
    if isinstance(part, dict) and isinstance(part.get("Regex"), str):
        yield part["Regex"]


def _ends_soon(pattern: str) -> bool:
    """Whether a search cannot backtrack beyond the length of the text: every alternative repeats one thing at most.

    An option (``?``) doubles the ways; three of them are let through.
    """
    if len(pattern) > _LONGEST_PATTERN:
        return False
    depth = repetitions = options = 0
    before = ""
    for piece in _PIECES.findall(pattern):
        if piece == "|" and depth == 0:
            repetitions = options = 0
        elif piece[0] in "*+{" and len(piece) > (piece[0] == "{"):
            repetitions += 1
            if before == ")":
                return False
        elif piece[0] == "?":
            options += 1
        depth += piece.startswith("(") - (piece == ")")
        if repetitions > 1 or options > 3:
            return False
        before = piece
    return True


def _wordpiece(directory: Path) -> Tokenizer:
    path = directory / "vocab.txt"
    with raising(CheckpointError):
        lines = read_text(path).split("\n")
    vocabulary = {token: index for index, token in enumerate(lines) if token or index < len(lines) - 1}
    options_file = directory / "tokenizer_config.json"
    options = read_json(options_file) if options_file.is_file() else {}
    special = {
        role: str(options.get(f"{role}_token") or default)
        for role, default in (
            ("unk", "[UNK]"),
            ("sep", "[SEP]"),
            ("pad", "[PAD]"),
            ("cls", "[CLS]"),
            ("mask", "[MASK]"),
        )
    }
    absent = [token for token in special.values() if token not in vocabulary]
    if absent:
        raise CheckpointError(f"lacks the special tokens {', '.join(absent)}", where=str(path))
    tokenizer = Tokenizer(
        models.WordPiece(vocabulary, unk_token=special["unk"], max_input_chars_per_word=100)
    )
    accents = options.get("strip_accents")
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=options.get("tokenize_chinese_chars") is not False,
        strip_accents=accents if isinstance(accents, bool) else None,
        lowercase=options.get("do_lower_case") is not False,
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    tokenizer.add_special_tokens(list(special.values()))
    first, last = special["cls"], special["sep"]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first}:0 $A:0 {last}:0",
        pair=f"{first}:0 $A:0 {last}:0 $B:1 {last}:1",
        special_tokens=[(first, vocabulary[first]), (last, vocabulary[last])],
    )
    return tokenizer

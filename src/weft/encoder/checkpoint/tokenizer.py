"""The tokenizer beside a checkpoint: ``tokenizer.json``, or a WordPiece vocabulary."""

from __future__ import annotations

from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from weft.encoder.checkpoint.tensors import read_json
from weft.errors import CheckpointError
from weft.platform.reading import raising, read_text

TOKENIZER = "tokenizer.json"


def load_tokenizer(directory: str | Path) -> Tokenizer | None:
    """Load ``tokenizer.json``, or build BERT's tokenizer from ``vocab.txt``; None where there is neither.

    Padding and truncation that the file prescribes are switched off: cutting a text is for the caller to
    decide, who may want to say so.

    Raises:
        CheckpointError: A file that is no tokenizer, or a vocabulary without the special tokens.
    """
    directory = Path(directory)
    if (directory / TOKENIZER).is_file():
        tokenizer = _parse(directory / TOKENIZER)
    elif (directory / "vocab.txt").is_file():
        tokenizer = _wordpiece(directory)
    else:
        return None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _parse(path: Path) -> Tokenizer:
    read_json(path)  # names a file that cannot be read, or is no JSON, better than tokenizers does
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises the bare class for a bad file
        raise CheckpointError(f"is no tokenizer: {error}", where=str(path)) from error


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

"""Regular expressions of a tokenizer: what may try for ever is refused, what ends soon is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from weft.encoder.checkpoint.tokenizer import load_tokenizer, parse_tokenizer
from weft.errors import CheckpointError

ENDLESS = [
    "(a+)+$",
    "a*a*a*a*$",
    "(a|a)*$",
    "(?:a?){30}a{30}$",
    "a?a?a?a?aaaa",
    "x|(?:ab*)*c",
    "a{2,}b{2,}",
    "a" * 2000,
]
SOON = [
    r"\w+|[^\w\s]|\s+",
    r"'s|'t| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r" {2,}",
    r"\A\s+\z",
    r"[*+?]+",
    r"\*\+\?",
    r"(?<=\w) (?=-\s?\w)",
]


def tokenizer(pattern: str) -> str:
    made = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), behavior="isolated")])
    return made.to_str()


@pytest.mark.parametrize("pattern", ENDLESS)
def test_what_may_try_for_ever_is_refused(pattern: str, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(tokenizer(pattern))
    with pytest.raises(
        CheckpointError, match=r"tokenizer.json: its pre_tokenizer has the regular expression"
    ):
        load_tokenizer(tmp_path)
    # Of whoever asks for it by name, it is read.
    parse_tokenizer(tokenizer(pattern), "tokenizer.json", (pattern,))


@pytest.mark.parametrize("pattern", SOON)
def test_what_ends_soon_is_read_and_ends_soon(pattern: str) -> None:
    made = parse_tokenizer(tokenizer(pattern), "tokenizer.json")
    assert made.encode("a" * 5_000 + " b" + " " * 5_000).ids


def test_every_part_is_looked_at() -> None:
    made = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    made.normalizer = normalizers.Replace(Regex("(a+)+$"), "")
    with pytest.raises(CheckpointError, match="its normalizer has the regular expression"):
        parse_tokenizer(made.to_str(), "tokenizer.json")


def test_what_is_no_tokenizer_is_one_line() -> None:
    for text in ("[]", "{}", "[" * 100_000, '{"a": ' + "9" * 5_000 + "}"):
        with pytest.raises(CheckpointError) as found:
            parse_tokenizer(text, "tokenizer.json")
        assert "\n" not in str(found.value)

"""The word lists by which slips of the keyboard are read: ``src/weft/absa/represent/words.txt.bz2``.

    apt-get install wamerican wbritish wamerican-huge wbritish-huge
    python recipes/absa_words.py --start MINILM --lists /usr/share/dict --out src/weft/absa/represent/words.txt.bz2

Frequent words are the whole words of the start's vocabulary, which stands in the order of their frequency, as far as
the huge lists have them in small letters. Common words are those of the usual lists. Known are all others of the huge
lists, names too, contractions without their apostrophe, the rest of the vocabulary, and ``absa_any/words.txt``; of
these only what would be read as another word is kept. The lists are SCOWL's, by Kevin Atkinson: free to use, copy and
change, with its notice (``src/weft/absa/represent/words.LICENSE.txt``).
"""

from __future__ import annotations

import argparse
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from weft.absa.represent.slips import TOGETHER, Words
from weft.absa.represent.word_lists import pack
from weft.encoder.checkpoint.tokenizer import load_tokenizer
from weft.platform.files import write_bytes

FURTHER = Path(__file__).parent / "absa_any/words.txt"
COMMON, HUGE = ("american-english", "british-english"), ("american-english-huge", "british-english-huge")


def plain(words: Iterable[str]) -> set[str]:
    """Words in ASCII, without accents and apostrophes; what holds anything else is dropped."""
    found = (unicodedata.normalize("NFKD", word.replace("'", "")) for word in words)
    stripped = ("".join(letter for letter in word if not unicodedata.combining(letter)) for word in found)
    return {word for word in stripped if word.isascii() and word.isalpha()}


def read(folder: Path, names: Iterable[str]) -> set[str]:
    """The lines of some lists."""
    return {line for name in names for line in (folder / name).read_text(encoding="utf-8").split()}


def small(words: Iterable[str]) -> set[str]:
    """Words in small letters, without those that only are possessives."""
    return {word for word in plain(word for word in words if "'" not in word) if word.islower()}


def shortened(word: str) -> set[str]:
    """A word without one letter, its first one staying: two that are an edit apart have one of these in common."""
    return {word[:at] + word[at + 1 :] for at in range(1, len(word))}


def main() -> None:
    """Read the lists, keep what matters, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--start", type=Path, required=True, help="a checkpoint with a vocabulary of whole words"
    )
    parser.add_argument("--lists", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    tokenizer = load_tokenizer(arguments.start)
    if tokenizer is None:
        parser.error(f"{arguments.start} has no tokenizer")
    numbers = tokenizer.get_vocab()
    whole = [
        piece for piece in sorted(numbers, key=numbers.__getitem__) if piece.isascii() and piece.isalpha()
    ]
    usual, huge = read(arguments.lists, COMMON), read(arguments.lists, HUGE)
    no_name = small(huge)
    frequent = [piece for piece in whole if len(piece) > 1 and piece in no_name]
    common = sorted(word for word in small(usual) - set(frequent) if len(word) > 2)
    rank = dict.fromkeys(common, 40_000) | {word: place for place, word in enumerate(frequent)}
    judge = Words(rank)
    further = set(FURTHER.read_text(encoding="utf-8").split("\n", 1)[1].split())
    known = {word.lower() for word in plain(usual | huge) | set(whole) | further} - rank.keys()
    shorter = set(rank).union(*map(shortened, rank))
    near = (word for word in known if len(word) >= TOGETHER or word in shorter or shorter & shortened(word))
    kept = sorted(word for word in near if judge.meant(word) != word)
    write_bytes(arguments.out, pack(frequent, common, kept))
    print(f"{len(frequent)} frequent, {len(common)} common, {len(kept)} of {len(known)} known")


if __name__ == "__main__":
    main()

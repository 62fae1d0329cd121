"""The vocabulary: 4,096 tokens for all architectures, the same on every machine.

Mnemonics come from a committed list; everything else follows from rules. What is not listed falls into
hashed buckets, one group for mnemonics and one for operands, so that two rare instructions are still told
apart most of the time and no input is ever unknown.
"""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

VOCABULARY_SIZE = 4096
#: Positions of jump targets with a token of their own.
JUMP_POSITIONS = 512
#: Immediates with a token of their own.
SMALL_IMMEDIATES = range(-16, 256)
#: Displacements from a register other than the stack or frame pointer with a token of their own.
SMALL_DISPLACEMENTS = range(256)
CONSTANT_BUCKETS = 512
MNEMONIC_BUCKETS = 64
OPERAND_BUCKETS = 128

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "none", "imm", "imms")
ADDRESSES = ("@const", "@data", "@code", "@slot", "@page", "@self")
CALLS = ("call:internal", "call:external", "call:self", "tail:internal", "tail:external", "call:indirect")
X86_SIZES = ("m8", "m16", "m32", "m48", "m64", "m80", "m128", "m256", "m512", "m")


@dataclass(frozen=True)
class Vocabulary:
    """Token ↔ id.

    Args:
        tokens: Id → token.
        ids: Token → id.
        digest: SHA-256 over the tokens in order: equal digests mean equal ids.
    """

    tokens: tuple[str, ...]
    ids: dict[str, int]
    digest: str

    def __len__(self) -> int:
        return len(self.tokens)

    def mnemonic(self, text: str) -> int:
        """The id of a mnemonic."""
        found = self.ids.get(text)
        return found if found is not None else self.ids[f"mnemonic#{_bucket(text, MNEMONIC_BUCKETS)}"]

    def operand(self, text: str) -> int:
        """The id of an operand."""
        found = self.ids.get(text)
        return found if found is not None else self.ids[f"operand#{_bucket(text, OPERAND_BUCKETS)}"]

    def immediate(self, value: int) -> int:
        """``i:<value>`` in the small range, ``h:<bucket>`` of the exact value outside of it."""
        if value in SMALL_IMMEDIATES:
            return self.ids[f"i:{value}"]
        return self.ids[f"h:{_bucket(str(value), CONSTANT_BUCKETS)}"]

    def displacement(self, value: int) -> int:
        """``d:<value>`` for a small offset into a structure, ``d:<log bucket>`` for others."""
        if value in SMALL_DISPLACEMENTS:
            return self.ids[f"d:{value}"]
        return self.ids[f"d:{log_bucket(value)}"]

    def stack_offset(self, value: int) -> int:
        """``s:<log bucket>``: compilers lay out frames as they like, so the exact value means little."""
        return self.ids[f"s:{log_bucket(value)}"]

    def jump(self, position: int) -> int:
        """``to:<index of the target instruction>``; the entry is position 0, not nothing."""
        return self.ids[f"to:{position}" if position < JUMP_POSITIONS else "to:far"]

    def distance(self, difference: int) -> int:
        """``j:<log bucket>`` of target minus source, in instructions."""
        return self.ids[f"j:{log_bucket(difference)}"]


def _bucket(text: str, buckets: int) -> int:
    return zlib.crc32(text.encode()) % buckets


def log_bucket(value: int) -> str:
    """Sign and bit length: ``+4`` for 8…15, ``-1`` for −1, ``+0`` for 0; at most 33 bits are told apart."""
    return f"{'-' if value < 0 else '+'}{min(abs(value).bit_length(), 33)}"


def _registers() -> list[str]:
    names: list[str] = []
    for letter in "abcd":
        names += [f"r{letter}x", f"e{letter}x", f"{letter}x", f"{letter}l", f"{letter}h"]
    for stem in ("si", "di", "bp", "sp"):
        names += [f"r{stem}", f"e{stem}", stem, f"{stem}l"]
    names += [f"r{number}{suffix}" for number in range(8, 16) for suffix in ("", "d", "w", "b")]
    names += [f"{kind}mm{number}" for kind in "xyz" for number in range(32)]
    names += [f"k{number}" for number in range(8)] + [f"st({number})" for number in range(8)] + ["st"]
    names += [f"mm{number}" for number in range(8)] + ["cs", "ds", "es", "fs", "gs", "ss", "rip"]
    names += [f"{kind}{number}" for kind in "xw" for number in range(31)] + ["sp", "wsp", "xzr", "wzr"]
    names += [f"{kind}{number}" for kind in "vqdshb" for number in range(32)]
    names += [f"r{number}" for number in range(8)] + ["sb", "sl", "fp", "ip", "lr", "pc"]
    mips = "zero at v0 v1 a0 a1 a2 a3 t0 t1 t2 t3 t4 t5 t6 t7 s0 s1 s2 s3 s4 s5 s6 s7 t8 t9 k0 k1 gp sp fp ra"
    names += [f"${name}" for name in mips.split()] + [f"$f{number}" for number in range(32)]
    conditions = "eq ne hs lo mi pl vs vc hi ls ge lt gt le al nv"
    return names + conditions.split()


def _memory() -> list[str]:
    x86_bases = [f"r{stem}" for stem in ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp")]
    x86_bases += [f"r{number}" for number in range(8, 16)]
    forms: list[str] = []
    for size in ("m8", "m16", "m32", "m64", "m128", "m"):
        forms += [f"{size}[{base}{index}]" for base in (*x86_bases, "") for index in ("", "+i")]
    forms += [f"{size}{place}" for size in X86_SIZES for place in ADDRESSES]
    forms += [f"{size}{segment}[]" for size in ("m32", "m64") for segment in ("fs", "gs")]
    arm_bases = [f"x{number}" for number in range(31)] + ["sp"]
    forms += [
        f"[{base}{index}]{mark}" for base in arm_bases for index, mark in (("", ""), ("+i", ""), ("", "!"))
    ]
    forms += [f"[r{number}{index}]" for number in range(13) for index in ("", "+i")]
    forms += [
        f"[${name}]" for name in ("v0", "v1", "a0", "a1", "a2", "a3", "t9", "s0", "s1", "gp", "sp", "fp")
    ]
    return forms


def _constants() -> list[str]:
    names = [f"i:{value}" for value in SMALL_IMMEDIATES]
    names += [f"h:{bucket}" for bucket in range(CONSTANT_BUCKETS)]
    names += [f"d:{value}" for value in SMALL_DISPLACEMENTS]
    buckets = [f"{sign}{length}" for sign in "+-" for length in range(34)]
    return names + [f"{kind}:{bucket}" for kind in "dsj" for bucket in buckets]


@lru_cache(maxsize=1)
def load_vocabulary() -> Vocabulary:
    """Build the vocabulary of this version."""
    tokens = [*SPECIALS, *ADDRESSES, *CALLS]
    tokens += [f"to:{position}" for position in range(JUMP_POSITIONS)] + ["to:far"]
    tokens += _constants()
    tokens += [f"mnemonic#{bucket}" for bucket in range(MNEMONIC_BUCKETS)]
    tokens += [f"operand#{bucket}" for bucket in range(OPERAND_BUCKETS)]
    tokens += _registers() + _memory()
    listed = files("weft.bcsd.represent").joinpath("mnemonics.txt").read_text(encoding="ascii")
    tokens += [line for line in listed.splitlines() if line and not line.startswith("#")]
    unique = list(dict.fromkeys(tokens))[:VOCABULARY_SIZE]
    unique += [f"[unused{number}]" for number in range(VOCABULARY_SIZE - len(unique))]
    digest = hashlib.sha256("\n".join(unique).encode()).hexdigest()
    return Vocabulary(tuple(unique), {token: number for number, token in enumerate(unique)}, digest)

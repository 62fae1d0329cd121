"""Requests and answers about binaries; the answers are those of ``weft bcsd … --json``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from weft.serve.shapes.base import Asked, Told, UploadId

Disassembler = Literal["auto", "native", "angr", "smda"]
FunctionName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=4096,
        description="A name, mangled or not, or an address in hexadecimal: with `0x` any inside the function.",
        examples=["main", "0x1139"],
    ),
]
Least = Annotated[int, Field(ge=0, le=1_000_000, description="Leave out functions with fewer blocks.")]


class AskFunctions(Asked):
    """Whose functions."""

    file: UploadId
    function: FunctionName | None = Field(None, description="One function, with its graph and tokens.")
    disassembler: Disassembler = "auto"


class AskSearch(Asked):
    """What to search the index for."""

    file: UploadId
    function: FunctionName | None = Field(None, description="One function; all where null.")
    hits: int = Field(10, ge=1, le=200, description="Hits for each function.")
    min_blocks: Least = 5


class AskIdentify(Asked):
    """Whose libraries."""

    file: UploadId
    min_blocks: int = Field(5, ge=1, le=1_000_000, description="Leave out functions with fewer blocks.")


class AskMatch(Asked):
    """Which two files."""

    a: UploadId = Field(description="The file whose names are known, if one has them.")
    b: UploadId
    min_blocks: Least = 0
    floor: float | None = Field(None, ge=0, le=1, description="Leave pairs less sure than this unmatched.")
    disassembler: Disassembler = "auto"


class AskDiff(Asked):
    """Which two versions of a program."""

    old: UploadId
    new: UploadId
    disassembler: Disassembler = "auto"


class AskExplain(Asked):
    """Which two functions."""

    a: UploadId
    function_a: FunctionName
    b: UploadId
    function_b: FunctionName
    disassembler: Disassembler = "auto"


class Line(Told):
    """A function in a list."""

    name: str
    address: int
    size: int
    blocks: int
    edges: int
    instructions: int
    flags: list[str]
    aliases: list[str]
    demangled: str | None = None


class Listing(Told):
    """As `weft bcsd show FILE --json`."""

    schema_: Literal[1] = Field(alias="schema")
    functions: list[Line]
    remarks: list[str]


class Block(Told):
    """A basic block: its instructions, first and last + 1."""

    start: int
    end: int
    address: int


class Edge(Told):
    """From block to block."""

    source: int
    target: int
    kind: str


class Instruction(Told):
    """An instruction and its tokens."""

    address: int
    text: str
    tokens: list[str]


class Detail(Told):
    """As `weft bcsd show FILE:FUNCTION --json`."""

    schema_: Literal[1] = Field(alias="schema")
    name: str
    demangled: str | None = None
    address: int
    size: int
    flags: list[str]
    aliases: list[str]
    imports: list[str]
    callees: list[int]
    digest: str
    blocks: list[Block]
    edges: list[Edge]
    instructions: list[Instruction]
    remarks: list[str]


class Hit(Told):
    """A function of the index."""

    rank: int
    score: float
    confidence: float
    name: str
    demangled: str | None = None
    address: int
    size: int
    blocks: int
    binary: str
    architecture: str
    flags: list[str]
    library: str | None = None
    version: str | None = None
    package: str | None = None


class Query(Told):
    """A function that was searched for."""

    name: str
    demangled: str | None = None
    address: int
    size: int
    blocks: int
    flags: list[str]
    not_here: float | None
    hits: list[Hit]


class Found(Told):
    """As `weft bcsd search --json`."""

    schema_: Literal[1] = Field(alias="schema")
    index: str
    model: str
    rows: int
    remarks: list[str]
    binary: str
    queries: list[Query]


class NamedFunction(Told):
    """A function of a program."""

    name: str
    address: int
    size: int


class Version(Told):
    """A version and its share of the probability; null where the index holds no other."""

    version: str
    share: float | None


class Saying(Told):
    """A version that the file itself names."""

    version: str
    text: str


class Library(Told):
    """A library that a program holds."""

    name: str
    sure: float
    versions: list[Version]
    versions_held: int
    file_says: list[Saying]
    packages: list[str]
    functions_in_index: int
    functions: list[NamedFunction]


class Identified(Told):
    """As `weft bcsd identify --json`."""

    schema_: Literal[1] = Field(alias="schema")
    binary: str
    sha256: str
    model: str
    functions: int
    libraries: list[Library]
    unexplained: list[NamedFunction]
    remarks: list[str]


class MatchedFile(Told):
    """One of the two files."""

    path: str = Field(description="What its sender calls it.")
    sha256: str
    functions: int
    remarks: list[str] | None = None


class MatchedFunction(Told):
    """A function of one of them."""

    name: str
    demangled: str | None = None
    address: int
    size: int
    blocks: int


class Pair(Told):
    """Two functions that are taken for the same."""

    a: MatchedFunction
    b: MatchedFunction
    score: float
    rank: int
    confidence: float
    flags: list[str]
    evidence: dict[str, Any]


class InCommon(Told):
    """What two files share."""

    share: float
    pairs: int
    runtime: int
    unrelated: bool | None
    said: str


class Matching(Told):
    """As `weft bcsd match --json`."""

    schema_: Literal[1] = Field(alias="schema")
    model: str
    calibrated: bool
    in_common: InCommon | None = None
    a: MatchedFile
    b: MatchedFile
    matches: list[Pair]
    unmatched_a: list[MatchedFunction]
    unmatched_b: list[MatchedFunction]


class Changed(Told):
    """A function of either version, and what became of it."""

    status: str
    old: MatchedFunction | None
    new: MatchedFunction | None
    differs_by: str | None = None
    kinds: dict[str, int] | None = None
    amount: float | None = None
    notes: list[str] | None = None
    blocks: list[dict[str, Any]] | None = Field(None, description="Rows of a mark, both halves and kinds.")


class Difference(Told):
    """As `weft bcsd diff --json`."""

    schema_: Literal[1] = Field(alias="schema")
    old: MatchedFile
    new: MatchedFile
    in_common: InCommon | None = None
    counts: dict[str, int]
    remarks: list[str]
    functions: list[Changed]


class TokenShare(Told):
    """A token's share of the lexical part."""

    token: str
    share: float


class BlockDrop(Told):
    """How far the similarity falls without a block."""

    address: int
    instructions: int
    drop: float


class InstructionDrop(Told):
    """How far it falls without an instruction."""

    address: int
    text: str
    drop: float


class Half(Told):
    """One of the two functions."""

    path: str
    name: str
    address: int
    blocks: list[BlockDrop]
    instructions: list[InstructionDrop]
    prefix: list[list[float]] | None
    remarks: list[str] | None = None


class Explanation(Told):
    """As `weft bcsd explain --json`."""

    schema_: Literal[1] = Field(alias="schema")
    learned: float
    lexical: float
    tokens: list[TokenShare]
    a: Half
    b: Half

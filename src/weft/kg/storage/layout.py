"""The tables of a store, version 3: their columns, and what a row of them is.

Truth, one or more Parquet files each, named by the manifest:

=============  =====================================================================================
documents      one row for each time a document was read or removed; the last row of a document counts
evidence       one row for each place that states a fact; it counts with the row of its document
aliases        names that a user declared to be another entity's
relations      the schema: name and definition
runs           what was run with which model, and when
=============  =====================================================================================

Derived from them at the end of each run, and by a reader where they are absent:

=============  =====================================================================================
triples        the facts, each once, with the surest confidence of its evidence
names          every name in the evidence and the entity that it stands for
=============  =====================================================================================
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from weft.errors import MissingExtraError

try:
    import pyarrow as pa
except ImportError as error:
    raise MissingExtraError("pyarrow", "kg") from error

VERSION = 3

DOCUMENTS = pa.schema(
    [
        ("document", pa.string()),
        ("revision", pa.int64()),
        ("corpus", pa.string()),
        ("sha256", pa.string()),
        ("model", pa.string()),
        ("run", pa.int32()),
        ("facts", pa.int32()),
        ("status", pa.string()),
        ("message", pa.string()),
        ("context", pa.string()),
    ]
)
EVIDENCE = pa.schema(
    [
        ("document", pa.string()),
        ("revision", pa.int64()),
        ("head", pa.string()),
        ("relation", pa.string()),
        ("tail", pa.string()),
        ("confidence", pa.float64()),
        ("start", pa.int32()),
        ("end", pa.int32()),
        ("chunk_start", pa.int32()),
        ("chunk_end", pa.int32()),
        ("line", pa.int32()),
        ("sentence", pa.string()),
        ("combined", pa.string()),
        ("origin", pa.string()),
        ("head_kind", pa.string()),
        ("tail_kind", pa.string()),
    ]
)
ALIASES = pa.schema([("alias", pa.string()), ("entity", pa.string())])
RELATIONS = pa.schema([("relation", pa.string()), ("definition", pa.string())])
RUNS = pa.schema(
    [
        ("run", pa.int32()),
        ("started", pa.string()),
        ("weft", pa.string()),
        ("model", pa.string()),
        ("version", pa.string()),
    ]
)
TRIPLES = pa.schema(
    [
        ("head", pa.string()),
        ("relation", pa.string()),
        ("tail", pa.string()),
        ("confidence", pa.float64()),
        ("evidence", pa.int32()),
        ("documents", pa.int32()),
        ("origin", pa.string()),
        ("first", pa.int64()),
        ("kept", pa.bool_()),
    ]
)
NAMES = pa.schema(
    [("name", pa.string()), ("entity", pa.string()), ("mentions", pa.int64()), ("kind", pa.string())]
)

TRUTH = {
    "documents": DOCUMENTS,
    "evidence": EVIDENCE,
    "aliases": ALIASES,
    "relations": RELATIONS,
    "runs": RUNS,
}
DERIVED = {"triples": TRIPLES, "names": NAMES}
TABLES = {**TRUTH, **DERIVED}

Status = Literal["read", "empty", "failed", "removed"]
Spelling = Literal["exact", "folded"]
Origin = Literal["tree", "model", "words", "label"]
Only = Literal["stated", "inferred"]
ORIGINS_OF: dict[Only, tuple[Origin, ...]] = {"stated": ("tree",), "inferred": ("model", "words", "label")}
"""What ``--only`` asks for, and the origins of those facts."""
SPELLINGS: tuple[Spelling, ...] = get_args(Spelling)


class Evidence(NamedTuple):
    """One place of a document that states a fact.

    Args:
        head: The head as it is named there.
        relation: Name of the relation.
        tail: The tail as the model spelled it.
        confidence: How often such an answer is right.
        start: First character of the head in the document; of a stated fact, of what states it.
        end: The one after its last.
        chunk_start: First character of the chunk that the model read.
        chunk_end: The one after its last.
        line: Line of the head, from 1.
        sentence: The sentence, or the line of source, that holds the head.
        combined: The endpoint's model that put the tail together; empty where the model spelled it.
        origin: ``"tree"`` where the syntax states it, ``"model"`` where a model inferred it, ``"words"`` where it
            was asked for a relation by its words, which training never saw, ``"label"`` where a table or form does.
        head_kind: What the head is, such as ``"class"``; empty where that is not known.
        tail_kind: What the tail is.
    """

    head: str
    relation: str
    tail: str
    confidence: float
    start: int
    end: int
    chunk_start: int
    chunk_end: int
    line: int
    sentence: str
    combined: str = ""
    origin: Origin = "model"
    head_kind: str = ""
    tail_kind: str = ""


class DocumentRow(NamedTuple):
    """A document as the store knows it; the columns of ``documents``.

    Args:
        document: Its name, unique in the store.
        revision: Counts up with every row; evidence carries the one of its document.
        corpus: The corpus that it came from.
        sha256: Of its bytes, in hex.
        model: Version of the model that read it.
        run: The run that read it.
        facts: Rows of evidence.
        status: ``"read"``, ``"empty"`` (without a fact), ``"failed"`` or ``"removed"``.
        message: Why it failed.
        context: Hash of what other documents say of the names in it.
    """

    document: str
    revision: int
    corpus: str
    sha256: str
    model: str
    run: int
    facts: int
    status: str
    message: str
    context: str = ""

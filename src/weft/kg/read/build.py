"""From source trees to a data set: split by module, chunked, with the facts of each chunk.

A data set is a folder: ``chunks.parquet``, ``triples.parquet``, ``documents.parquet``, ``schema.json``,
``tokenizer.json`` and ``build.json``, the funnel with everything that was left out and why.
"""

from __future__ import annotations

import hashlib
import io
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from weft.errors import ConfigError, InputError
from weft.kg.read.chunks import Chunk, add_facts, cut, make_chunk
from weft.kg.read.funnel import Funnel
from weft.kg.read.overlap import Overlap
from weft.kg.read.python_facts import facts
from weft.kg.read.python_units import Function, SourceFile, Unit
from weft.kg.read.split import TRAIN, part_of
from weft.kg.read.stubs import Typeshed, stub_facts
from weft.kg.read.tables import TableWriter
from weft.kg.read.tokens import CodeTokenizer, Tokens
from weft.kg.schema import PYTHON

_SKIPPED_FOLDERS = frozenset(
    ("test", "tests", "testing", "idle_test", "__pycache__", "site-packages", "node_modules")
)


@dataclass(frozen=True)
class BuildConfig:
    """How a data set is made.

    Args:
        roots: R, tokens per chunk.
        longest_tail: K, tokens per tail.
        vocab_size: Size of the vocabulary that is learnt from the training part.
        valid_percent: Share of top-level modules held out for validation.
        test_percent: Share of top-level modules held out for the test.
        extra_chunks: Most chunks taken from the extra trees.
        extra_per_package: Most chunks taken from one top-level package of them.
        overlap: Share of a training unit's token windows that may occur in held-out units.
        stubs: Whether the typeshed's types are added as facts of un-annotated code.
    """

    roots: int = 128
    longest_tail: int = 7
    vocab_size: int = 8192
    valid_percent: int = 8
    test_percent: int = 16
    extra_chunks: int = 0
    extra_per_package: int = 12_000
    overlap: float = 0.5
    stubs: bool = True

    def __post_init__(self) -> None:
        if not 8 <= self.roots <= 255:
            raise ConfigError(f"BuildConfig.roots is {self.roots}; it must be in 8..255")
        if not 1 <= self.longest_tail <= 31:
            raise ConfigError(f"BuildConfig.longest_tail is {self.longest_tail}; it must be in 1..31")
        if not 300 <= self.vocab_size <= 65_536:
            raise ConfigError(f"BuildConfig.vocab_size is {self.vocab_size}; it must be in 300..65536")
        if self.valid_percent < 0 or self.test_percent < 0 or self.valid_percent + self.test_percent > 90:
            raise ConfigError(
                "BuildConfig.valid_percent and test_percent must leave at least 10 for training"
            )


@dataclass(frozen=True)
class Document:
    """One file: its path below its tree, its dotted module name, its part of the split, its source."""

    path: str
    module: str
    split: str
    text: str


def build_python(
    trees: Sequence[Path],
    output: Path,
    config: BuildConfig | None = None,
    *,
    extra: Sequence[Path] = (),
    say: Callable[[str], None] = lambda _: None,
) -> Funnel:
    """Make a data set of Python source trees.

    Args:
        trees: Folders whose modules are split into training, validation and test.
        output: The data set's folder; made where absent.
        config: Sizes and shares.
        extra: Folders that are for training only; what copies held-out modules is left out.
        say: Receives progress lines.

    Returns:
        The funnel, also written to ``build.json``.

    Raises:
        InputError: A tree is no folder, or no file in them can be used.
    """
    config = config or BuildConfig()
    funnel = Funnel()
    documents = [document for tree in trees for document in read_tree(tree, config, funnel)]
    if not documents:
        raise InputError("no Python file that can be used", where=", ".join(map(str, trees)))
    others = [document for tree in extra for document in read_tree(tree, None, funnel)]
    # A fixed shuffle, so that a bound on the number of chunks takes a bit of every package.
    others.sort(key=lambda document: hashlib.sha1(document.path.encode()).digest())
    training = [document for document in documents if document.split == TRAIN]
    say(f"{len(documents)} files, {len(others)} extra; learning a vocabulary")
    sample = [document.text for document in [*training, *others[: 2 * len(training)]]]
    tokenizer = CodeTokenizer.train(sample or [document.text for document in documents], config.vocab_size)
    output.mkdir(parents=True, exist_ok=True)
    tokenizer.save(output / "tokenizer.json")
    PYTHON.save(output / "schema.json")
    stubs = Typeshed() if config.stubs else None
    overlap, seen = Overlap(), set[bytes]()
    with TableWriter(output) as writer:
        # Held-out documents first: what they hold decides what training may hold.
        for document in sorted(documents, key=lambda item: (item.split == TRAIN, item.path)):
            held_out = document.split != TRAIN
            chunks = _document_chunks(document, tokenizer, config, funnel, stubs, overlap, seen, held_out)
            writer.add(document.path, document.module, document.split, document.text, chunks)
        say(f"{writer.chunks} chunks; reading the extra trees")
        taken, per_package = 0, Counter[str]()
        for document in others:
            package = document.module.split(".")[0]
            if taken >= config.extra_chunks or per_package[package] >= config.extra_per_package:
                funnel.counts["extra files beyond the bound"] += 1
                continue
            chunks = _document_chunks(document, tokenizer, config, funnel, None, overlap, seen, False)
            taken += len(chunks)
            per_package[package] += len(chunks)
            writer.add(document.path, document.module, TRAIN, document.text, chunks)
    funnel.counts["chunks"] = writer.chunks
    funnel.save(output / "build.json", asdict(config))
    return funnel


def read_tree(tree: Path, config: BuildConfig | None, funnel: Funnel) -> Iterator[Document]:
    """The Python files of a folder that hold text, in order; tests are skipped.

    Args:
        tree: The folder.
        config: Shares of the split; None puts every file into training.
        funnel: Counts and lists what is left out.
    """
    if not tree.is_dir():
        raise InputError("no such folder", where=str(tree))
    for path in sorted(tree.rglob("*.py")):
        relative = path.relative_to(tree)
        parts = relative.with_suffix("").parts
        if _SKIPPED_FOLDERS.intersection(parts) or parts[-1].startswith("test_"):
            funnel.counts["tests and packages skipped"] += 1
            continue
        funnel.counts["files"] += 1
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        split = TRAIN if config is None else split_of(module, config.valid_percent, config.test_percent)
        try:
            text = decode(path.read_bytes(), str(relative))
            if not text.strip():
                funnel.counts["empty files"] += 1
                continue
            yield Document(str(relative), module, split, text)
        except InputError as error:
            funnel.fail("files that cannot be read", str(error))


def decode(data: bytes, name: str) -> str:
    """Source text by its declared encoding, line ends as they are.

    Raises:
        InputError: Bytes that are no text in that encoding.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise InputError(f"not text in its declared encoding: {error}", where=name) from error


def split_of(module: str, valid_percent: int, test_percent: int) -> str:
    """The part of the split that a module falls into, by its top-level name alone.

    Sub-modules of one package resemble each other too much to be held out one by one.
    """
    return part_of(module.split(".")[0], valid_percent, test_percent)


def unit_chunks(
    file: SourceFile,
    units: Sequence[Unit],
    tokenizer: CodeTokenizer,
    config: BuildConfig,
    counts: Counter[str],
    stubs: Typeshed | None = None,
    module: str = "",
) -> list[Chunk]:
    """Chunks with facts of some units of one file."""
    stubbed = stubs.module(module) if stubs is not None else {}
    result = []
    for unit, tokens in zip(units, tokenizer.encode_many([unit.text for unit in units]), strict=True):
        result += _unit_chunks(file, unit, tokens, tokenizer, config, counts, stubbed)
    return result


def _document_chunks(
    document: Document,
    tokenizer: CodeTokenizer,
    config: BuildConfig,
    funnel: Funnel,
    stubs: Typeshed | None,
    overlap: Overlap,
    seen: set[bytes],
    held_out: bool,
) -> list[Chunk]:
    """Chunks of a document without units seen before and, in training, without copies of held-out ones."""
    try:
        file = SourceFile(document.text, document.path)
    except InputError as error:
        funnel.fail("files that cannot be read", str(error))
        return []
    units = list(file.units())
    kept: list[tuple[Unit, Tokens]] = []
    for unit, tokens in zip(units, tokenizer.encode_many([unit.text for unit in units]), strict=True):
        if len(tokens) == 0:
            funnel.counts["empty units"] += 1
            continue
        print_ = hashlib.sha1(tokens.ids.tobytes()).digest()
        if print_ in seen:
            funnel.counts["units that repeat another"] += 1
            continue
        if held_out:
            overlap.add(tokens.ids)
        elif overlap.share(tokens.ids) > config.overlap:
            funnel.counts["units that copy held-out ones"] += 1
            continue
        seen.add(print_)
        kept.append((unit, tokens))
    stubbed = stubs.module(document.module) if stubs is not None else {}
    result = []
    for unit, tokens in kept:
        funnel.counts[unit.kind] += 1
        result += _unit_chunks(file, unit, tokens, tokenizer, config, funnel.counts, stubbed)
    return result


def _unit_chunks(
    file: SourceFile,
    unit: Unit,
    tokens: Tokens,
    tokenizer: CodeTokenizer,
    config: BuildConfig,
    counts: Counter[str],
    stubbed: dict[str, Function],
) -> list[Chunk]:
    names = {name: number for number, name in enumerate(PYTHON.names)}
    stated = [(fact, 0) for fact in facts(file, unit)] + [
        (fact, 1) for fact in stub_facts(file, unit, stubbed)
    ]
    candidates = [
        (fact.head, names[fact.relation], fact.tail, unit.text_offset(fact.offset), fact.offset, origin)
        for fact, origin in stated
    ]
    sources = unit.source_offsets(tokens.starts, tokens.ends)
    cuts = cut(tokens, unit.breaks, unit.name_span, config.roots)
    counts["cuts inside a statement"] += cuts.hard
    counts[f"{unit.kind} in one chunk"] += len(cuts.bodies) == 1
    result = []
    for number, (start, stop) in enumerate(cuts.bodies):
        chunk = make_chunk(unit.text, tokens, cuts.indices(number), sources)
        begin = int(tokens.starts[start]) if number else 0
        end = int(tokens.starts[stop]) if stop < len(tokens) else len(unit.text) + 1
        add_facts(chunk, candidates, (begin, end), tokenizer, config.longest_tail, counts)
        result.append(chunk)
    return result

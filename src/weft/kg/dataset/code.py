"""From source trees to a data set: split by module, chunked, with the facts of each chunk.

A data set is a folder: ``chunks.parquet``, ``triples.parquet``, ``documents.parquet``, ``schema.json``,
``tokenizer.json`` and ``build.json``, the funnel with everything that was left out and why.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from weft.errors import ConfigError, InputError, counted
from weft.kg.dataset.chunks import Chunk, add_facts, cut, make_chunk
from weft.kg.dataset.overlap import Overlap
from weft.kg.dataset.place import check_place
from weft.kg.dataset.split import TRAIN, part_of
from weft.kg.dataset.tables import TEXT_ALONE, TableWriter, complete
from weft.kg.dataset.tokens import CodeTokenizer, Tokens
from weft.kg.languages import find_language
from weft.kg.languages.language import Language, ParsedFile, Stubs
from weft.kg.languages.unit import Fact, Unit
from weft.kg.read.corpus import UNREAD_FOLDERS, plain_name, walk
from weft.kg.read.funnel import Funnel
from weft.kg.schema import Schema
from weft.platform.files import make_folder
from weft.platform.ranges import require
from weft.platform.reading import SOURCE_BYTES, read_bytes


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
        stubs: Whether what is known of the language's libraries is added: types of un-annotated code.
        language: Name of the programming language.

    Raises:
        ConfigError: A field breaks its rule.
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
    language: str = "python"

    def __post_init__(self) -> None:
        require(self, "roots", 8 <= self.roots <= 255, "in 8..255")
        require(self, "longest_tail", 1 <= self.longest_tail <= 31, "in 1..31")
        require(self, "vocab_size", 300 <= self.vocab_size <= 65_536, "in 300..65536")
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


def build_code(
    trees: Sequence[Path],
    output: Path,
    config: BuildConfig | None = None,
    *,
    extra: Sequence[Path] = (),
    vocabulary: CodeTokenizer | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Funnel:
    """Make a data set of source trees.

    Args:
        trees: Folders whose modules are split into training, validation and test.
        output: The data set's folder; made where absent.
        config: Sizes and shares.
        extra: Folders that are for training only; what copies held-out modules is left out.
        vocabulary: The one to use; learnt from the training part where None.
        say: Receives progress lines.

    Returns:
        The funnel, also written to ``build.json``.

    Raises:
        InputError: A tree is no folder, or no file in them can be used.
        OutputError: The folder holds something of no data set that would be written over, or cannot be written.
    """
    check_place(output)
    config = config or BuildConfig()
    spoken = find_language(config.language)
    funnel = Funnel()
    documents = [document for tree in trees for document in read_tree(tree, spoken, config, funnel)]
    if not documents:
        raise InputError(f"no file of {spoken.name} that can be used", where=", ".join(map(str, trees)))
    others = [document for tree in extra for document in read_tree(tree, spoken, None, funnel)]
    # A fixed shuffle, so that a bound on the number of chunks takes a bit of every package.
    others.sort(key=lambda document: hashlib.sha1(document.path.encode()).digest())
    training = [document for document in documents if document.split == TRAIN]
    say(
        f"{counted(len(documents), 'file')}, {len(others)} extra{'' if vocabulary else '; learning a vocabulary'}"
    )
    sample = [document.text for document in [*training, *others[: 2 * len(training)]]]
    tokenizer = vocabulary or spoken.learn_vocabulary(
        sample or [document.text for document in documents], config.vocab_size
    )
    make_folder(output)
    stubs = spoken.stubs() if config.stubs else None
    overlap, seen = Overlap(), set[bytes]()
    with TableWriter(output) as writer:
        # Held-out documents first: what they hold decides what training may hold.
        for document in sorted(documents, key=lambda item: (item.split == TRAIN, item.path)):
            held_out = document.split != TRAIN
            chunks = _document_chunks(
                document, spoken, tokenizer, config, funnel, stubs, overlap, seen, held_out
            )
            writer.add(document.path, document.module, document.split, document.text, chunks)
        say(f"{counted(writer.chunks, 'chunk')}; reading the extra trees")
        taken, per_package = 0, Counter[str]()
        for document in others:
            package = document.module.split(".")[0]
            if taken >= config.extra_chunks or per_package[package] >= config.extra_per_package:
                funnel.counts["extra files beyond the bound"] += 1
                continue
            chunks = _document_chunks(document, spoken, tokenizer, config, funnel, None, overlap, seen, False)
            taken += len(chunks)
            per_package[package] += len(chunks)
            writer.add(document.path, document.module, TRAIN, document.text, chunks)
    funnel.counts["chunks"] = writer.chunks
    complete(output, tokenizer, spoken.schema, TEXT_ALONE)
    funnel.save(output / "build.json", asdict(config))
    return funnel


def read_tree(tree: Path, spoken: Language, config: BuildConfig | None, funnel: Funnel) -> Iterator[Document]:
    """The source files of a folder that hold text, in order; tests are skipped.

    Args:
        tree: The folder.
        spoken: Their language.
        config: Shares of the split; None puts every file into training.
        funnel: Counts and lists what is left out.

    Raises:
        InputError: There is no such folder.
    """
    if not tree.is_dir():
        raise InputError("no such folder", where=str(tree))

    def closed(folder: Path, why: str) -> None:
        if not spoken.is_test(below := folder.relative_to(tree)):
            funnel.fail(UNREAD_FOLDERS, plain_name(below), why)

    found = (place / name for place, _, names in walk(tree, closed) for name in names)
    for path in sorted(path for path in found if path.name.endswith(spoken.suffixes)):
        relative = path.relative_to(tree)
        if spoken.is_test(relative):
            funnel.counts["tests and packages skipped"] += 1
            continue
        funnel.counts["files"] += 1
        name = plain_name(relative)
        module = spoken.module(Path(name))
        split = TRAIN if config is None else split_of(module, config.valid_percent, config.test_percent)
        try:
            text = spoken.decode(read_bytes(path, SOURCE_BYTES), name)
            if not text.strip():
                funnel.counts["empty files"] += 1
                continue
            yield Document(name, module, split, text)
        except InputError as error:
            funnel.fail("files that cannot be read", str(error))


def split_of(module: str, valid_percent: int, test_percent: int) -> str:
    """The part of the split that a module falls into, by its top-level name alone.

    Sub-modules of one package resemble each other too much to be held out one by one.
    """
    return part_of(module.split(".")[0], valid_percent, test_percent)


def unit_chunks(
    file: ParsedFile,
    spoken: Language,
    tokenizer: CodeTokenizer,
    config: BuildConfig,
    counts: Counter[str],
    kinds: Sequence[str] = ("function", "class", "module"),
    about: Sequence[int] | None = None,
) -> list[Chunk]:
    """Chunks with facts of the units of one file, of some kinds.

    Args:
        file: The file.
        spoken: Its language.
        tokenizer: Cuts it up.
        config: Sizes.
        counts: Counts what is cut.
        kinds: Of the units.
        about: Offsets in the file, ascending: only units that hold one; all where None.
    """

    def wanted(unit: Unit) -> bool:
        held = (
            about is None or bisect_left(about, start) < bisect_left(about, end)
            for start, end in unit.segments
        )
        return unit.kind in kinds and any(held)

    units = [unit for unit in file.units() if wanted(unit)]
    result = []
    for unit, tokens in zip(units, tokenizer.encode_many([unit.text for unit in units]), strict=True):
        facts = [(fact, 0) for fact in spoken.facts(file, unit)]
        result += _unit_chunks(unit, tokens, facts, spoken.schema, tokenizer, config, counts)
    return result


def _document_chunks(
    document: Document,
    spoken: Language,
    tokenizer: CodeTokenizer,
    config: BuildConfig,
    funnel: Funnel,
    stubs: Stubs | None,
    overlap: Overlap,
    seen: set[bytes],
    held_out: bool,
) -> list[Chunk]:
    """Chunks of a document without units seen before and, in training, without copies of held-out ones."""
    try:
        file = spoken.parse(document.text, document.path)
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
    result = []
    for unit, tokens in kept:
        funnel.counts[unit.kind] += 1
        facts = [(fact, 0) for fact in spoken.facts(file, unit)]
        if stubs is not None:
            facts += [(fact, 1) for fact in stubs.facts(file, unit, document.module)]
        result += _unit_chunks(unit, tokens, facts, spoken.schema, tokenizer, config, funnel.counts)
    return result


def _unit_chunks(
    unit: Unit,
    tokens: Tokens,
    facts: list[tuple[Fact, int]],
    schema: Schema,
    tokenizer: CodeTokenizer,
    config: BuildConfig,
    counts: Counter[str],
) -> list[Chunk]:
    """Chunks of a unit with its facts, each with its origin."""
    names = {name: number for number, name in enumerate(schema.names)}
    candidates = [
        (fact.head, names[fact.relation], fact.tail, unit.text_offset(fact.offset), fact.offset, origin)
        for fact, origin in facts
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

"""From documents of text to a data set: split by document, chunked, with entities and facts.

The folder is that of :mod:`weft.kg.dataset.code` with two more tables: ``mentions.parquet``, where each entity
stands, and ``facts.parquet``, what is known of whole documents, stated in a chunk or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from weft.errors import ConfigError, InputError, counted
from weft.kg.dataset.given_facts import add_given_facts, seed_facts
from weft.kg.dataset.place import check_place
from weft.kg.dataset.split import TRAIN, part_of
from weft.kg.dataset.tables import TEXT_SCHEMAS, TableWriter, complete
from weft.kg.dataset.text_chunks import text_chunks
from weft.kg.dataset.tokens import CodeTokenizer
from weft.kg.dataset.vocabulary import bert_vocabulary, learn_vocabulary
from weft.kg.inject.injection import InjectionConfig, inject
from weft.kg.inject.score import Embed
from weft.kg.link.linker import Linker
from weft.kg.read.corpus import read_corpus
from weft.kg.read.documents import TextDocument, without_repeats
from weft.kg.read.funnel import Funnel
from weft.kg.read.redocred import read_redocred, redocred_schema
from weft.kg.read.seeds import SEED, SeedTriple, first_unused, read_seeds, save_entities
from weft.kg.schema import Schema
from weft.platform.files import make_folder
from weft.platform.ranges import require


@dataclass(frozen=True)
class TextBuildConfig:
    """How a data set of text is made.

    Args:
        roots: R, tokens per chunk.
        longest_tail: K, tokens per tail.
        overlap: Most tokens, in whole sentences, that a chunk repeats of the one before.
        vocab_size: Size of the vocabulary that is learnt from the training part.
        valid_percent: Share of documents held out for validation, without a split file.
        test_percent: Share of documents held out for the test.

    Raises:
        ConfigError: A field breaks its rule.
    """

    roots: int = 128
    longest_tail: int = 7
    overlap: int = 0
    vocab_size: int = 8192
    valid_percent: int = 15
    test_percent: int = 25

    def __post_init__(self) -> None:
        require(self, "roots", 8 <= self.roots <= 256, "in 8..256")
        require(self, "longest_tail", 1 <= self.longest_tail <= 31, "in 1..31")
        require(self, "overlap", 0 <= self.overlap < self.roots, f"in 0..{self.roots - 1}")
        require(self, "vocab_size", 300 <= self.vocab_size <= 65_536, "in 300..65536")
        if self.valid_percent < 0 or self.test_percent < 0 or self.valid_percent + self.test_percent > 90:
            raise ConfigError(
                "TextBuildConfig.valid_percent and test_percent must leave at least 10 for training"
            )


def build_redocred(
    files: Sequence[Path],
    output: Path,
    config: TextBuildConfig | None = None,
    *,
    schema: Schema | None = None,
    split: Mapping[str, str] | None = None,
    vocabulary: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Funnel:
    """Make a data set of Re-DocRED files: given mentions, given facts.

    Args:
        files: JSON files.
        output: The data set's folder; made where absent.
        config: Sizes and shares.
        schema: The relations to keep; all of Re-DocRED's where None.
        split: Document id to part; by the documents' ids where None.
        vocabulary: A BERT directory whose vocabulary to take; learnt from the training part where None.
        say: Receives progress lines.

    Returns:
        The funnel, also written to ``build.json``.

    Raises:
        InputError: A file is no Re-DocRED, or none of its documents can be used.
        OutputError: The folder holds something of no data set that would be written over, or cannot be written.
    """
    check_place(output)
    config = config or TextBuildConfig()
    schema = schema or redocred_schema()
    funnel = Funnel()
    documents = without_repeats(
        (document for path in files for document in read_redocred(path, funnel)), funnel
    )
    if not documents:
        raise InputError("no document that can be used", where=", ".join(map(str, files)))
    parts = parts_of(documents, config, split, funnel)
    say(f"{counted(len(documents), 'document')}; making a vocabulary")
    tokenizer = make_vocabulary(documents, parts, config, vocabulary)
    make_folder(output)
    with TableWriter(output, TEXT_SCHEMAS) as writer:
        for document, part in zip(documents, parts, strict=True):
            chunks = text_chunks(
                document, tokenizer.encode(document.text), config.roots, funnel, config.overlap
            )
            facts = add_given_facts(document, chunks, schema, config.longest_tail, funnel)
            writer.add(document.id, document.id, part, document.text, chunks, facts)
        funnel.counts["chunks"] = writer.chunks
    complete(output, tokenizer, schema, ["entities.json"])
    funnel.save(output / "build.json", asdict(config))
    return funnel


def build_text(
    corpus: Sequence[Path],
    output: Path,
    schema: Schema,
    seed: Sequence[Path],
    config: TextBuildConfig | None = None,
    *,
    injection: InjectionConfig | None = None,
    near: float | None = 0.5,
    split: Mapping[str, str] | None = None,
    vocabulary: Path | None = None,
    embed: Embed | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Funnel:
    """Make a data set of text and a seed graph: chunk, link, inject.

    Beside the tables, ``entities.json`` holds the dictionary that documents were linked with.

    Args:
        corpus: Files and folders; see :func:`weft.kg.read.corpus.read_corpus`.
        output: The data set's folder; made where absent.
        schema: Relations.
        seed: Seed files; see :func:`weft.kg.read.seeds.read_seeds`.
        config: Sizes and shares.
        injection: How seed triples are chosen for chunks.
        near: Least 3-gram Jaccard similarity of near names; None for exact names alone.
        split: Document id to part; by the documents' ids where None.
        vocabulary: A BERT directory whose vocabulary to take; learnt from the training part where None.
        embed: Sentence embeddings for the injection; TF-IDF where None.
        say: Receives progress lines.

    Returns:
        The funnel, also written to ``build.json``.

    Raises:
        InputError: No document or no seed triple can be used.
        OutputError: The folder holds something of no data set that would be written over, or cannot be written.
    """
    check_place(output)
    config, injection = config or TextBuildConfig(), injection or InjectionConfig()
    funnel = Funnel()
    seeds = read_seeds(seed, schema, funnel)
    if not seeds.triples:
        raise InputError(
            f"no seed triple that can be used{first_unused(funnel)}",
            where=", ".join(map(str, seed)),
            hint=SEED,
        )
    linker = Linker(seeds.entities, near, funnel)
    documents = [linker.link(document) for document in without_repeats(read_corpus(corpus, funnel), funnel)]
    if not documents:
        raise InputError("no document that can be used", where=", ".join(map(str, corpus)))
    seeds.entities = linker.entities
    parts = parts_of(documents, config, split, funnel)
    say(
        f"{counted(len(documents), 'document')}, {counted(len(seeds.triples), 'seed triple')}; making a vocabulary"
    )
    tokenizer = make_vocabulary(documents, parts, config, vocabulary)
    chunked = [
        text_chunks(document, tokenizer.encode(document.text), config.roots, funnel, config.overlap)
        for document in documents
    ]
    chunks = [chunk for found in chunked for chunk in found]
    texts = [
        document.text[int(chunk.starts[0]) : int(chunk.ends[-1])]
        for document, found in zip(documents, chunked, strict=True)
        for chunk in found
    ]
    say(f"{counted(len(chunks), 'chunk')}; choosing {'its' if len(chunks) == 1 else 'their'} triples")
    inject(chunks, texts, seeds, schema, tokenizer, config.longest_tail, injection, funnel, embed)
    make_folder(output)
    by_head: dict[int, list[SeedTriple]] = {}
    for triple in seeds.triples:
        by_head.setdefault(triple.head, []).append(triple)
    with TableWriter(output, TEXT_SCHEMAS) as writer:
        for document, part, found in zip(documents, parts, chunked, strict=True):
            writer.add(document.id, document.id, part, document.text, found, seed_facts(found, by_head))
        funnel.counts["chunks"] = writer.chunks
    complete(output, tokenizer, schema, [])
    save_entities(seeds.entities, output / "entities.json")
    funnel.save(output / "build.json", {**asdict(config), **asdict(injection), "near": near})
    return funnel


def parts_of(
    documents: Iterable[TextDocument],
    config: TextBuildConfig,
    split: Mapping[str, str] | None,
    funnel: Funnel,
) -> list[str]:
    """The part of each document; one that a split file does not name is for training, counted and listed."""
    parts: list[str] = []
    for document in documents:
        if split is None:
            parts.append(part_of(document.id, config.valid_percent, config.test_percent))
            continue
        if document.id not in split:
            funnel.leave_out("documents that the split does not name", document.id)
        parts.append(split.get(document.id, TRAIN))
    return parts


def make_vocabulary(
    documents: Sequence[TextDocument], parts: Sequence[str], config: TextBuildConfig, folder: Path | None
) -> CodeTokenizer:
    """A BERT directory's vocabulary, or one learnt from the training part (from all where it is empty)."""
    if folder is not None:
        return bert_vocabulary(folder)
    texts = [item.text for item, part in zip(documents, parts, strict=True) if part == TRAIN]
    return learn_vocabulary(texts or [item.text for item in documents], config.vocab_size)

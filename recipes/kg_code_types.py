"""Teach `kg-python-small` types that nobody wrote: packages without their annotations, and what their trees tell.

    python recipes/kg_code_types.py build SITE-PACKAGES --vocabulary MODEL --not NAME … --out corpus.safetensors
    python recipes/kg_code_types.py build --fitted --vocabulary MODEL --chunks 120 --out held.safetensors
    python recipes/kg_code_types.py train corpus.safetensors --start MODEL --out FOLDER --steps 200 [--show leaves]

The first takes the annotations of every package away, cuts its functions into chunks, and keeps with each chunk the
types that were annotated, two facts that the syntax states, and the clues of the whole tree. The second goes on from a
model: `--show leaves` hangs the clues from their heads as leaves, `none` shows nothing, `shuffled` deals them out anew
among the heads of a batch, `words` writes them behind the text. What is measured or fitted with is never read: the
packages of `weft/bench/kg/unseen.py` are left out by the names they are imported by, and functions that copy theirs by
their tokens.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import torch
from kept import identity
from safetensors.torch import load_file, save_file
from torch import Tensor

from weft.bench.kg.annotate import annotated_types, package_sources
from weft.bench.kg.unseen import FITTED, FITTED_TOO, MEASURED, package, stripped
from weft.errors import InputError
from weft.kg.dataset.chunks import Chunk
from weft.kg.dataset.code import BuildConfig, unit_chunks
from weft.kg.dataset.overlap import Overlap
from weft.kg.dataset.tokens import NO_WORD, PAD, CodeTokenizer
from weft.kg.extraction.questions import Question, question_about
from weft.kg.languages.python import LANGUAGE
from weft.kg.learn.code import course
from weft.kg.model.leafy_chain import LeafyChainModel, LossWeights
from weft.kg.represent.dataset import ClueTable, Corpus
from weft.kg.represent.sampling import SamplingConfig
from weft.platform.files import replaced
from weft.train import TrainConfig

K = 7
ROOTS = 128
WORDS = 64
"""Tokens behind the text for clues as words."""
STATED = 2
FILES = 400
"""Most files of a package: a large one is to count no more than several small ones."""
SCHEMA = LANGUAGE.schema


@dataclass
class Example:
    """A chunk with the types that were taken away."""

    chunk: Chunk
    asked: list[tuple[Question, tuple[int, ...]]]


def examples(
    folder: Path, tokenizer: CodeTokenizer, overlap: Overlap, held_out: bool, most: int | None
) -> Iterator[Example]:
    """The chunks of a package whose functions have annotations."""
    texts = dict(package_sources(folder))
    tree, parsed = LANGUAGE.tree(folder, texts), {}
    for path, text in texts.items():
        try:
            parsed[path] = LANGUAGE.parse(stripped(text), path)
            tree.add(path, parsed[path])
        except InputError:
            parsed.pop(path, None)
    for path, file in parsed.items():
        tree.learn(path, file)
    drawn = sorted(parsed, key=lambda path: hashlib.sha1(path.encode()).digest())[:most]
    limits = BuildConfig(roots=ROOTS, longest_tail=K)
    for path in sorted(drawn):
        gold = dict(annotated_types(ast.parse(texts[path]), f"{tree.names[path][0]}."))
        wanted = {item.start: item for item in tree.open_questions(path, parsed[path])}
        for chunk in unit_chunks(parsed[path], LANGUAGE, tokenizer, limits, Counter(), kinds=("function",)):
            asked = []
            for start in sorted(set(chunk.starts.tolist()) & wanted.keys()):
                item = wanted[start]
                kind = gold.get((item.head.name, item.relation))
                put = question_about(chunk, item.name, SCHEMA.id_of(item.relation), item.clues)
                tail = tokenizer.tail(kind) if kind is not None else ()
                if put is not None and 0 < len(tail) <= K:
                    asked.append((put, tail))
            if not asked:
                continue
            if held_out:
                overlap.add(chunk.ids)
            elif overlap.share(chunk.ids) <= 0.5:
                yield Example(chunk, asked)


def corpus_of(found: Sequence[Example], tokenizer: CodeTokenizer, generator: random.Random) -> Corpus:
    """Examples as tensors, their clues beside them."""
    ids = torch.full((len(found), ROOTS), PAD, dtype=torch.int32)
    words = torch.full((len(found), ROOTS), NO_WORD, dtype=torch.uint8)
    triples: list[list[int]] = []
    tails: list[tuple[int, ...]] = []
    clues: list[list[int]] = []
    named: list[tuple[int, ...]] = []
    first, first_clue = [0], [0]
    returns = SCHEMA.id_of("returns")
    for number, (chunk, asked) in enumerate((item.chunk, item.asked) for item in found):
        ids[number, : len(chunk.ids)] = torch.from_numpy(chunk.ids)
        words[number, : len(chunk.words)] = torch.from_numpy(chunk.words)
        heads = set()
        for item, tail in asked:
            kind, head = tokenizer.text(tail), chunk.names.index(item.head)
            place = chunk.names.index(kind) if kind in chunk.names else NO_WORD
            triples.append([number, item.relation, head, item.start, item.length, place, 1])
            tails.append(tail)
            heads.add((head, item.relation))
            for clue in item.clues:
                spelled = tokenizer.tail(clue.name)
                if 0 < len(spelled) <= K:
                    clues.append([SCHEMA.size + LANGUAGE.clues.index(clue.kind), item.start, item.length])
                    named.append(spelled)
        stated = [
            item
            for item in chunk.triples
            if item.relation != returns or (item.head_word, returns) not in heads
        ]
        for triple in generator.sample(stated, min(STATED, len(stated))):
            about = question_about(chunk, chunk.names[triple.head_word], triple.relation)
            assert about is not None
            triples.append(
                [number, triple.relation, triple.head_word, about.start, about.length, triple.tail_word, 0]
            )
            tails.append(triple.tail_ids)
        first.append(len(tails))
        first_clue.append(len(named))
    chunk_, relation, head_word, start, length, tail_word, origin = torch.tensor(triples).T.contiguous()
    key = ((chunk_ * 256 + head_word) * 256 + relation) * 2 + origin
    clue_relation, clue_start, clue_length = torch.tensor(clues).T.contiguous()
    none = torch.zeros(len(found), dtype=torch.int64)
    table = ClueTable(
        torch.tensor(first_clue), clue_relation, clue_start, clue_length, padded(named), lengths(named)
    )
    return Corpus(
        ids, words, torch.tensor(first), chunk_, relation, head_word, start, length, padded(tails), lengths(tails),
        tail_word, torch.unique(key, return_inverse=True)[1], origin, none, none.clone(), table,
    )  # fmt: skip


def padded(tails: Sequence[tuple[int, ...]]) -> Tensor:
    """Tails as rows of K token ids."""
    return torch.tensor([[*tail, *[PAD] * (K - len(tail))] for tail in tails])


def lengths(tails: Sequence[tuple[int, ...]]) -> Tensor:
    """Tokens of each tail."""
    return torch.tensor([len(tail) for tail in tails])


def build(arguments: argparse.Namespace) -> None:
    """Write the corpus."""
    if (arguments.packages is None) != arguments.fitted:
        raise SystemExit("either SITE-PACKAGES or --fitted")
    tokenizer, overlap = CodeTokenizer.load(arguments.vocabulary / "tokenizer.json"), Overlap()
    generator = random.Random(arguments.seed)
    folders = [package(name) for name in FITTED]
    if not arguments.fitted:
        kept_apart = (*FITTED, *FITTED_TOO, *MEASURED)
        for name in kept_apart:
            for _ in examples(package(name), tokenizer, overlap, True, None):
                pass
        left_out = {*kept_apart, *arguments.leave_out}
        left_out |= {imported for name in kept_apart for imported in import_names(package(name))}
        folders = [
            folder
            for folder in sorted(arguments.packages.iterdir())
            if folder.is_dir() and folder.name not in left_out and "-info" not in folder.name
        ]
    found: list[Example] = []
    for folder in folders:
        chunks = list(examples(folder, tokenizer, overlap, False, FILES))
        found += generator.sample(chunks, min(arguments.chunks, len(chunks)))
        print(folder.name, len(chunks), flush=True)
    corpus = corpus_of(found, tokenizer, generator)
    with replaced(arguments.out) as part:
        save_file(dict(_tensors(corpus)), part)


def import_names(folder: Path) -> set[str]:
    """The names by which a distribution is imported, from the folder that it alone was installed into."""
    modules = {path.stem for path in folder.glob("*.py")}
    return modules | {path.parent.name for path in folder.glob("*/*") if path.parent.name.isidentifier()}


def _tensors(corpus: Corpus) -> Iterator[tuple[str, Tensor]]:
    assert corpus.clues is not None
    for prefix, held in (("", corpus), ("clues.", corpus.clues)):
        for item in fields(held):
            value = getattr(held, item.name)
            if isinstance(value, Tensor):
                yield prefix + item.name, value.contiguous()


def read(path: Path) -> Corpus:
    """A corpus that was written."""
    tensors = load_file(path)
    table = ClueTable(*(tensors[f"clues.{item.name}"] for item in fields(ClueTable)))
    return Corpus(
        **{item.name: tensors[item.name] for item in fields(Corpus) if item.name != "clues"}, clues=table
    )


def with_words(corpus: Corpus, tokenizer: CodeTokenizer) -> Corpus:
    """The control: clues as words behind the text, as far as there is room."""
    table = corpus.clues
    assert table is not None
    ids = torch.nn.functional.pad(corpus.ids, (0, WORDS), value=PAD)
    words = torch.nn.functional.pad(corpus.words, (0, WORDS), value=NO_WORD)
    for chunk in range(len(ids)):
        begin, last = int((corpus.ids[chunk] != PAD).sum()), (-1, -1)
        line: list[int] = []
        for row in range(int(table.first[chunk]), int(table.first[chunk + 1])):
            head = int(table.head_start[row]), int(table.head_length[row])
            if head != last:
                name = corpus.ids[chunk, head[0] : sum(head)].tolist()
                line += [*tokenizer.tail("\n"), *name, *tokenizer.tail(":")]
            kind = LANGUAGE.clues[int(table.relation[row]) - SCHEMA.size]
            line += [*tokenizer.tail(kind), *table.tail_ids[row, : table.tail_length[row]].tolist()]
            last = head
        line = line[: ids.shape[1] - begin]
        ids[chunk, begin : begin + len(line)] = torch.tensor(line, dtype=ids.dtype)
    return replace(corpus, ids=ids, words=words, clues=None)


def started(folder: Path, show: str) -> LeafyChainModel:
    """The model to go on from; clues begin as `instance_of` is, the nearest relation."""
    old = LeafyChainModel.load(folder)
    if show == "none" or old.config.clues:
        return old
    config = replace(old.config, clues=len(LANGUAGE.clues))
    if show == "words":
        encoder = replace(old.config.encoder, max_position_embeddings=ROOTS + WORDS)
        config = replace(old.config, encoder=encoder)
    new = LeafyChainModel(config)
    begun = new.state_dict()
    near = SCHEMA.id_of("instance_of")
    for name, value in old.state_dict().items():
        more = len(begun[name]) - len(value) if value.dim() else 0
        begun[name] = (
            torch.cat([value, value[near : near + 1].expand(more, *value.shape[1:])]) if more else value
        )
    new.load_state_dict(begun)
    return new


def train(arguments: argparse.Namespace) -> None:
    """Train, and write the model."""
    tokenizer = CodeTokenizer.load(arguments.start / "tokenizer.json")
    corpus = seen(read(arguments.corpus), arguments.show, tokenizer)
    model = taught(
        corpus,
        arguments.start,
        arguments.show,
        arguments.steps,
        arguments.seed,
        arguments.out / "run",
        identity(arguments),
    )
    model.save(arguments.out / "model", tokenizer, bits=8)


def seen(corpus: Corpus, show: str, tokenizer: CodeTokenizer) -> Corpus:
    """What a model is shown of a corpus: leaves as they are, nothing, or words."""
    if show == "words":
        return with_words(corpus, tokenizer)
    return replace(corpus, clues=None) if show == "none" else corpus


def taught(
    corpus: Corpus,
    start: Path,
    show: str,
    steps: int,
    seed: int,
    run: Path | None = None,
    decides: Mapping[str, str] | None = None,
) -> LeafyChainModel:
    """The model of a folder, trained further; ``decides`` is what the run is taken up with, beside its config."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    model = started(start, show)
    sampling = SamplingConfig(
        batch_size=48,
        leaf_columns=48,
        hide_share=0.2,
        mlm_share=0.0,
        oversampling=1,
        shuffle_clues=show == "shuffled",
        seed=seed,
    )
    config = TrainConfig(
        steps=steps,
        batch_size=48,
        learning_rate=6e-4,
        warmup=0.06,
        final_rate=0.02,
        betas=(0.9, 0.98),
        weight_decay=0.02,
        precision="bf16",
        seed=seed,
        threads=1,
        eval_every=steps,
        save_every=50,
        keep=1,
        restore_best=False,
    )
    course(model, corpus, sampling, config, weights=LossWeights(sbo=0.0)).run(run, identity=decides)
    return model


def main(argv: list[str]) -> int:
    """Build or train."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    builder = commands.add_parser("build")
    builder.add_argument("packages", type=Path, nargs="?", metavar="SITE-PACKAGES")
    builder.add_argument("--fitted", action="store_true", help="read the packages of the fit instead")
    builder.add_argument("--chunks", type=int, default=1500, help="most chunks of a package")
    builder.add_argument("--vocabulary", type=Path, required=True, help="folder of the model to go on from")
    builder.add_argument("--not", dest="leave_out", nargs="*", default=[])
    builder.set_defaults(run=build)
    trainer = commands.add_parser("train")
    trainer.add_argument("corpus", type=Path)
    trainer.add_argument("--start", type=Path, required=True)
    trainer.add_argument("--steps", type=int, default=200)
    trainer.add_argument("--show", choices=("leaves", "none", "shuffled", "words"), default="leaves")
    trainer.set_defaults(run=train)
    for command in (builder, trainer):
        command.add_argument("--out", type=Path, required=True)
        command.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(argv)
    arguments.run(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

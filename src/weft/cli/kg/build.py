"""``weft kg build``: source trees or text to a data set."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.options import Parser, add_json, add_near, add_out, add_quiet, add_seed
from weft.errors import counted
from weft.kg.languages import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from weft.kg.dataset.text import TextBuildConfig
    from weft.kg.read.funnel import Funnel

_LISTED = 20
_OF_TEXT = ("schema", "seed", "split", "overlap", "near", "exact", "alpha", "per_head", "embedding")
"""Options that say nothing of source code."""
_OF_SEEDS = ("seed", "near", "exact", "alpha", "per_head", "embedding")
"""Options that say nothing of documents with facts of their own."""
_OF_CODE = ("extra", "extra_chunks", "no_stubs")
"""Options that say nothing of text."""


def parser() -> Parser:
    """The arguments of ``weft kg build``."""
    result = Parser(
        "kg build",
        "Cut source trees or text into chunks with facts; prints the funnel of what was left out.",
    )
    result.add_argument(
        "corpus",
        nargs="+",
        type=Path,
        metavar="CORPUS",
        help="trees of Python; text (plain, Markdown, HTML, PDF, Word, mail, JSONL), files or folders; Re-DocRED files",
    )
    add_out(result, "DATASET", "folder of the data set")
    result.add_argument(
        "--language",
        choices=(*LANGUAGES, "text", "redocred"),
        help="of the corpus (text with --schema or --seed, else python)",
    )
    result.add_argument(
        "--vocab-size", type=int, default=8192, metavar="N", help="tokens of the vocabulary (8192)"
    )
    result.add_argument("--roots", type=int, default=128, metavar="R", help="tokens of a chunk (128)")
    result.add_argument("--leaves", type=int, default=7, metavar="K", help="tokens of a tail (7)")
    result.add_argument("--valid-percent", type=int, metavar="N", help="of the modules (8) or documents (15)")
    result.add_argument("--test-percent", type=int, metavar="N", help="of the modules (16) or documents (25)")
    result.add_argument(
        "--vocabulary",
        metavar="MODEL",
        help="take a vocabulary instead of learning one: a model's; for text, also a BERT directory's",
    )
    python = result.add_argument_group("source code")
    python.add_argument(
        "--extra",
        nargs="*",
        type=Path,
        default=[],
        metavar="DIR",
        help="trees for training only; copies of held-out code are left out",
    )
    python.add_argument(
        "--extra-chunks", type=int, default=200_000, metavar="N", help="bound on theirs (200000)"
    )
    python.add_argument(
        "--no-stubs", action="store_true", help="without the types of the typeshed (package mypy)"
    )
    text = result.add_argument_group("text")
    text.add_argument(
        "--schema", type=Path, metavar="FILE", help="relations, JSON or YAML (redocred: all of Re-DocRED's)"
    )
    add_seed(text, "triples: .csv, .tsv, .jsonl or .nt")
    text.add_argument(
        "--split", type=Path, metavar="FILE", help="JSON lists of document ids: train, valid, test"
    )
    text.add_argument(
        "--overlap", type=int, default=0, metavar="N", help="tokens that a chunk may repeat (0)"
    )
    add_near(text)
    text.add_argument(
        "--alpha",
        type=float,
        default=0.55,
        metavar="A",
        help="least score of a triple in its chunk; without --embedding a quantile (0.55)",
    )
    text.add_argument("--per-head", type=int, default=1, metavar="N", help="triples of a head in a chunk (1)")
    text.add_argument(
        "--embedding", type=Path, metavar="DIR", help="a BERT directory, to score triples instead of TF-IDF"
    )
    add_json(result)
    add_quiet(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft kg build``."""
    arguments = parser().parse_args(argv)
    from weft.errors import PartialFailure

    def say(text: str) -> None:
        if not arguments.quiet:
            print(text, file=sys.stderr)

    language = arguments.language or ("text" if arguments.schema or arguments.seed else "python")
    if language in LANGUAGES:
        _refuse(arguments, _OF_TEXT, "is for text; source code is read without it")
    else:
        _refuse(arguments, _OF_CODE, "is for source code; text is read without it")
    if language == "redocred":
        _refuse(arguments, _OF_SEEDS, "is for a seed; Re-DocRED brings mentions and facts of its own")
    build = {"text": _text, "redocred": _redocred}.get(language)
    funnel = _code(arguments, language, say) if build is None else build(arguments, say)
    if arguments.json:
        print(json.dumps(funnel.record(), ensure_ascii=False))
    else:
        for name, count in funnel.counts.items():
            print(f"{count:>10,}  {name}")
    if not arguments.quiet:
        _list_doubtful(funnel)
    return PartialFailure.exit_code if funnel.failures else 0


def _refuse(arguments: argparse.Namespace, names: Sequence[str], why: str) -> None:
    """Refuse options that say nothing of what is read."""
    from weft.errors import ConfigError

    default = parser().get_default
    for name in names:
        if getattr(arguments, name) != default(name):
            raise ConfigError(f"--{name.replace('_', '-')} {why}")


def _list_doubtful(funnel: Funnel) -> None:
    """Some of each kind of what was left out or decided; ``build.json`` has all."""
    for reason, items in funnel.listed.items():
        for item in items[:_LISTED]:
            print(f"left out: {item} ({reason})", file=sys.stderr)
        if len(items) > _LISTED:
            print(f"left out: {len(items) - _LISTED} more ({reason})", file=sys.stderr)
    for kind, found in funnel.noted.items():
        for what, count in found.most_common(_LISTED):
            print(f"{kind}: {what}, {counted(count, 'time')}", file=sys.stderr)
        if len(found) > _LISTED:
            print(f"{kind}: {len(found) - _LISTED} more", file=sys.stderr)


def _code(arguments: argparse.Namespace, language: str, say: Callable[[str], None]) -> Funnel:
    from weft.kg.dataset.code import BuildConfig, build_code
    from weft.kg.dataset.tokens import CodeTokenizer
    from weft.platform.models import find_model

    default = BuildConfig()
    config = BuildConfig(
        roots=arguments.roots,
        longest_tail=arguments.leaves,
        vocab_size=arguments.vocab_size,
        valid_percent=_or(arguments.valid_percent, default.valid_percent),
        test_percent=_or(arguments.test_percent, default.test_percent),
        extra_chunks=arguments.extra_chunks,
        stubs=not arguments.no_stubs,
        language=language,
    )
    vocabulary = None
    if arguments.vocabulary is not None:
        vocabulary = CodeTokenizer.load(find_model("kg", arguments.vocabulary) / "tokenizer.json")
    return build_code(
        arguments.corpus, arguments.out, config, extra=arguments.extra, vocabulary=vocabulary, say=say
    )


def _redocred(arguments: argparse.Namespace, say: Callable[[str], None]) -> Funnel:
    from weft.kg.dataset.split import read_split
    from weft.kg.dataset.text import build_redocred
    from weft.kg.schema import Schema

    return build_redocred(
        arguments.corpus,
        arguments.out,
        _sizes(arguments),
        schema=Schema.load(arguments.schema) if arguments.schema else None,
        split=read_split(arguments.split) if arguments.split else None,
        vocabulary=_vocabulary(arguments.vocabulary),
        say=say,
    )


def _text(arguments: argparse.Namespace, say: Callable[[str], None]) -> Funnel:
    from weft.errors import ConfigError
    from weft.kg.dataset.split import read_split
    from weft.kg.dataset.text import build_text
    from weft.kg.inject.injection import InjectionConfig
    from weft.kg.inject.score import bert_embedding
    from weft.kg.schema import Schema

    if arguments.schema is None or not arguments.seed:
        raise ConfigError(
            "text needs --schema and --seed", hint="docs/kg-tutorial.md shows how to write them"
        )
    return build_text(
        arguments.corpus,
        arguments.out,
        Schema.load(arguments.schema),
        arguments.seed,
        _sizes(arguments),
        injection=InjectionConfig(alpha=arguments.alpha, per_head=arguments.per_head),
        near=None if arguments.exact else arguments.near,
        split=read_split(arguments.split) if arguments.split else None,
        vocabulary=_vocabulary(arguments.vocabulary),
        embed=bert_embedding(arguments.embedding) if arguments.embedding else None,
        say=say,
    )


def _vocabulary(name: str | None) -> Path | None:
    """A folder with a vocabulary, a shipped model's by its name."""
    from weft.platform.models import find_model

    return None if name is None else Path(name) if Path(name).is_dir() else find_model("kg", name)


def _sizes(arguments: argparse.Namespace) -> TextBuildConfig:
    from weft.kg.dataset.text import TextBuildConfig

    default = TextBuildConfig()
    return TextBuildConfig(
        roots=arguments.roots,
        longest_tail=arguments.leaves,
        overlap=arguments.overlap,
        vocab_size=arguments.vocab_size,
        valid_percent=_or(arguments.valid_percent, default.valid_percent),
        test_percent=_or(arguments.test_percent, default.test_percent),
    )


def _or(value: int | None, default: int) -> int:
    return default if value is None else value

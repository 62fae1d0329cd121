"""Every command of ``weft`` in one tree: what it is for, and which module runs it. Nothing heavy is imported."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module

from weft.errors import ConfigError


@dataclass(frozen=True)
class Command:
    """A command, or a group of them.

    Args:
        summary: What it is for, in one line.
        module: Below ``weft.cli``, with ``parser(*words)`` and ``run(argv, *words)``; empty for a group.
        words: What the module is told, where it runs several commands.
        commands: Of a group.
    """

    summary: str
    module: str = ""
    words: tuple[str, ...] = ()
    commands: Mapping[str, Command] = field(default_factory=dict[str, "Command"])

    def parser(self) -> ArgumentParser:
        """The command's arguments."""
        return import_module(f"weft.cli.{self.module}").parser(*self.words)

    def run(self, argv: Sequence[str]) -> int:
        """Run the command; its exit code."""
        return int(import_module(f"weft.cli.{self.module}").run(list(argv), *self.words))


_ABSA = {
    "predict": Command("what texts feel about aspects of targets", "absa.predict"),
    "find": Command("what texts judge, and how, without being asked", "absa.find"),
    "explain": Command("which words made the answer", "absa.explain"),
    "train": Command("train a model by a YAML file", "train", ("absa",)),
    "calibrate": Command("fit temperature and threshold on labelled texts", "absa.calibrate"),
    "eval": Command("measure a model on labelled texts", "absa.eval"),
}
_DATASET = {
    "build": Command("fetch and compile what is missing, then join", "bcsd.dataset", ("build",)),
    "join": Command("only join what is built", "bcsd.dataset", ("join",)),
    "stats": Command("count a data set", "bcsd.dataset", ("stats",)),
}
_INDEX = {
    "add": Command("put files in, or those that changed", "bcsd.index.files", ("add",)),
    "update": Command("embed what changed, take out what is gone", "bcsd.index.files", ("update",)),
    "build": Command("static libraries of Debian packages, by their names", "bcsd.index.packages"),
    "merge": Command(
        "put in the files of other indices, without reading them", "bcsd.index.files", ("merge",)
    ),
    "rm": Command("take files out", "bcsd.index.files", ("rm",)),
    "ls": Command("list the files", "bcsd.index.files", ("ls",)),
}
_BCSD = {
    "extract": Command("binaries to a table of functions: graphs and tokens", "bcsd.extract"),
    "show": Command("a file's functions, or one function's blocks, edges and tokens", "bcsd.show"),
    "match": Command("pair the functions of two binaries; report, rename scripts", "bcsd.match"),
    "diff": Command("what changed from one version of a binary to the next", "bcsd.diff"),
    "explain": Command("which blocks and tokens carry the match of two functions", "bcsd.explain"),
    "calibrate": Command("fit what match and search make of a model's scores", "bcsd.calibrate"),
    "embed": Command("binaries to a table of embedded functions", "bcsd.embed"),
    "index": Command("keep an index of functions in step with files", commands=_INDEX),
    "search": Command("which functions of an index are those of a file", "bcsd.index.search"),
    "identify": Command(
        "which libraries a program was linked from; bill of materials", "bcsd.index.identify"
    ),
    "dataset": Command("labelled functions from source packages", commands=_DATASET),
    "train": Command("train a model by a YAML file", "train", ("bcsd",)),
    "eval": Command("recall of a model and of the baselines on held-out packages", "bcsd.eval"),
}
_KG = {
    "build": Command("source trees or text to a data set; prints the funnel", "kg.build"),
    "train": Command("train a model by a YAML file", "train", ("kg",)),
    "eval": Command("score a model and the baselines on held-out modules or documents", "kg.eval"),
    "judge": Command("how well a model reads raw text, against labelled documents", "kg.judge"),
    "facts": Command("facts of a file of Python or text, each with its confidence", "kg.facts"),
    "annotate": Command("write the annotations that a Python tree lacks", "kg.annotate"),
    "extract": Command("read a corpus into a store, document by document", "kg.extract"),
    "ask": Command("ask a store a question in words", "kg.store.ask"),
    "query": Command("ask a store in SPARQL", "kg.store.query"),
    "show": Command("the facts of an entity, with the sentences that state them", "kg.store.show"),
    "export": Command("write a store as RDF, GraphML, CSV for Neo4j, JSONL or Parquet", "kg.store.export"),
    "compare": Command("a store's graph beside the seed graph", "kg.store.compare"),
    "merge": Command("make two entities one", "kg.store.merge"),
    "unmerge": Command("undo a merge", "kg.store.unmerge"),
    "moves": Command("which triples' leaves move which tokens of a chunk", "kg.moves"),
    "rm": Command("take documents and their facts out of a store", "kg.store.rm"),
}
ROOT = Command(
    "Structure woven into the attention of BERT-family encoders.",
    commands={
        "absa": Command("what texts feel about aspects of targets", commands=_ABSA),
        "bcsd": Command("which function of one binary is which function of another", commands=_BCSD),
        "kg": Command("knowledge graphs from text and code", commands=_KG),
        "serve": Command("the three tools and their pages over HTTP", "serve"),
        "models": Command("the shipped models and their cards", "models"),
        "demo": Command("the mechanisms and the tools at work on real input", "demo"),
        "bench": Command("speed and memory as ratios against named baselines", "bench"),
        "completion": Command("what lets a shell complete these commands", "completion"),
    },
)


def find(argv: Sequence[str]) -> tuple[tuple[str, ...], Command, list[str]]:
    """Follow the words of a command line into the tree.

    Returns:
        The words that name a command, the command (or the group where they end), and what stands behind them.

    Raises:
        ConfigError: A word that names no command of its group.
    """
    here, path, rest = ROOT, list[str](), list(argv)
    while here.commands and rest and rest[0] not in ("-h", "--help"):
        name = rest[0]
        if name not in here.commands:
            near = get_close_matches(name[:60], here.commands, n=1)
            known = ", ".join(here.commands)
            hint = f"did you mean {near[0]}?" if near else f"one of: {known}"
            of = f" of weft {' '.join(path)}" if path else ""
            raise ConfigError(f"no command {name[:60]!r}{of}", hint=hint)
        here = here.commands[name]
        path.append(rest.pop(0))
    return tuple(path), here, rest


def walk(group: Command = ROOT, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Command]]:
    """All commands that run, in the order of their groups."""
    for name, command in group.commands.items():
        if command.commands:
            yield from walk(command, (*path, name))
        else:
            yield (*path, name), command


def usage(path: Sequence[str], group: Command) -> str:
    """The help text of a group."""
    words = " ".join(["weft", *path])
    width = max(len(name) for name in group.commands)
    lines = [
        f"usage: {words} COMMAND [ARGUMENT...]",
        "",
        group.summary,
        "",
        "commands:",
        *(f"  {name:<{width}}  {command.summary}" for name, command in group.commands.items()),
        "",
        "options:",
        f"  -h, --help  this text; {words} COMMAND --help for a command's own",
    ]
    return "\n".join(lines if path else [*lines, "  --version   the version"])

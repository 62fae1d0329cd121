"""What kind of model a folder holds, and the version that tells one state of it from another."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weft.errors import CheckpointError, InputError, counted, with_article
from weft.kg.config import TEXT
from weft.kg.dataset.tokens import CodeTokenizer
from weft.kg.languages import LANGUAGES, find_language
from weft.kg.languages.language import Language
from weft.kg.read.corpus import left_out, paths_below
from weft.kg.read.decoding import decode_text
from weft.kg.read.prose import HEAD_BYTES, NOTEBOOK, SUFFIXES, kind_of, other_form
from weft.kg.schema import Schema
from weft.kg.storage.manifest import is_store
from weft.platform.models import find_model
from weft.platform.reading import SETTINGS_BYTES, open_input, raising, read_object

CODE_MODEL, TEXT_MODEL = "kg-python-small", "kg-text-small"
"""What is shipped."""
TEXT_KIND = "entity-graph"
"""The kind of model that states facts between the entities of a text."""
_KINDS = 8
_FILES = (
    "config.json",
    "model.safetensors",
    "tokenizer.json",
    "schema.json",
    "calibration.json",
    "ranking.json",
)


def model_kind(folder: Path) -> str:
    """What kind of model a folder holds.

    Raises:
        CheckpointError: Its ``config.json`` cannot be read.
    """
    return str(_config(folder).get("kind"))


def reads_text(folder: Path) -> bool:
    """Whether a model reads text: between its entities, or a leafy chain model of text.

    Raises:
        CheckpointError: Its ``config.json`` cannot be read.
    """
    config = _config(folder)
    inner = config.get("config")
    return config.get("kind") == TEXT_KIND or (isinstance(inner, dict) and inner.get("language") == TEXT)


def code_model(name_or_dir: str | Path) -> Path:
    """The folder of a model that reads source code: a shipped one by its name, or one of that path.

    Raises:
        CheckpointError: There is none, it reads text, or its ``config.json`` cannot be read.
    """
    folder = find_model("kg", name_or_dir)
    if reads_text(folder):
        raise CheckpointError(
            f"{with_article(model_kind(folder))} model of text, and one of source code is needed",
            where=str(folder),
            hint="weft.kg.extract, `weft kg extract` and `weft kg facts` read texts with it",
        )
    return folder


def model_language(folder: Path) -> Language:
    """The language that a model of source code reads.

    Raises:
        CheckpointError: Its ``config.json`` cannot be read.
        ConfigError: No such language.
    """
    config = _config(folder).get("config")
    if not isinstance(config, dict):
        raise CheckpointError("no model's configuration: it lacks config", where=str(folder / "config.json"))
    return find_language(str(config.get("language", "python")))


def _config(folder: Path) -> dict[str, Any]:
    with raising(CheckpointError):
        return read_object(folder / "config.json", SETTINGS_BYTES)


_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg", "__init__.py")
"""Files that stand in the folder of a project: its texts are the documents of its code."""


def model_for(corpus: Path) -> str:
    """The shipped model that reads a corpus: of text for texts without any source code beside them, else of code.

    But nobody wants a folder of texts read for the one script in it: where texts are more, and nothing says that they
    are a project's, whoever asks has to say it.

    A file without a suffix is a text, and so is what does not exist: whoever reads it says so.

    Args:
        corpus: A folder or a file.

    Raises:
        InputError: A file of another kind, a store, a folder that holds neither texts nor source code, or one with
            more texts than files of source code that is no project's.
    """
    languages = [find_language(name) for name in LANGUAGES]
    sources = tuple(suffix for language in languages for suffix in language.suffixes)
    if not corpus.is_dir():
        if corpus.name.endswith(sources):
            return CODE_MODEL
        if corpus.suffix.lower() in (*SUFFIXES, ".json", "") or not corpus.exists():
            return TEXT_MODEL
        if corpus.suffix.lower() == NOTEBOOK:
            way = "`jupyter nbconvert --to markdown` makes a text of it, `--to script` Python"
            raise InputError("a Jupyter notebook", where=str(corpus), hint=way)
        _check_text(corpus)
        raise InputError(
            f"cannot tell by {corpus.suffix} what it holds",
            where=str(corpus),
            hint=f"--model {TEXT_MODEL} reads it as plain text, --model {CODE_MODEL} as source code",
        )
    texts, files, others = 0, 0, Counter[str]()
    for path in (path for path in paths_below(corpus) if not left_out(path.relative_to(corpus))):
        files += path.name.endswith(sources)
        texts += path.suffix.lower() in SUFFIXES
        if os.path.isfile(path):
            others[path.suffix.lower() or "no suffix"] += 1
    code = " or ".join(language.name for language in languages)
    project = any((corpus / name).is_file() for name in _PROJECT)
    if texts > files > 0 and not project:
        raise InputError(
            f"{counted(texts, 'text')} and {counted(files, 'file')} of {code}: one model reads one or the other",
            where=str(corpus),
            hint=f"--model {TEXT_MODEL} reads the texts, --model {CODE_MODEL} the source code",
        )
    if texts or files:
        return CODE_MODEL if files else TEXT_MODEL
    if is_store(corpus):
        raise InputError(
            "a store of facts, not texts", where=str(corpus), hint="`weft kg show STORE` prints its facts"
        )
    raise InputError(
        f"no text and no file of {code} in it, but {listed(others)}" if others else "holds no file",
        where=str(corpus),
        hint=f"texts are {', '.join(SUFFIXES)}",
    )


def _check_text(path: Path) -> None:
    """Refuse a file that begins as no text does, whatever model is named.

    Raises:
        InputError: It is an archive, a document in a form that is not read, a picture, a program.
    """
    with open_input(path) as file:
        head = file.read(HEAD_BYTES)
    if form := other_form(head, kind_of(path)):
        raise InputError(form, where=str(path))
    if b"\0" in head:
        try:
            decode_text(head)
        except InputError as error:
            raise InputError(error.what, where=str(path), hint=error.hint) from error


def listed(kinds: Mapping[str, int]) -> str:
    """Kinds of files with how many there are of each, the most frequent first, at most eight of them."""
    common = sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
    said = ", ".join(f"{number} {kind}" for kind, number in common[:_KINDS])
    return f"{said}, …" if len(common) > _KINDS else said


def model_version(folder: Path, *settings: object) -> str:
    """Hash of weights, configuration, vocabulary, calibration and ranking, and of what else decides the answers.

    Args:
        folder: The model.
        settings: Such as the number of beams.

    Raises:
        CheckpointError: A file cannot be read.
    """
    digest = hashlib.sha256(repr(settings).encode())
    for name in _FILES:
        path = folder / name
        if not path.is_file():
            continue
        digest.update(name.encode())
        try:
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        except OSError as error:
            raise CheckpointError(f"cannot be read: {error.strerror}", where=str(path)) from error
    return digest.hexdigest()[:16]


def vocabulary_and_schema(folder: Path, tokens: int, relations: int) -> tuple[CodeTokenizer, Schema]:
    """The tokenizer and the schema that lie beside a model of text.

    Args:
        folder: The model's.
        tokens: Size of its vocabulary.
        relations: Its relation ids.

    Raises:
        CheckpointError: They do not fit the model.
        InputError: There is no schema.
    """
    tokenizer, schema = CodeTokenizer.load(folder / "tokenizer.json"), Schema.load(folder / "schema.json")
    if (tokens, relations) != (tokenizer.vocab_size, schema.size):
        raise CheckpointError(
            f"{tokens} tokens and {relations} relation ids; its tokenizer has {tokenizer.vocab_size}, "
            f"its schema {schema.size}",
            where=str(folder),
        )
    return tokenizer, schema

"""``weft kg annotate``: write the annotations that a Python tree lacks."""

from __future__ import annotations

import json
import sys
import time
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.options import Parser, add_beams, add_json, add_model, add_quiet, add_workers, share, workers_of
from weft.errors import ConfigError, PartialFailure, counted

if TYPE_CHECKING:
    from weft.kg.annotate.tree import Annotated

_PROGRESS = 10.0
"""Seconds between two lines of progress."""


def parser() -> Parser:
    """The arguments of ``weft kg annotate``."""
    result = Parser(
        "kg annotate",
        "Write the missing annotations of parameters, returns and attributes: what is plain from the code, what a "
        "checker infers with --check, and what the model is sure of. What is annotated already, and the format of the "
        "code, stay.",
        further="name a folder of them, or call it again for each",
    )
    result.add_argument("path", type=Path, metavar="PATH", help="a Python file, or a folder of them")
    add_model(result, "kg-python-small")
    how = result.add_mutually_exclusive_group()
    how.add_argument("--diff", action="store_true", help="print a patch (the default)")
    how.add_argument("--write", action="store_true", help="change the files")
    how.add_argument("--stubs", type=Path, metavar="DIR", help="write stubs there instead")
    result.add_argument(
        "--at-least", type=float, default=0.8, metavar="P", help="least confidence of an annotation (0.8)"
    )
    result.add_argument(
        "--check",
        choices=("pyright", "mypy"),
        help="take back what this checker refuses, and ask for the next candidate",
    )
    add_beams(result, 4)
    add_workers(result)
    add_json(result)
    add_quiet(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft kg annotate``; exit code 9 where files could not be read."""
    arguments = parser().parse_args(argv)
    share(at_least=arguments.at_least)
    from weft.kg.annotate.rewrite import annotated_texts
    from weft.kg.annotate.tree import find_missing
    from weft.platform.files import make_folder, write_bytes, write_text
    from weft.platform.models import find_model
    from weft.platform.same_file import is_same

    if arguments.json and (arguments.write or arguments.stubs):
        raise ConfigError("--json lists annotations; it goes with neither --write nor --stubs")
    found = find_missing(
        arguments.path,
        find_model("kg", arguments.model),
        workers=workers_of(arguments),
        beams=arguments.beams,
        every=arguments.json or arguments.check is not None,
        say=_Progress(arguments.quiet),
    )
    if arguments.check is not None:
        from weft.kg.annotate.check import checked

        checked(found, arguments.path, arguments.check, arguments.at_least)
    failed = list(found.failed)
    texts = annotated_texts(found, arguments.at_least, failed, workers_of(arguments))
    if arguments.json:
        whole = {file.below for file, _ in texts}
        records = [_record(file, arguments.at_least, file.below in whole) for file in found.files]
        print(json.dumps(records, ensure_ascii=False))
    elif arguments.stubs is not None:
        from weft.kg.annotate.stubs import stub

        for file, text in texts:
            target = (arguments.stubs / file.below).with_suffix(".pyi")
            # A stub beside its source may be written by hand, and checkers prefer it.
            if target.exists() and is_same(target, file.path.with_suffix(".pyi")):
                failed.append(
                    (str(target), "stands beside its source already (remove it, or name another folder)")
                )
                continue
            make_folder(target.parent)
            write_text(target, stub(text))
    else:
        for file, text in texts:
            if arguments.write and text != file.text:
                write_bytes(file.path, text.encode(file.encoding))
            elif not arguments.write:
                _print_patch(file, text)
    for path, reason in failed:
        print(f"left as it is: {path}: {reason}", file=sys.stderr)
    if not arguments.quiet:
        asked = sum(len(file.missing) for file in found.files)
        count = sum(len(file.chosen(arguments.at_least)) for file, _ in texts)
        print(f"{count} of {counted(asked, 'missing annotation')}", file=sys.stderr)
    if failed:
        left = counted(len(failed), "file was left as it is", "files were left as they are")
        raise PartialFailure(left)
    return 0


class _Progress:
    """A line of progress now and then: a large package takes minutes."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._next = time.monotonic() + _PROGRESS

    def __call__(self, done: int, files: int) -> None:
        if not self._quiet and time.monotonic() >= self._next:
            self._next = time.monotonic() + _PROGRESS
            print(f"{done} of {counted(files, 'file')}", file=sys.stderr)


def _print_patch(file: Annotated, text: str) -> None:
    """The patch of a file, in the bytes of its own encoding: other tools compare it with the file's."""
    mark, encoding = ("\ufeff", "utf-8") if file.encoding == "utf-8-sig" else ("", file.encoding)
    before, after = (_lines(mark + source) for source in (file.text, text))
    sys.stdout.flush()
    for number, line in enumerate(unified_diff(before, after, f"a/{file.below}", f"b/{file.below}")):
        whole = line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        sys.stdout.buffer.write(whole.encode("utf-8" if number < 2 else encoding))


def _lines(text: str) -> list[str]:
    """With their ends; str.splitlines ends lines at form feeds and others, too, which are none of a patch."""
    lines = text.split("\n")
    return [*(f"{line}\n" for line in lines[:-1]), *filter(None, lines[-1:])]


def _record(file: Annotated, least: float, rewritten: bool) -> dict[str, object]:
    return {
        "file": file.below,
        "annotations": [
            {
                "name": item.asked.head.name,
                "what": "return" if item.asked.relation == "returns" else item.asked.head.kind,
                "line": item.line,
                "written": rewritten and item.best(least) is not None,
                "optional": item.optional,
                "candidates": [vars(candidate) for candidate in item.candidates],
            }
            for item in file.missing
        ],
    }

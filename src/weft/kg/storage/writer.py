"""The one writer of a store: each document is committed whole, by a new manifest; facts are derived at the end.

A commit writes its Parquet files under names that were never used, and then renames a new manifest into
place: killed before the rename, nothing happened; killed after it, the document is there. Files that no
manifest names are swept away by the next writer.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from weft import __version__
from weft.errors import ConfigError, InputError, StoreError
from weft.kg.schema import Relation, Schema
from weft.kg.storage.derive import derive, entities, fold, live
from weft.kg.storage.layout import TABLES, TRUTH, DocumentRow, Evidence, Spelling, Status
from weft.kg.storage.lock import write_lock
from weft.kg.storage.manifest import FILE as MANIFEST
from weft.kg.storage.manifest import Manifest, read_manifest, write_manifest
from weft.kg.storage.parts import read_parts, rows_of, write_part
from weft.platform.files import make_folder, writing_to

_NAMED = 10
"""Most merges that an error names."""
_MANY_PARTS = 24
"""Files of one table before the small ones are joined."""
_INDEX = re.compile(r"\.?\d+-rdf\d.*")
"""What lies in the folder of an index: one for each state of the store, or a part of one."""
_PART = re.compile(rf"(?:{'|'.join(TABLES)})-\d+\.parquet")
"""What a writer calls its tables; what is called otherwise is not its own, and stays."""
_FIRST = re.compile(r"lock|relations-1\.parquet|\..+\.\d+\.part")
"""What a creation that was killed leaves behind."""
_LARGE_PART = 200_000
"""Rows from which on a file is left alone until the end of the run."""


@contextmanager
def open_writer(folder: Path) -> Iterator[Writer]:
    """Open a store for writing.

    Raises:
        StoreError: No store, or another process writes to it.
    """
    read_manifest(folder)
    with write_lock(folder):
        yield Writer(folder, read_manifest(folder))


def create_store(folder: Path, schema: Schema, spelling: Spelling = "exact") -> bool:
    """Make an empty store where there is none.

    Args:
        folder: Where; made where absent.
        schema: Relations and their definitions.
        spelling: How names fold.

    Returns:
        Whether it was made; False where a store was there already.

    Raises:
        StoreError: The folder holds other files.
        OutputError: It cannot be written.
    """
    if (folder / MANIFEST).exists():
        return False
    make_folder(folder)
    # What a creation that was killed left behind is no reason to refuse, nor is an index that may be built again.
    other = [path.name for path in folder.iterdir() if not (_FIRST.fullmatch(path.name) or _is_index(path))]
    if other:
        raise StoreError(
            f"not a knowledge graph store, and not empty ({other[0]})",
            where=str(folder),
            hint="name a folder that does not exist yet",
        )
    with write_lock(folder):
        if (folder / MANIFEST).exists():
            return False
        # Generations begin anew: one of them would be answered with the index of the store that was here.
        with writing_to(folder):
            for index in filter(_is_index, folder.iterdir()):
                shutil.rmtree(index)
        writer = Writer(folder, Manifest(spelling=spelling))
        rows = [(relation.name, relation.definition) for relation in schema.relations]
        writer.commit({"relations": rows})
    return True


class Writer:
    """Changes a store; made by :func:`open_writer`, which holds the lock.

    Args:
        folder: The store.
        manifest: What it is now.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        self._sweep()
        rows = read_parts(folder, manifest, "documents").to_pylist()
        self.documents: dict[str, DocumentRow] = {}
        for row in rows:
            self._note(DocumentRow(**row))
        self.aliases: dict[str, str] = {
            row["alias"]: row["entity"] for row in read_parts(folder, manifest, "aliases").to_pylist()
        }
        self.run = len(read_parts(folder, manifest, "runs", ["run"]))

    def begin_run(self, model: str, version: str) -> None:
        """Record a run; the documents that follow are its own.

        Args:
            model: Name of the model.
            version: Hash of all that decides what it answers.
        """
        started = datetime.now(UTC).isoformat(timespec="seconds")
        self.commit({"runs": [(self.run + 1, started, __version__, model, version)]})
        self.run += 1

    def add_relations(self, relations: Sequence[Relation]) -> None:
        """Take relations in that were asked for by their words.

        Raises:
            StoreError: The store has one of that name that says something else.
        """
        table = read_parts(self.folder, self.manifest, "relations").to_pylist()
        known = {row["relation"]: row["definition"] for row in table}
        for relation in relations:
            if known.get(relation.name, relation.definition) != relation.definition:
                raise StoreError(
                    f"has a relation {relation.name!r} with another definition: {known[relation.name]!r}",
                    where=str(self.folder),
                    hint="give this one another name, or extract into another store",
                )
        new = [(relation.name, relation.definition) for relation in relations if relation.name not in known]
        if new:
            self.commit({"relations": new})

    def place(self, corpus: str, place: Path) -> bool:
        """Note where a corpus lies, as a hash: a store that is passed on tells nobody's folders.

        Returns:
            Whether one of that name was read from another place before.
        """
        now = hashlib.sha256(os.fsencode(place)).hexdigest()[:16]
        before = self.manifest.places.get(corpus)
        if before != now:
            self._write(replace(self.manifest, places={**self.manifest.places, corpus: now}))
        return before not in (None, now)

    def check_schema(self, schema: Schema) -> None:
        """Check that a model speaks of this store's relations.

        Raises:
            StoreError: It does not.
        """
        known = set(read_parts(self.folder, self.manifest, "relations", ["relation"])["relation"].to_pylist())
        strange = [name for name in schema.names[1:] if name not in known]
        if strange:
            raise StoreError(
                f"has no relation {strange[0]!r}, of which the model speaks",
                where=str(self.folder),
                hint="extract into another store",
            )

    def put(
        self,
        document: str,
        corpus: str,
        sha256: str,
        model: str,
        evidence: Sequence[Evidence] = (),
        status: Status = "read",
        message: str = "",
        context: str = "",
    ) -> None:
        """Commit a document with its facts, in place of what the store held of it.

        Raises:
            OutputError: It cannot be written; the store is then what it was.
        """
        row = DocumentRow(
            document,
            self.manifest.revision + 1,
            corpus,
            sha256,
            model,
            self.run,
            len(evidence),
            status,
            message,
            context,
        )
        places = [(document, row.revision, *item) for item in evidence]
        self.commit({"documents": [row], "evidence": places}, revision=row.revision)
        self._note(row)

    def remove(self, document: str) -> DocumentRow:
        """Take a document and its facts out.

        Raises:
            InputError: The store has no such document.
        """
        if document not in self.documents:
            raise InputError(f"no document {document!r}", where=str(self.folder))
        old = self.documents[document]
        row = old._replace(revision=self.manifest.revision + 1, run=self.run, facts=0, status="removed")
        self.commit({"documents": [row]}, revision=row.revision)
        self._note(row)
        return old

    def merge(self, entity: str, other: str) -> None:
        """Make one entity's name an alias of another's.

        Args:
            entity: The one that stays.
            other: The one whose facts become its.

        Raises:
            InputError: They are one already, or the other was merged into a third.
        """
        spelling = self.manifest.spelling
        leads = entities(dict.fromkeys((entity, other), 1), self.aliases, spelling)
        merged = {fold(alias, spelling) for alias in self.aliases}
        if fold(leads[entity], spelling) == fold(leads[other], spelling):
            raise InputError(f"{other!r} and {entity!r} are one entity already", where=str(self.folder))
        if fold(other, spelling) in merged:
            into = leads[other]
            raise InputError(
                f"{other!r} was merged into {into!r}", where=str(self.folder), hint=f"merge {into!r} instead"
            )
        self._replace_aliases({**self.aliases, other: entity})

    def unmerge(self, entity: str, other: str) -> None:
        """Undo :meth:`merge`.

        Raises:
            InputError: They were not merged in this order.
        """
        spelling = self.manifest.spelling
        wanted = fold(other, spelling), fold(entity, spelling)
        left = {
            alias: into
            for alias, into in self.aliases.items()
            if (fold(alias, spelling), fold(into, spelling)) != wanted
        }
        if len(left) == len(self.aliases):
            known = [f"{alias!r} into {into!r}" for alias, into in self.aliases.items()]
            more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
            raise InputError(
                f"{other!r} was not merged into {entity!r}",
                where=str(self.folder),
                hint=f"merged: {', '.join(known[:_NAMED])}{more}" if known else "nothing was merged here",
            )
        self._replace_aliases(left)

    def keep(self, precision: float | None) -> None:
        """Set the share of right facts that the kept ones are to have; takes effect with :meth:`finish`.

        Raises:
            ConfigError: A precision outside (0, 1].
        """
        if precision is not None and not 0.0 < precision <= 1.0:
            raise ConfigError(f"precision is {precision}; it must be in (0, 1]")
        if precision != self.manifest.precision:
            self._write(replace(self.manifest, precision=precision, files=self._truth()))

    def commit(self, rows: Mapping[str, Sequence[tuple[object, ...]]], revision: int | None = None) -> None:
        """Add rows to tables, all of them or none."""
        generation = self.manifest.generation + 1
        files = self._truth()
        for table, added in rows.items():
            if not added:
                continue
            schema = TRUTH[table]
            columns = zip(*added, strict=True)
            arrays = [
                pa.array(column, type=field.type) for column, field in zip(columns, schema, strict=True)
            ]
            name = f"{table}-{generation}.parquet"
            write_part(self.folder, name, pa.Table.from_arrays(arrays, schema=schema))
            files[table] = (*files.get(table, ()), name)
        self._write(
            replace(
                self.manifest,
                files=files,
                revision=self.manifest.revision if revision is None else revision,
            )
        )
        if any(len(names) > _MANY_PARTS for names in self.manifest.files.values()):
            self._join()

    def finish(self) -> None:
        """Drop what no longer counts, derive the facts, and leave one file of each table."""
        if self.manifest.derived:
            return
        documents, evidence = live(
            *(read_parts(self.folder, self.manifest, n) for n in ("documents", "evidence"))
        )
        derived = derive(evidence, self.aliases, self.manifest.spelling, self.manifest.precision)
        tables = {
            "documents": documents.sort_by("document"),
            "evidence": derived.evidence,
            "triples": derived.triples,
            "names": derived.names,
        }
        for name in ("aliases", "relations", "runs"):
            tables[name] = read_parts(self.folder, self.manifest, name)
        generation = self.manifest.generation + 1
        files = {}
        for name, table in tables.items():
            files[name] = (f"{name}-{generation}.parquet",)
            write_part(self.folder, files[name][0], table.cast(TABLES[name]))
        self._write(replace(self.manifest, files=files))
        self._sweep()

    def _truth(self) -> dict[str, tuple[str, ...]]:
        return {name: names for name, names in self.manifest.files.items() if name in TRUTH}

    def _note(self, row: DocumentRow) -> None:
        if row.status == "removed":
            self.documents.pop(row.document, None)
        else:
            self.documents[row.document] = row

    def _replace_aliases(self, aliases: dict[str, str]) -> None:
        files = self._truth()
        files["aliases"] = (f"aliases-{self.manifest.generation + 1}.parquet",)
        columns = [list(aliases), list(aliases.values())]
        write_part(self.folder, files["aliases"][0], pa.table(columns, schema=TRUTH["aliases"]))
        self._write(replace(self.manifest, files=files))
        self.aliases = aliases

    def _join(self) -> None:
        """Join small files of a table, so that their number stays small however many documents there are."""
        generation = self.manifest.generation + 1
        files = self._truth()
        for table, names in files.items():
            small = [name for name in names if rows_of(self.folder, name) < _LARGE_PART]
            if len(small) > _MANY_PARTS // 2:
                joined = f"{table}-{generation}.parquet"
                part = Manifest(files={table: tuple(small)})
                write_part(self.folder, joined, read_parts(self.folder, part, table))
                files[table] = (*(name for name in names if name not in small), joined)
        self._write(replace(self.manifest, files=files))
        self._sweep()

    def _write(self, manifest: Manifest) -> None:
        manifest = replace(manifest, generation=self.manifest.generation + 1)
        write_manifest(self.folder, manifest)
        self.manifest = manifest

    def _sweep(self) -> None:
        """Remove files that a killed writer left, or that a commit replaced."""
        named = {name for names in self.manifest.files.values() for name in names}
        for path in self.folder.iterdir():
            if _PART.fullmatch(path.name) and path.name not in named:
                path.unlink(missing_ok=True)


def _is_index(path: Path) -> bool:
    """Whether a path is the folder in which queries keep the RDF of a store."""
    return (
        path.name == "index"
        and path.is_dir()
        and not path.is_symlink()
        and all(_INDEX.fullmatch(inner.name) for inner in path.iterdir())
    )

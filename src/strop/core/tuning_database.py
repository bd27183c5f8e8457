"""The tuning database: the best schedule known for each nest, in one SQLite file that every compilation reads.

A record is found under the nest, the whole description of the machine, the number of threads, whether weights are
packed, and the version of what makes schedules and code. Nothing of another machine or version is ever returned; it
stays in the file, for those to whom it belongs. Records are text: passes are parsed and checked before they are used,
so that a file from a stranger can at worst make a program slower.

Every write is one transaction, on the disk when it returns (`synchronous=FULL`). A process that is killed leaves the
state before or after, two processes that write wait for each other.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from strop.core.cache import default_directory
from strop.core.problem import Problem

SCHEMA = 1
_APPLICATION = 0x5354_524F  # "STRO": what the file says it belongs to
_BUSY_SECONDS = 60.0  # that a writer waits for another one
EXPORT = "strop-tuning"  # the first line of an export says this, and the schema
ESTIMATE, MEASUREMENT = "estimate", "measurement"


@dataclass(frozen=True)
class TuningKey:
    """What a schedule is good for. `nest`, `target` and `version` are digests."""

    nest: str
    target: str
    version: str
    threads: int
    pack: bool


@dataclass(frozen=True)
class TuningRecord:
    """What is known of a nest: `passes` take the place of its default schedule, empty ones leave it as it is. `ratio`
    is the time of the best schedule over that of the default one, by `source`; `state` is where the search goes on."""

    nest: str
    target: str
    version: str
    threads: int
    pack: bool
    machine: str
    shape: str
    passes: str
    source: str
    ratio: float
    rounds: int
    state: str

    @property
    def key(self) -> TuningKey:
        return TuningKey(self.nest, self.target, self.version, self.threads, self.pack)

    @property
    def merit(self) -> tuple[Any, ...]:
        """Of two records under one key the greater is kept: measured before estimated, the longer search, the better
        result; the texts decide what is left, so that merging in any order gives the same."""
        return (self.source == MEASUREMENT, self.rounds, -self.ratio, self.passes, self.state)

    def to_json(self) -> str:
        return json.dumps({f.name: getattr(self, f.name) for f in fields(self)}, ensure_ascii=False, sort_keys=True)

    @staticmethod
    def from_json(line: str) -> TuningRecord:
        data = json.loads(line)
        wanted = {f.name: f.type for f in fields(TuningRecord)}
        if not isinstance(data, dict) or data.keys() != wanted.keys():
            raise ValueError("its fields are not those of a record")
        kinds: dict[str, Any] = {"str": str, "int": int, "bool": bool, "float": (int, float)}
        for name, kind in wanted.items():
            if not isinstance(data[name], kinds[str(kind)]) or (kind == "int" and isinstance(data[name], bool)):
                raise ValueError(f"`{name}` is {data[name]!r:.40}")
        return TuningRecord(**{**data, "ratio": float(data["ratio"])})


_COLUMNS = ", ".join(f.name for f in fields(TuningRecord))
_KEY = ", ".join(f.name for f in fields(TuningKey))
_INSERT = f"INSERT OR REPLACE INTO records VALUES ({', '.join('?' for _ in fields(TuningRecord))})"
_CREATE = f"""CREATE TABLE IF NOT EXISTS records (
    nest TEXT NOT NULL, target TEXT NOT NULL, version TEXT NOT NULL, threads INTEGER NOT NULL, pack INTEGER NOT NULL,
    machine TEXT NOT NULL, shape TEXT NOT NULL, passes TEXT NOT NULL, source TEXT NOT NULL, ratio REAL NOT NULL,
    rounds INTEGER NOT NULL, state TEXT NOT NULL, PRIMARY KEY ({_KEY})) WITHOUT ROWID"""


def default_path() -> Path:
    """STROP_TUNING, or `tuning.sqlite` in the directory of the cache."""
    told = os.environ.get("STROP_TUNING", "")
    return Path(told).expanduser() if told else default_directory() / "tuning.sqlite"


class TuningDatabase:
    """Records of one file. Whatever SQLite says of a bad one becomes a Problem that names it."""

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = Path(path) if path is not None else default_path()

    # ---- reading ----

    def passes(self, target: str, version: str, threads: int, pack: bool) -> dict[str, str]:
        """The schedules that a compilation may use, by nest; none where there is no file."""
        if not self.path.exists():
            return {}
        where = "target = ? AND version = ? AND threads = ? AND pack = ? AND passes != ''"
        with self._open(write=False) as connection:
            rows = connection.execute(
                f"SELECT nest, passes FROM records WHERE {where}", (target, version, threads, pack)
            )
            return dict(rows.fetchall())

    def get(self, key: TuningKey) -> TuningRecord | None:
        if not self.path.exists():
            return None
        with self._open(write=False) as connection:
            return _found(connection, key)

    def records(self) -> list[TuningRecord]:
        """Every record, in the order of their keys."""
        if not self.path.exists():
            return []
        with self._open(write=False) as connection:
            rows = connection.execute(f"SELECT {_COLUMNS} FROM records ORDER BY {_KEY}")
            return [_record(row) for row in rows.fetchall()]

    # ---- writing ----

    def put(self, record: TuningRecord) -> None:
        """Store a record in place of what was there; it is on the disk when this returns."""
        self.put_all([record])

    def put_all(self, records: Iterable[TuningRecord]) -> None:
        with self._open(write=True) as connection:
            connection.executemany(_INSERT, map(astuple, records))

    def merge(self, records: Iterable[TuningRecord]) -> int:
        """Take over records, of any machine and version, where they are better than those under the same key; how many
        were. All of them, or none if something fails."""
        best: dict[TuningKey, TuningRecord] = {}
        for one in records:
            if one.key not in best or one.merit > best[one.key].merit:
                best[one.key] = one
        with self._open(write=True) as connection:
            known = ((one, _found(connection, one.key)) for one in best.values())
            better = [one for one, held in known if held is None or one.merit > held.merit]
            connection.executemany(_INSERT, map(astuple, better))
            return len(better)

    # ---- text ----

    def export(self) -> str:
        """All records as lines of JSON. Equal databases give equal texts."""
        head = json.dumps({"format": EXPORT, "schema": SCHEMA})
        return "".join(f"{line}\n" for line in (head, *(one.to_json() for one in self.records())))

    @staticmethod
    def parse(text: str, name: str) -> list[TuningRecord]:
        """The records of an export; `name` is the file's, for the message where it is something else."""
        lines = text.splitlines()
        try:
            head = json.loads(lines[0]) if lines else None
        except ValueError:
            head = None
        if not isinstance(head, dict) or head.get("format") != EXPORT:
            raise Problem("STR505", f"{name} is no export of a tuning database", help="`strop tuned export` writes one")
        if head.get("schema") != SCHEMA:
            raise _newer(Path(name), head.get("schema"))
        found = []
        for number, line in enumerate(lines[1:], 2):
            try:
                found.append(TuningRecord.from_json(line))
            except (ValueError, TypeError) as error:
                raise Problem("STR505", f"line {number} of {name} is no record: {error}", where=f"{name}:{number}",
                              help="the file was cut off or edited; export it again") from None  # fmt: skip
        return found

    # ---- the file ----

    @contextmanager
    def _open(self, *, write: bool) -> Iterator[sqlite3.Connection]:
        """A connection in one transaction: kept if the block ends well, as if it had not begun otherwise."""
        connection: sqlite3.Connection | None = None
        try:
            if write:
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            self._check(connection, write)
            yield connection
            connection.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            raise _told(self.path, error) from error
        finally:
            if connection is not None:
                connection.close()  # which takes back what was not committed

    def _check(self, connection: sqlite3.Connection, write: bool) -> None:
        schema = connection.execute("PRAGMA user_version").fetchone()[0]
        if schema > SCHEMA:
            raise _newer(self.path, schema)
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        if tables and connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            raise Problem("STR505", f"{self.path} is a database of something else", help="name another file")
        if not tables:
            connection.execute(_CREATE if write else _CREATE.replace("TABLE", "TEMP TABLE", 1))
        if write and schema < SCHEMA:
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {SCHEMA}")


def _found(connection: sqlite3.Connection, key: TuningKey) -> TuningRecord | None:
    where = " AND ".join(f"{f.name} = ?" for f in fields(TuningKey))
    row = connection.execute(f"SELECT {_COLUMNS} FROM records WHERE {where}", astuple(key)).fetchone()
    return _record(row) if row is not None else None


def _record(row: tuple[Any, ...]) -> TuningRecord:
    made = TuningRecord(*row)
    return TuningRecord(**{**{f.name: getattr(made, f.name) for f in fields(made)}, "pack": bool(made.pack)})


def _newer(path: Path, schema: object) -> Problem:
    return Problem("STR505", f"{path} was written by a newer Strop: its schema is {schema}, this one knows {SCHEMA}",
                   help="update Strop, or name another file by STROP_TUNING; nothing was changed")  # fmt: skip


def _told(path: Path, error: sqlite3.Error | OSError) -> Problem:
    if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
        help = "move it away; `strop tuned import` reads an export, and without one tuning starts anew"
        return Problem("STR505", f"{path} is damaged, or no database ({error})", help=help)
    help = "what was committed before is still there; free some space, or name another file by STROP_TUNING"
    return Problem("STR505", f"{path} cannot be used ({error})", help=help)

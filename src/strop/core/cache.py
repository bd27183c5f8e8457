"""A content-addressed disk cache: bytes under a hexadecimal digest of everything they depend on.

An entry is one file: eight bytes of magic, the SHA-256 of the content, the content. Writing goes to a temporary file in
the same directory and is renamed, so that a reader in another process sees a whole entry or none; a checksum finds what
a crash or a full disk has damaged. The time of last use is the file's modification time: a hit touches it, and when the
entries outgrow the cap the least recently used go first. Nothing here raises for a bad disk: the caller compiles anew,
and the journal says why.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from strop.core.journal import Journal
from strop.core.options import cache_limit
from strop.core.problem import Problem

_MAGIC = b"STROPv1\n"
_HEADER = len(_MAGIC) + hashlib.sha256().digest_size
_KEY = re.compile(r"[0-9a-f]{16,128}")
_STALE_SECONDS = 3600.0  # a temporary file older than this belongs to a process that died


@dataclass(frozen=True)
class Entry:
    """One stored result: its key, its size on disk, when it was used last (seconds since the epoch)."""

    key: str
    bytes: int
    used: float


def default_directory() -> Path:
    """STROP_CACHE, or `strop` in the platform's cache directory of this user."""
    told = os.environ.get("STROP_CACHE", "")
    if told and told.lower() not in ("0", "off", "no", "false"):
        return Path(told).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "strop"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "strop" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "strop"


class Cache:
    """Entries of one directory. Several processes and threads may use the same one at once."""

    def __init__(
        self, directory: str | Path | None = None, *, limit: int | None = None, journal: Journal | None = None
    ) -> None:
        self.directory = Path(directory) if directory is not None else default_directory()
        self.limit = cache_limit() if limit is None else limit
        self.journal = journal if journal is not None else Journal()
        self._read_only = ""
        self._distrust: str | None = None

    def get(self, key: str) -> bytes | None:
        """The content stored under a key; None when there is none or it is damaged (then it is deleted)."""
        path = self._path(key)
        if self._untrusted():
            return None
        try:
            stored = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self._tell(f"an entry cannot be read ({error.strerror or error}); compiling anew", "STR502")
            return None
        content = _unwrap(stored)
        if content is None:
            self._remove(path)
            self._tell(f"entry {key[:12]} was damaged and is deleted; compiling anew", "STR501", key=key)
            return None
        self._touch(path)
        self.journal.add("cache", key[:12], "hit", key=key, bytes=len(content))
        return content

    def put(self, key: str, content: bytes) -> bool:
        """Store content under a key, replacing what was there; False when the disk would not have it."""
        path = self._path(key)
        if self._read_only or self._untrusted():
            return False
        if _HEADER + len(content) > self.limit:
            self.journal.add("cache", key[:12], "larger than the whole cache: not stored", bytes=len(content))
            return False
        try:
            self._write(path, content)
        except OSError as error:
            self._read_only = error.strerror or str(error)
            self._tell(f"{self.directory} cannot be written ({self._read_only}); going on without", "STR502")
            return False
        self.journal.add("cache", key[:12], "stored", key=key, bytes=len(content))
        self._evict(keep=path)
        return True

    def discard(self, key: str, why: str, instead: str = "compiling anew") -> None:
        """Delete an entry that its reader can make nothing of; `instead` is what the reader does then."""
        self._remove(self._path(key))
        self._tell(f"entry {key[:12]} {why} and is deleted; {instead}", "STR501", key=key)

    def entries(self) -> list[Entry]:
        """What is stored, least recently used first."""
        found = [
            Entry(path.stem, stat.st_size, stat.st_mtime)
            for path, stat in self._files()
            if path.suffix == ".bin" and _KEY.fullmatch(path.stem)
        ]
        return sorted(found, key=lambda entry: (entry.used, entry.key))

    def clear(self) -> int:
        """Delete every entry and every left-over; the number of entries deleted."""
        removed = 0
        for path, _ in list(self._files()):
            if path.suffix == ".bin":
                removed += self._remove(path)
            else:
                self._remove(path)
        return removed

    def _path(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise Problem("STR503", f"a cache key is a hexadecimal digest, not {key[:40]!r}")
        return self.directory / key[:2] / f"{key}.bin"

    def _write(self, path: Path, content: bytes) -> None:
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".new-", suffix=".tmp", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(content).digest())
                file.write(content)
            Path(name).replace(path)
        except BaseException:  # Ctrl-C too leaves nothing behind
            self._remove(Path(name))
            raise

    def _evict(self, keep: Path) -> None:
        """Bring the entries under the cap, and a tenth below it so that not every write has to."""
        now = time.time()
        sizes: list[tuple[float, int, Path]] = []
        for path, stat in self._files():
            if path.suffix == ".bin":
                sizes.append((stat.st_mtime, stat.st_size, path))
            elif now - stat.st_mtime > _STALE_SECONDS:
                self._remove(path)
        total = sum(size for _, size, _ in sizes)
        if total <= self.limit:
            return
        gone = 0
        for _, size, path in sorted(sizes):
            if total <= self.limit * 0.9:
                break
            if path != keep and self._remove(path):
                total -= size
                gone += 1
        self.journal.add("cache", "eviction", f"{gone} least recently used entries deleted", left_bytes=total)

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        """Every file of ours. Another process may delete any of them at any moment."""
        try:
            shelves = sorted(p for p in self.directory.iterdir() if re.fullmatch(r"[0-9a-f]{2}", p.name))
        except OSError:
            return
        for shelf in shelves:
            try:
                found = [entry for entry in os.scandir(shelf) if entry.name.endswith((".bin", ".tmp"))]
            except OSError:
                continue
            for entry in found:
                try:
                    yield Path(entry.path), entry.stat()
                except OSError:
                    continue

    def _touch(self, path: Path) -> None:
        try:
            os.utime(path)
        except OSError:
            pass  # a read-only cache still serves hits; only its order of eviction grows stale

    def _remove(self, path: Path) -> bool:
        try:
            path.unlink()
        except OSError:
            return False
        return True

    def _untrusted(self) -> bool:
        """Cached code is executed: a directory that another user can write to is not read."""
        if self._distrust is None:
            self._distrust = _distrust(self.directory)
            if self._distrust:
                self._tell(f"{self.directory} {self._distrust}; going on without", "STR502")
        return bool(self._distrust)

    def _tell(self, message: str, code: str, **data: object) -> None:
        self.journal.warn("cache", "cache", f"{message} [{code}]", **data)


def _unwrap(stored: bytes) -> bytes | None:
    content = stored[_HEADER:]
    if stored[: len(_MAGIC)] != _MAGIC or hashlib.sha256(content).digest() != stored[len(_MAGIC) : _HEADER]:
        return None
    return content


def _distrust(directory: Path) -> str:
    if not hasattr(os, "geteuid"):
        return ""
    try:
        stat = directory.stat()
    except OSError:
        return ""  # not there yet: it will be made for this user alone
    if os.geteuid() != 0 and stat.st_uid not in (0, os.geteuid()):
        return "belongs to another user"
    if stat.st_mode & 0o002:
        return "may be written by every user"
    return ""

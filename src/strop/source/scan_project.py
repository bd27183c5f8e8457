"""A look at a whole project: find the files, scan them in units from the cache or in several processes, filter.

This is what `strop scan` and `strop fix` call. `scan.py` interprets; everything around it is here: settings, the
cache, processes, comments that silence findings, baselines. A unit whose analysis fails is tried again group by group,
a group half by half, and a file that still fails is reported as skipped, so that one odd file never ends a scan.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from strop.core.cache import Cache
from strop.core.ray_tasks import RayPool
from strop.core.tasks import LocalPool, TaskPool, run_all
from strop.source.facts import Finding, Scan, Skipped
from strop.source.hybridize.tensorflow1 import together
from strop.source.hybridize.torch_operations import WORTH_SAYING
from strop.source.project.files import GAVE_UP, Text, decode, find, pretended, pretending, read_bytes
from strop.source.project.installed import package_folders
from strop.source.project.requirements import pins
from strop.source.project.settings import Settings
from strop.source.project.store import Store, digest_of, key_of
from strop.source.project.units import groups, units
from strop.source.report.baseline import beyond_baseline, on_changed_lines
from strop.source.report.ignore import apply_ignores

_WORTH_A_PROCESS = 4_000  # lines; starting one costs about as long as interpreting these

_SCAN = ("strop.source.scan_project", "scan_unit")  # what a pool for scans calls

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class _Unit:
    files: tuple[str, ...]
    roots: tuple[str, ...]
    settings: Settings
    lines: int
    pretended: tuple[tuple[str, bytes], ...] = ()


def scan_project(
    paths: Sequence[str],
    settings: Settings | None = None,
    *,
    jobs: int = 1,
    cache: Cache | None = None,
    progress: Progress = lambda done, total: None,
    changed_since: str | None = None,
    ray: str | None = None,
) -> Scan:
    """What is found in these files and folders. `progress` is told lines: done, and all. With `ray`, the address of a
    cluster whose nodes see the same files, units are scanned there and not on processes here."""
    settings = Settings.of(paths) if settings is None else settings
    names, skipped = find(paths, include=settings.include, exclude=settings.exclude)
    contents: dict[str, bytes] = {}
    for name in names:
        data = read_bytes(name)
        if isinstance(data, Skipped):
            skipped.append(data)
        else:
            contents[name] = data
    result = _gather(_scanned(contents, paths, settings, jobs, cache, progress, ray), skipped)
    return _filtered(result, contents, paths, settings, changed_since)


def _filtered(
    scan: Scan, contents: dict[str, bytes], paths: Sequence[str], settings: Settings, changed_since: str | None
) -> Scan:
    def reading(file: str) -> Text | Skipped:
        data = contents.get(file, b"")
        return decode(file, data if b"strop:" in data else b"", max_lines=settings.max_lines)

    findings = [f for f in scan.findings if settings.wants(f.code, f.place.file)]
    skipped = {s.file for s in scan.skipped}
    looked_at = [file for file, data in contents.items() if b"strop:" in data and file not in skipped]
    findings = apply_ignores(findings, looked_at, reading=reading, active=lambda code: settings.wants(code, ""))
    findings = [f for f in findings if settings.wants(f.code, f.place.file) and _is_worth_saying(f, settings)]
    findings.sort(key=lambda finding: -finding.worth)
    if settings.baseline is not None:
        findings = beyond_baseline(settings.baseline, findings)
    if changed_since is not None:
        findings = on_changed_lines(findings, changed_since, paths[0] if paths else ".")
    scan.findings = findings
    scan.skipped = together(scan.skipped)
    return scan


def _is_worth_saying(finding: Finding, settings: Settings) -> bool:
    """What gains little here (a kernel, a wait that only a GPU feels) is told to those who ask for it by its code."""
    if finding.estimated_gain is None:
        return True
    return finding.estimated_gain >= WORTH_SAYING or finding.code.startswith(settings.select or "-")


def _scanned(
    contents: dict[str, bytes],
    paths: Sequence[str],
    settings: Settings,
    jobs: int,
    cache: Cache | None,
    progress: Progress,
    ray: str | None,
) -> Iterator[Scan]:
    """The scan of every unit, in no particular order."""
    store = Store(cache) if cache is not None else None
    digests = {file: hashlib.sha256(data).hexdigest() for file, data in contents.items()}
    lines = {file: data.count(b"\n") for file, data in contents.items()}
    total, done = sum(lines.values()), 0
    progress(done, total)
    to_do: list[tuple[_Unit, str]] = []
    for files in units(contents, paths):
        size = sum(lines[file] for file in files)
        unit = _Unit(tuple(files), tuple(paths), settings, size, tuple(pretended().items()))
        key = key_of([(file, digests[file]) for file in files], _meaning(unit))
        known = store.get(key) if store is not None else None
        if known is None:
            to_do.append((unit, key))
            continue
        done += unit.lines
        progress(done, total)
        yield known
    keys = dict(to_do)
    for unit, scan in _interpreted([unit for unit, _ in to_do], jobs, ray):
        if store is not None and not any(skipped.code == GAVE_UP for skipped in scan.skipped):
            store.put(keys[unit], scan)
        done += unit.lines
        progress(done, total)
        yield scan


def _meaning(unit: _Unit) -> str:
    """The settings that change what a scan says; selections are applied later, but for rules that are off."""
    from strop.source.scan import kernels_only

    settings = unit.settings
    roots = [os.path.realpath(root) for root in unit.roots]
    rules = [
        (file, digest_of(file)) for folder in settings.rules for file in sorted(map(str, Path(folder).glob("*.rule")))
    ]
    asked = (kernels_only(settings.select), [code for code in settings.select if code.startswith("STR7")])
    kernels = (settings.target, settings.with_strop, rules, asked)
    signatures = settings.signatures or "STR149" in settings.select
    versions = [(pin.text, pin.file, pin.line) for pin in pins(unit.roots, "torch")]
    packages = [(folder, sorted(path.name for path in Path(folder).iterdir())) for folder in package_folders(roots)]
    given = (settings.speculate, settings.hints, settings.max_lines, kernels, signatures, roots, versions, packages)
    return repr(given)


def _interpreted(todo: list[_Unit], jobs: int, ray: str | None) -> Iterator[tuple[_Unit, Scan]]:
    if ray is None:
        jobs = min(jobs, len(todo), 1 + sum(unit.lines for unit in todo) // _WORTH_A_PROCESS)
    if ray is None and jobs <= 1:
        for unit in todo:
            yield unit, scan_unit(unit)
        return
    pool: TaskPool = LocalPool(*_SCAN, jobs) if ray is None else RayPool(ray, *_SCAN)
    try:
        for done in run_all(pool, sorted(todo, key=lambda unit: -unit.lines)):
            yield done.task, done.result if done.problem is None else _given_up(done.task, str(done.problem))
    finally:
        pool.close()


def scan_unit(unit: _Unit) -> Scan:
    """Interpret one unit; when that fails, each of its groups or halves, and give up on single files that fail."""
    try:
        return _interpret(unit)
    except (Exception, RecursionError, MemoryError) as error:
        parts = _parts(unit)
        if len(parts) <= 1:
            return _given_up(unit, f"{type(error).__name__}: {error}")
        return _gather((scan_unit(part) for part in parts), [])


def _interpret(unit: _Unit) -> Scan:
    from strop.source.scan import scan_files

    with pretending(dict(unit.pretended)):
        return scan_files(unit.files, unit.roots, unit.settings)


def _parts(unit: _Unit) -> list[_Unit]:
    """The groups of files that imports connect; of a single group, its halves."""
    contents = {file: data for file in unit.files if isinstance(data := read_bytes(file), bytes)}
    found = groups(contents, unit.roots)
    if len(found) == 1:
        middle = len(found[0]) // 2
        found = [half for half in (found[0][:middle], found[0][middle:]) if half]
    return [
        replace(unit, files=tuple(group), lines=sum(contents[file].count(b"\n") for file in group)) for group in found
    ]


def _given_up(unit: _Unit, why: str) -> Scan:
    return Scan(skipped=[Skipped(file, GAVE_UP, why) for file in unit.files])


def _gather(scans: Iterable[Scan], skipped: Sequence[Skipped]) -> Scan:
    """One scan of several, in the order of files and lines."""
    whole = Scan(skipped=list(skipped))
    for scan in scans:
        whole.functions += scan.functions
        whole.findings += scan.findings
        whole.skipped += scan.skipped
        whole.followed += scan.followed
        whole.lines += scan.lines
        whole.files += scan.files
        whole.notes += [note for note in scan.notes if note not in whole.notes]
    whole.functions.sort(key=lambda function: (function.file, function.line, function.function))
    whole.findings.sort(key=lambda finding: (finding.place, finding.code, finding.message))
    whole.skipped.sort(key=lambda skip: (skip.file, skip.line))
    whole.followed = sorted(set(whole.followed))
    return whole

"""How many threads a program uses."""

from __future__ import annotations

from strop.core.journal import Journal
from strop.runtime.threads import cores, pool

#: with more threads per core, synchronising dominates: 1024 threads on two cores took 31 s for what two did in 50 ms
THREADS_PER_CORE = 4


def usable_threads(threads: int, journal: Journal) -> int:
    """As many as asked for, where there is a pool of threads to join, and cores for them to take turns on."""
    if threads > 1 and pool() is None:
        journal.add("note", "threads", "no OpenMP runtime is loaded: the program runs on one thread")
        return 1
    most = THREADS_PER_CORE * cores()
    if threads > most:
        told = f"{threads} threads were asked for; the program uses {most}, as this process may run on {cores()} cores"
        journal.warn("note", "threads", told)
        return most
    return threads

"""What generated code and whoever calls it agree on: the table that every entry receives as its first argument, the
block of memory that a team of threads meets at, and the pool of threads of programs that run without PyTorch.

An entry is `void entry(ptr table, ptr arena, ptr slots)`. `codegen/thread_team.py` and `codegen/standalone_pool.py`
write the code that uses these; `deploy/c/strop.c` has the same numbers.
"""

from __future__ import annotations

#: slots of the table, of 8 bytes each
STATUS, PARALLEL, THREAD_NUM, NUM_THREADS, SCRATCH, THREADS, SCRATCH_STRIDE, YIELD, CREW = range(9)
TABLE = CREW + 1
#: in programs that run without PyTorch, the slot of the pool in place of the OpenMP runtime's functions
POOL = PARALLEL

#: bytes of the word that STATUS points at, which an entry sets to 1: threads write at once, so nobody reads and changes
OUT_OF_RANGE, NOT_FINITE = 0, 1

#: words of 8 bytes of the block that a team meets at; see `codegen/thread_team.py`
JOB, GIVEN, SHARES, DONE, ARRIVED, MEETINGS = 1, 2, 3, 8, 16, 24
STEPS, STEPS_GIVEN, TEAM, BEFORE, BEGUN = 32, 33, 34, 35, 40

#: words of the block of a pool; see `codegen/standalone_pool.py`
POOL_STATE, POOL_MEMBER, POOL_GIVEN, POOL_TEAM, POOL_BUSY, POOL_NUMBERS, POOL_WORKERS = 0, 8, 9, 10, 16, 24, 25
POOL_SYSCALL = 26
POOL_BYTES = 8 * 32


def team_bytes(threads: int) -> int:
    return 8 * (BEGUN + 8 * threads)

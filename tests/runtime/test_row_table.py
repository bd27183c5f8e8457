"""Rows of a table are done once each, in pieces, by one thread or several, and skipped where they have no elements."""

import numpy as np
import pytest

from strop.kernels.optimizers.table import kernels
from strop.runtime.row_table import PIECES, RowTable

SIZES = [0, 1, 63, 64, 65, PIECES[0], PIECES[0] + 64 + 5, 2 * PIECES[0] - 1]


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_of_every_size_are_done_once(threads):
    values = [np.random.default_rng(i).standard_normal(size).astype(np.float32) for i, size in enumerate(SIZES)]
    totals = np.zeros(len(SIZES))
    held = kernels(("square_sum",))
    table = RowTable(len(SIZES), (4, 0))
    table.counts[:] = SIZES
    table.kernels[:] = held.addresses
    table.pointers[:, 0] = [one.ctypes.data for one in values]
    table.pointers[:, 1] = totals.ctypes.data + 8 * np.arange(len(SIZES))
    table.run(threads)
    np.testing.assert_allclose(totals, [np.square(one.astype(np.float64)).sum() for one in values], rtol=1e-12)


def test_a_table_without_rows():
    RowTable(0, (4, 0)).run(threads=2)

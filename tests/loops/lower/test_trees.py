"""Ways down trees as nests: the plain form computes what the reference does, and keeps to what ends early."""

import numpy as np
import pytest
import torch

from loops.interpret import compute, context_of
from strop.frontend.torch.aten.trees import walked
from strop.loops.lower.trees import walk_trees
from strop.loops.passes.loop_modes import Unroll
from strop.loops.passes.primitives import Reorder, Sink, Split


def complete(trees, depth, features, bits, between, seed=0):
    """Trees of which every way has between 1 and `depth` tests."""
    rng = np.random.default_rng(seed)
    nodes, ways = [None] * trees, [(tree, depth) for tree in range(trees)]
    for place, left in ways:
        end = not left or (left < depth and rng.random() < 0.3)
        below, feature = (place, 0) if end else (len(nodes), int(rng.integers(features)))
        limit = 0 if end else int(rng.integers(-(2**30), 2**30))
        word = [(below << bits) + feature] if bits else [feature, below]
        nodes[place] = [limit, *word, *([int(rng.integers(0, 2**30))] if between else [])]
        if not end:
            ways += [(len(nodes), left - 1), (len(nodes) + 1, left - 1)]
            nodes += [None, None]
    return np.array(nodes, np.int32)


@pytest.mark.parametrize("between", [False, True])
@pytest.mark.parametrize("bits", [0, 3])
@pytest.mark.parametrize(("rows", "trees", "depth"), [(1, 19, 5), (40, 3, 4), (2, 8, 0)])
def test_nests_walk_as_the_reference_does(rows, trees, depth, bits, between):
    nodes = complete(trees, depth, 6, bits, between)
    x = np.random.default_rng(1).standard_normal((rows, 6)).astype(np.float32)
    x[0, :2] = np.nan, -0.0
    attrs = {"trees": trees, "steps": depth, "bits": bits, "between": between}
    (got,) = compute("walk_trees", [x, nodes], [("i32", (rows, trees))], **attrs)
    wanted = walked(torch.from_numpy(x), torch.from_numpy(nodes), **attrs)
    assert got.tolist() == wanted.tolist()


def test_passes_leave_a_loop_that_ends_early_as_it_is():
    x, nodes = np.zeros((3, 4), np.float32), complete(8, 3, 4, 2, False)
    attrs = {"trees": 8, "steps": 3, "bits": 2, "between": False}
    walk = walk_trees(context_of("walk_trees", [x, nodes], [("i32", (3, 8))], attrs))[1]
    refused = [
        Split(walk.name, "s", 2),
        Sink(walk.name, ("g",)),
        Sink(walk.name, ("g", "r")),
        Reorder(walk.name, ("s", "u")),
    ]
    assert [bool(one.check(walk)) for one in refused] == [False] * 4
    assert Unroll(walk.name, "u").check(walk)

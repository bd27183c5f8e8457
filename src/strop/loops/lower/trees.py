"""Ways down decision trees: several side by side, until all have ended.

    parallel g in 15, r in 1:                                  # eight trees at a time
      parallel u in 8:  at[u] = u+8*g
      sequential s in 14, until done:
        before[], total[] = total[], 0
        parallel u in 8:
          word[] = nodes[<at[u]>, 1]
          at[u] = (word[] >> 5) + ult(keys[r, <word[] & 31>], nodes[<at[u]>, 0])
          total[] += at[u]
        done[] = total[] == before[]                           # no way leads back: where all have ended, the sum stays

A step waits for two reads, one after the other; eight ways hide that. Features are compared as whole numbers without
signs: the outcome is the carry of one instruction, which the next one adds. A step takes eight instructions.
"""

from __future__ import annotations

from strop.loops.index import Index, Var, indirect
from strop.loops.ir import Apply, Buffer, Const, Expr, Load, Loop, Nest, Number, Store
from strop.loops.lower import Context, as_index, lowering, store
from strop.loops.lower.pointwise import apply, cast

#: ways side by side
TOGETHER = 8


@lowering("walk_trees")
def walk_trees(c: Context) -> list[Nest]:
    x = c.node.inputs[0]
    keys = c.temporary("keys", "i32" if x.dtype == "f32" else "i64", x.shape)
    loops = c.loops("i", x.shape)
    ranks = c.nest(loops, store(keys, loops, Apply("rank", (c.read(0, *loops),), keys.dtype)), suffix="keys")
    trees = int(c.node.attrs["trees"])
    whole, rest = divmod(trees, TOGETHER)
    walks = [_walk(c, keys, 0, whole, TOGETHER, "")] if whole else []
    return [ranks, *walks, *([_walk(c, keys, trees - rest, 1, rest, "rest")] if rest else [])]


def _walk(c: Context, keys: Buffer, first: int, groups: int, width: int, suffix: str) -> Nest:
    """From the roots `first` on, in groups of `width`. What is larger, trees or rows, is gone through once."""
    g, r = Loop(Var("g", groups)), Loop(Var("r", keys.shape[0]))
    s = Loop(Var("s", int(c.node.attrs["steps"])), "sequential", until=True)
    at, done = c.scratch("at", "i32", (width,)), c.scratch("done", "bool")
    total, before = c.scratch("total", "i32"), c.scratch("before", "i32")
    start, walk, end = (Loop(Var(name, width)) for name in ("start", "u", "end"))

    def tree(u: Loop) -> Index:
        return as_index(g) * width + as_index(u) + first

    body: list[Store | Nest] = [
        Nest((start,), (store(at, (start,), Number(tree(start), "i32")),)),
        store(total, (), Const(-1, "i32")),
    ]
    if s.extent:
        step = (
            store(before, (), Load(total, ())),
            store(total, (), Const(0, "i32")),
            Nest((walk,), *_step(c, keys, r, at, walk, total)),
            store(done, (), apply("eq", Load(total, ()), Load(before, ()))),
        )
        body.append(Nest((s,), step))
    body.append(Nest((end,), (store(c.out, (r, tree(end)), Load(at, (as_index(end),))),)))
    nodes = c.node.inputs[1].shape
    order = (g, r) if nodes[0] * nodes[1] > keys.size else (r, g)
    return c.nest(order, *body, scratch=(at, total, before, done), suffix=suffix)


def _step(
    c: Context, keys: Buffer, r: Loop, at: Buffer, u: Loop, total: Buffer
) -> tuple[tuple[Store, ...], tuple[Buffer, ...]]:
    """One step of one way, and its scratch."""
    bits, between = int(c.node.attrs["bits"]), bool(c.node.attrs["between"])
    nodes, features = c.node.inputs[1], keys.shape[1]
    here = (as_index(u),)
    place = indirect(Load(at, here), nodes.shape[0], sure=True)

    def field(which: int) -> Expr:
        return c.read(1, place, which)

    word, key = c.scratch("word", keys.dtype), c.scratch("key", keys.dtype)
    held = Load(word, ())
    if bits:
        feature, below = apply("and", held, Const(2**bits - 1, word.dtype)), apply("shr", held, Const(bits, word.dtype))
    else:
        feature, below = held, field(2)
    holds: Expr = Apply("ult", (Load(key, ()), field(0)), "bool")
    if between:
        least = Apply("ult", (Load(key, ()), field(3 - bool(bits))), "bool")
        holds = apply("and", holds, apply("not", least))
    onward = apply("add", cast(below, "i32"), cast(holds, "i32"))
    found = Load(keys, (as_index(r), indirect(feature, features, sure=True)))
    stores = (
        store(word, (), field(1)),
        store(key, (), found),
        store(at, here, onward),
        store(total, (), Load(at, here), "sum"),
    )
    return stores, (word, key)

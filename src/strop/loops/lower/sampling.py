"""Images read where a grid says. First where each point looks and how much each corner counts, for all channels; then
the corners, channel by channel."""

from __future__ import annotations

from strop.core.passes import Verdict, no, yes
from strop.graph.ir import Node
from strop.loops.index import indirect
from strop.loops.ir import Apply, Buffer, Const, Expr, Load, Nest
from strop.loops.lower import Context, as_index, lowering, store
from strop.loops.lower.contractions import parallel
from strop.loops.lower.pointwise import apply, cast


def _checked(node: Node) -> Verdict:
    if node.dtype not in ("f32", "f64"):
        return no(f"`grid_sample` computes with f32 and f64, not {node.dtype}")
    if not all(node.inputs[0].shape[2:]):
        return no("`grid_sample` of an empty image")
    return yes()


@lowering("grid_sample", check=_checked)
def grid_sample(c: Context) -> list[Nest]:
    batch, channels, height, width = c.node.shape
    n, ch, oh, ow = (parallel(name, e) for name, e in zip(("n", "c", "oh", "ow"), (batch, channels, height, width)))
    axes = [
        _Axis(c, c.read(1, n, oh, ow, which), extent)
        for which, extent in ((1, c.node.inputs[0].shape[2]), (0, c.node.inputs[0].shape[3]))
    ]
    point = tuple(map(as_index, (n, oh, ow)))
    tables: dict[Buffer, Expr] = {}

    def kept(name: str, value: Expr) -> Load:
        table = c.temporary(name, value.dtype, (batch, height, width))
        tables[table] = value
        return Load(table, point)

    places = [
        [indirect(kept(f"{name}{side}", place), axis.extent, sure=True) for side, place in enumerate(axis.places)]
        for name, axis in zip("yx", axes)
    ]
    total: Expr | None = None
    for i, j in ((i, j) for i in range(len(places[0])) for j in range(len(places[1]))):
        weight = kept(f"weight{i}{j}", apply("mul", axes[0].weights[i], axes[1].weights[j]))
        corner = apply("mul", weight, c.read(0, n, ch, places[0][i], places[1][j]))
        if c.node.attrs["padding"] == "zeros":
            # nothing is read out there: not even an infinity at the edge may count
            zero = Const(0.0, c.dtype)
            corner = Apply("where", (apply("eq", weight, zero), zero, corner), c.dtype)
        total = corner if total is None else apply("add", total, corner)
    assert total is not None
    loops = (n, ch, oh, ow)
    where = c.nest((n, oh, ow), *(store(t, (n, oh, ow), value) for t, value in tables.items()), suffix="places")
    return [where, c.nest(loops, store(c.out, loops, total))]


class _Axis:
    """Where points look along one axis, and how much each of these places counts: nothing outside of the image."""

    def __init__(self, c: Context, coordinate: Expr, extent: int) -> None:
        self.c = c
        self.extent = extent
        at = self._unnormalised(coordinate)
        if c.node.attrs["padding"] == "border":
            at = apply("minimum", apply("maximum", at, self._number(0)), self._number(extent - 1))
        sides: list[tuple[Expr, Expr]]
        if c.node.attrs["mode"] == "nearest":
            sides = [(apply("round", at), self._number(1))]
        else:
            low = apply("floor", at)
            rest = apply("sub", at, low)
            sides = [(low, apply("sub", self._number(1), rest)), (apply("add", low, self._number(1)), rest)]
        self.places, self.weights = [], []
        for place, weight in sides:
            above = apply("ge", place, self._number(0))
            inside = apply("and", above, apply("le", place, self._number(extent - 1)))
            safe = Apply("where", (inside, place, self._number(0)), c.dtype)
            self.places.append(cast(safe, "i32"))
            self.weights.append(Apply("where", (inside, weight, self._number(0)), c.dtype))

    def _number(self, value: float) -> Const:
        return Const(float(value), self.c.dtype)

    def _unnormalised(self, coordinate: Expr) -> Expr:
        """From -1 … 1, which are the centres of the outermost pixels or their outer edges."""
        if self.c.node.attrs["align_corners"]:
            half = self._number((self.extent - 1) / 2)
            return apply("add", apply("mul", coordinate, half), half)
        half = self._number(self.extent / 2)
        return apply("add", apply("mul", coordinate, half), self._number((self.extent - 1) / 2))

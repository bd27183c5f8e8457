"""Gradients of short filters by Winograd's algorithm, transposed: what it computes outputs with is differentiated.

    y  = Aᵀ·[(G·w·Gᵀ) ⊙ (Bᵀ·x·B)]·A               # forward: a tile of 2×2 outputs of a 3×3 filter by 16 products
    dw = Gᵀ·[Σ (A·dy·Aᵀ) ⊙ (Bᵀ·x·B)]·G            # the sum is over all tiles: 16 products per tile instead of 36

Either all tiles are transformed first, and blocks of channels are multiplied and transformed back one after the other;
or a strip of tiles at a time is transformed and multiplied while it is in the cache, and sums of all channels are kept
from strip to strip. The former is for many channels and few tiles, the latter for few channels and many tiles.

Another algorithm for `conv_weight_grad`: scheduling chooses it where it pays.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from strop.core.passes import Verdict, no, yes
from strop.core.values import cached_property
from strop.graph.ir import Node
from strop.loops.index import Index, index_of
from strop.loops.ir import Buffer, Expr, Load, Loop, Nest, Store
from strop.loops.lower import Context, as_index, store, zero
from strop.loops.lower.concat_pad import guarded
from strop.loops.lower.contractions import SPACE, accumulate, inside, parallel, reducing, value_of
from strop.loops.lower.pointwise import apply
from strop.loops.lower.winograd import Axis, at, zero_or_nan
from strop.loops.lower.winograd_transforms import Matrix, transformed, transforms

WINDOW = 4  # pixels of a tile's window along each dimension: transforms hold no numbers but 0, ±1 and ±1/2
TAPS = (2, 3)
POINTS = WINDOW**2


def axes_of_gradient(node: Node) -> list[Axis]:
    """The space of the convolution whose filter the gradient is of."""
    x, dy = (one.shape for one in node.inputs)
    return [
        Axis(
            name,
            place=i,
            extent=x[2 + i],
            out=dy[2 + i],
            size=node.shape[2 + i],
            stride=node.attrs["stride"][i],
            dilation=node.attrs["dilation"][i],
            before=node.attrs["padding"][i][0],
            transposed=False,
            tiled=True,
            window=WINDOW,
        )
        for i, name in enumerate(SPACE[len(x) - 2])
    ]


def winograd_gradient_applies(node: Node) -> Verdict:
    """Whether the gradient of a filter can be computed this way, and why not."""
    if node.op != "conv_weight_grad":
        return no("Winograd's algorithm, transposed, computes gradients of filters")
    if len(node.shape) != 4:
        return no(f"it needs 2 dimensions of space, not {len(node.shape) - 2}")
    axes = axes_of_gradient(node)
    if any(axis.stride != 1 or axis.size not in TAPS for axis in axes):
        return no(f"it needs {TAPS[0]} to {TAPS[-1]} taps at stride 1 along both dimensions")
    if node.dtype not in ("f32", "f64"):
        return no(f"it computes with f32 and f64, not {node.dtype}")
    if not all(node.inputs[0].shape):
        return no("a batch without images has nothing to sum")
    return yes()


def winograd_gradient(c: Context, images: int, rows: int, outputs: int, inputs: int) -> list[Nest]:
    """The nests. A strip is `rows` rows of tiles of each of `images` images (a divisor of all rows and of all images);
    where there is one strip, blocks of `outputs` times `inputs` channels are computed one after the other."""
    plan = _WinogradGradient(c, images, rows, outputs, inputs)
    return plan.at_once() if plan.strips == 1 else plan.strip_by_strip()


def tiles_of(node: Node) -> tuple[int, int, int]:
    """Images, rows of tiles and tiles of a row."""
    images = int(node.inputs[0].shape[0])
    over, along = (axis.positions for axis in axes_of_gradient(node))
    return images, over, along


@dataclass(frozen=True)
class _WinogradGradient:
    c: Context
    images: int
    rows: int
    outputs: int
    inputs: int

    @cached_property
    def axes(self) -> list[Axis]:
        return axes_of_gradient(self.c.node)

    @cached_property
    def matrices(self) -> list[tuple[Matrix, Matrix, Matrix]]:
        return [transforms(axis.tile, axis.taps) for axis in self.axes]

    @cached_property
    def steps(self) -> tuple[int, int]:
        """Strips over images and over rows of tiles."""
        images, rows, _ = tiles_of(self.c.node)
        return images // self.images, rows // self.rows

    @property
    def strips(self) -> int:
        return prod(self.steps)

    @cached_property
    def strip(self) -> tuple[int, int, int]:
        return self.images, self.rows, self.axes[1].positions

    @cached_property
    def blocks(self) -> tuple[Loop, Loop]:
        outputs, inputs = self.c.node.shape[:2]
        return parallel("ob", outputs // self.outputs), parallel("ib", inputs // self.inputs)

    def source(self) -> Index:
        """Which block of x's channels meets the blocks of the result that the loops are at."""
        ob, ib = self.blocks
        groups = self.c.node.attrs["groups"]
        group = as_index(ob) // (ob.extent // groups) if groups > 1 else index_of(0)
        return group * ib.extent + as_index(ib)

    # ---- the two orders ----

    def at_once(self) -> list[Nest]:
        c, (ob, ib) = self.c, self.blocks
        v = c.temporary("v", c.dtype, self._shape(0, self.inputs))
        u = c.temporary("u", c.dtype, self._shape(1, self.outputs))
        whole = (index_of(0), index_of(0))
        m = c.scratch("m", c.dtype, (POINTS, self.outputs, self.inputs))
        products = self._products(u, v, m, (), ())
        back = self._back(m, (), ())
        return [
            self._named(self._pixels(v, whole), "x"),
            self._named(self._gradients(u, whole), "dy"),
            c.nest((ob, ib), products, back, scratch=(m,)),
        ]

    def strip_by_strip(self) -> list[Nest]:
        c, blocks = self.c, self.blocks
        m = c.temporary("m", c.dtype, (*(loop.extent for loop in blocks), POINTS, self.outputs, self.inputs))
        loops = tuple(parallel(f"z{i}", extent) for i, extent in enumerate(m.shape))
        start = c.nest(loops, store(m, loops, zero(c.dtype)), suffix="start")
        walk = tuple(Loop(parallel(f"s{i}", extent).var, "sequential") for i, extent in enumerate(self.steps))
        place = as_index(walk[0]) * self.images, as_index(walk[1]) * self.rows
        v = c.scratch("v", c.dtype, self._shape(0, self.inputs))
        u = c.scratch("u", c.dtype, self._shape(1, self.outputs))
        parts = self._pixels(v, place), self._gradients(u, place), self._products(u, v, m, blocks, blocks)
        back = self._back(m, blocks, blocks)
        return [
            start,
            c.nest(walk, *parts, scratch=(v, u), suffix="strips"),
            c.nest(back.loops, *back.body, scratch=back.scratch),
        ]

    def _named(self, nest: Nest, suffix: str) -> Nest:
        return self.c.nest(nest.loops, *nest.body, scratch=nest.scratch, suffix=suffix)

    def _shape(self, which: int, block: int) -> tuple[int, ...]:
        """Transformed tiles of a strip: blocks of channels, points, tiles, channels of a block."""
        return (int(self.c.node.inputs[which].shape[1]) // block, POINTS, *self.strip, block)

    # ---- the parts ----

    def _tile_loops(self, prefix: str, target: Buffer) -> tuple[Loop, Loop, Loop, Loop, Loop]:
        q, r, t = (parallel(f"{prefix}{name}", extent) for name, extent in zip("qrt", self.strip))
        return parallel(f"{prefix}b", target.shape[0]), q, r, t, parallel(f"{prefix}c", target.shape[-1])

    def _pixels(self, target: Buffer, start: tuple[Index, Index]) -> Nest:
        """V = Bᵀ·x·B for each tile and each channel"""
        (_, _, over), (_, _, along) = self.matrices
        return self._transform(0, target, start, over, along, (WINDOW, WINDOW))

    def _gradients(self, target: Buffer, start: tuple[Index, Index]) -> Nest:
        """U = A·dy·Aᵀ for each tile and each channel"""
        (over, _, _), (along, _, _) = self.matrices
        tile = self.axes[0].tile, self.axes[1].tile
        return self._transform(1, target, start, _transposed(over), _transposed(along), tile)

    def _transform(
        self, which: int, target: Buffer, start: tuple[Index, Index], over: Matrix, along: Matrix, size: tuple[int, int]
    ) -> Nest:
        c, (height, width) = self.c, size
        loops = self._tile_loops("xy"[which], target)
        b, q, r, t, channel = loops
        positions = start[1] + as_index(r), as_index(t)
        here = as_index(b) * channel.extent + as_index(channel)
        tile, half = c.scratch("d", c.dtype, size), c.scratch("half", c.dtype, (WINDOW, width))
        body: list[Store] = []
        for j in range(width):
            for i in range(height):
                place = [self._element(which, *each) for each in zip(self.axes, positions, (i, j))]
                edges = inside(*zip(place, c.node.inputs[which].shape[2:]))
                value = guarded(c.read(which, start[0] + as_index(q), here, *place), edges, 0)
                body.append(store(tile, (i, j), value))
            mixed = transformed(over, [at(tile, i, j) for i in range(height)])
            body += [store(half, (i, j), value) for i, value in enumerate(mixed)]
        for i in range(WINDOW):
            mixed = transformed(along, [at(half, i, j) for j in range(width)])
            body += [store(target, (b, i * WINDOW + j, q, r, t, channel), value) for j, value in enumerate(mixed)]
        return Nest(loops, tuple(body), (tile, half))

    @staticmethod
    def _element(which: int, axis: Axis, position: Index, step: int) -> Index:
        """A pixel of a tile's window, or one of its outputs."""
        return (axis.output if which else axis.pixel)(position, step, index_of(0))

    def _products(self, u: Buffer, v: Buffer, m: Buffer, around: tuple[Loop, ...], block: tuple[Loop, ...]) -> Nest:
        """M[xi] = U[xi]ᵀ·V[xi], added to what is there where strips follow each other"""
        c = self.c
        xi, o, i = parallel("xi", POINTS), parallel("o", self.outputs), parallel("i", self.inputs)
        tiles = tuple(reducing(f"k{name}", extent) for name, extent in zip("qrt", self.strip))
        acc = c.scratch("acc", c.dtype)
        left = tuple(as_index(one) for one in (self.blocks[0], xi, *tiles, o))
        right = (self.source(), *(as_index(one) for one in (xi, *tiles, i)))
        summed = accumulate(acc, tiles, Load(u, left), Load(v, right))
        index = tuple(as_index(one) for one in (*block, xi, o, i))
        total: Expr = apply("add", Load(m, index), value_of(acc)) if around else value_of(acc)
        return Nest((*around, xi, o, i), (*summed, store(m, index, total)), (acc,))

    def _back(self, m: Buffer, around: tuple[Loop, ...], block: tuple[Loop, ...]) -> Nest:
        """dw = Gᵀ·M·G for each pair of channels"""
        c, (ob, ib) = self.c, self.blocks
        (_, over, _), (_, along, _) = self.matrices
        height, width = (axis.taps for axis in self.axes)
        oj, ij = parallel("oj", self.outputs), parallel("ij", self.inputs)
        half, tile = c.scratch("gm", c.dtype, (height, WINDOW)), c.scratch("w", c.dtype, (height, width))
        body: list[Store | Nest] = []
        for j in range(WINDOW):
            column = [
                Load(m, (*map(as_index, block), index_of(i * WINDOW + j), as_index(oj), as_index(ij)))
                for i in range(WINDOW)
            ]
            body += [store(half, (i, j), value) for i, value in enumerate(transformed(_transposed(over), column))]
        for i in range(height):
            mixed = transformed(_transposed(along), [at(half, i, k) for k in range(WINDOW)])
            body += [store(tile, (i, j), value) for j, value in enumerate(mixed)]
        sound = c.scratch("sound", c.dtype)
        taps = [at(tile, i, j) for i in range(height) for j in range(width)]
        body.append(store(sound, (), apply("watch", zero_or_nan(taps))))
        kh, kw = parallel("kh", height), parallel("kw", width)
        oc = as_index(ob) * self.outputs + as_index(oj)
        ic = as_index(ib) * self.inputs + as_index(ij)
        body.append(Nest((kh, kw), (store(c.out, (oc, ic, kh, kw), Load(tile, (as_index(kh), as_index(kw)))),)))
        return Nest((*around, oj, ij), tuple(body), (half, tile, sound))


def _transposed(matrix: Matrix) -> Matrix:
    return list(zip(*matrix))

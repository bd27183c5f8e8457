"""Optimizer updates as loop nests over a flat piece of a parameter, its gradient and its state.

What changes from step to step (learning rate, betas, bias corrections, the factor of clipping) is read from a small
buffer of scalars, so that nothing is compiled again. What decides the formula (a kind of weight decay, momentum) is
part of the kernel. Statements of an iteration run in order: a read after a store sees the new value.
"""

from __future__ import annotations

from typing import Literal

from strop.kernels.nests import add, kernel, mul, number, sub
from strop.loops.index import Var
from strop.loops.ir import Buffer, Const, Expr, Load, Loop, Nest, Store
from strop.loops.lower import store
from strop.loops.lower.pointwise import apply, cast
from strop.loops.lower.reductions import at, fold
from strop.loops.lowered import Lowered

Decay = Literal["none", "l2", "decoupled"]

#: hyperparameters of a group of Adam's, as `adam_scalars` reads them (float64)
LR, BETA1, BETA2, EPS, WEIGHT_DECAY, FACTOR = range(6)
HYPERPARAMETERS = 6
#: scalars of Adam's update (float32): the gradient's factor, L2 decay, the share of a parameter that decoupled decay
#: takes, weights of the old value and of the gradient in both averages, step size, 1/√(bias correction 2), eps
A_FACTOR, A_DECAY, A_SHARE, A_OLD_FIRST, A_FIRST, A_OLD_SECOND, A_SECOND, A_STEP, A_ROOT, A_EPS = range(10)
ADAM_SCALARS = 10
#: scalars of SGD's update (float32): the gradient's factor, L2 decay, weights of the old momentum buffer and of the
#: gradient in the new one, Nesterov's momentum, learning rate
S_FACTOR, S_DECAY, S_OLD, S_NEW, S_NESTEROV, S_LR = range(6)
SGD_SCALARS = 6


class _Piece:
    """A nest over `size` elements. Slots of the program: the scalars, the gradient, then what else is updated."""

    def __init__(self, size: int, scalars: int, scaled: bool, zeroed: bool) -> None:
        self.loop = Loop(Var("i", size))
        self.size, self.scaled, self.zeroed = size, scaled, zeroed
        self.scalars = Buffer("scalars", "f32", (scalars,), "input")
        self.gradient = Buffer("gradient", "f32", (size,), "output" if zeroed else "input")
        self.updated: list[Buffer] = []
        self.body: list[Store] = []

    def tensor(self, name: str) -> Buffer:
        self.updated.append(Buffer(name, "f32", (self.size,), "output"))
        return self.updated[-1]

    def scalar(self, which: int) -> Load:
        return at(self.scalars, which)

    def __getitem__(self, buffer: Buffer) -> Load:
        return at(buffer, self.loop)

    def __setitem__(self, buffer: Buffer, value: Expr) -> None:
        self.body.append(store(buffer, (self.loop,), value))

    def gradient_value(self, factor: int, decay: int | None, parameter: Buffer) -> Expr:
        """The gradient times its factor (clipping, maximization), plus L2 decay."""
        g: Expr = self[self.gradient]
        if self.scaled:
            g = mul(g, self.scalar(factor))
        return g if decay is None else add(mul(self[parameter], self.scalar(decay)), g)

    def lowered(self, name: str) -> Lowered:
        if self.zeroed:
            self[self.gradient] = number(0.0)
        nest = Nest((self.loop,), tuple(self.body), (), name, note=name)
        inputs, outputs = [self.scalars], self.updated
        if self.zeroed:
            outputs = [self.gradient, *outputs]
        else:
            inputs.append(self.gradient)
        return Lowered((nest,), tuple(inputs), (), tuple(outputs), {})


@kernel
def adam_update(size: int, decay: Decay, short: bool, scaled: bool, zeroed: bool) -> Lowered:
    """m += (g − m)·(1 − β₁); v = β₂·v + (1 − β₂)·g²; p −= share·p + step·m/(√v·root + eps).

    With a `short` memory (β₁ ≤ ½), m = g − (g − m)·β₁, so that a large m leaves no rounding errors behind. The share is
    taken off: 1 − share, rounded, would be wrong by the same amount in every step.
    """
    piece = _Piece(size, ADAM_SCALARS, scaled, zeroed)
    p, m, v = piece.tensor("parameter"), piece.tensor("exp_avg"), piece.tensor("exp_avg_sq")
    g = piece.gradient_value(A_FACTOR, A_DECAY if decay == "l2" else None, p)
    change = sub(g, piece[m])
    if short:
        piece[m] = sub(g, mul(change, piece.scalar(A_OLD_FIRST)))
    else:
        piece[m] = add(piece[m], mul(change, piece.scalar(A_FIRST)))
    piece[v] = add(mul(piece[v], piece.scalar(A_OLD_SECOND)), mul(piece.scalar(A_SECOND), g, g))
    divisor = add(mul(apply("sqrt", piece[v]), piece.scalar(A_ROOT)), piece.scalar(A_EPS))
    taken = apply("div", mul(piece.scalar(A_STEP), piece[m]), divisor)
    piece[p] = sub(piece[p], add(mul(piece[p], piece.scalar(A_SHARE)), taken) if decay == "decoupled" else taken)
    return piece.lowered("adam_update")


@kernel
def sgd_update(size: int, decayed: bool, momentum: bool, nesterov: bool, scaled: bool, zeroed: bool) -> Lowered:
    """b = old·b + new·g; p −= lr·b, or with Nesterov's momentum p −= lr·(g + momentum·b)."""
    piece = _Piece(size, SGD_SCALARS, scaled, zeroed)
    p = piece.tensor("parameter")
    g = piece.gradient_value(S_FACTOR, S_DECAY if decayed else None, p)
    direction = g
    if momentum:
        b = piece.tensor("momentum_buffer")
        piece[b] = add(mul(piece[b], piece.scalar(S_OLD)), mul(g, piece.scalar(S_NEW)))
        direction = add(mul(piece[b], piece.scalar(S_NESTEROV)), g) if nesterov else piece[b]
    piece[p] = sub(piece[p], mul(direction, piece.scalar(S_LR)))
    return piece.lowered("sgd_update")


@kernel
def adam_scalars() -> Lowered:
    """Counts a parameter's step, and computes the scalars of its update in float64."""
    given = Buffer("hyperparameters", "f64", (HYPERPARAMETERS,), "input")
    step = Buffer("step", "f32", (1,), "output")
    made = Buffer("scalars", "f32", (ADAM_SCALARS,), "output")
    one = Const(1.0, "f64")
    lr, beta1, beta2 = at(given, LR), at(given, BETA1), at(given, BETA2)
    count = cast(at(step, 0), "f64")
    root = apply("sqrt", sub(one, apply("pow", beta2, count)))
    values: dict[int, Expr] = {
        A_FACTOR: at(given, FACTOR),
        A_DECAY: at(given, WEIGHT_DECAY),
        A_SHARE: mul(lr, at(given, WEIGHT_DECAY)),
        A_OLD_FIRST: beta1,
        A_FIRST: sub(one, beta1),
        A_OLD_SECOND: beta2,
        A_SECOND: sub(one, beta2),
        A_STEP: apply("div", lr, sub(one, apply("pow", beta1, count))),
        A_ROOT: apply("div", one, root),
        A_EPS: at(given, EPS),
    }
    body = [store(step, (0,), add(at(step, 0), number(1.0)))]
    body += [store(made, (which,), cast(value, "f32")) for which, value in values.items()]
    return Lowered((Nest((), tuple(body), (), "adam_scalars"),), (given,), (), (step, made), {})


@kernel
def square_sum(size: int) -> Lowered:
    """total += Σ g², in float64: squares of float32 numbers do not overflow there."""
    gradient = Buffer("gradient", "f32", (size,), "input")
    total, acc = Buffer("total", "f64", (1,), "output"), Buffer("acc", "f64", (), "scratch")
    row, along = Loop(Var("row", 1)), Loop(Var("i", size), "reduce")
    g = cast(at(gradient, along), "f64")
    body = (*fold(acc, (along,), mul(g, g), "sum"), store(total, (row,), at(acc), "sum"))
    return Lowered((Nest((row,), body, (acc,), "square_sum"),), (gradient,), (), (total,), {})

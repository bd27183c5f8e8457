"""Attention in a recording, softmax(s·QKᵀ + B)·V, and the projections that it reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from oracle_flow import LINEARS, PRODUCTS, VIEWS, Flow, kind
from oracle_found import Found, found_at
from oracle_record import Op

_SCALING = frozenset(("mul", "div", "add", "sub", "masked_fill", "where", "max", "clamp", "nan_to_num"))


@dataclass(frozen=True)
class Ends:
    """What an attention reads."""

    query: int
    key: int
    value: int


def attentions_in(flow: Flow) -> Iterator[tuple[Found | None, Ends]]:
    for op in flow.recording.ops:
        if kind(op) != "softmax" or not flow.floating(op.writes[0]):
            continue
        first = _scores(flow, op)
        second = _mixing(flow, op)
        if first is None or second is None:
            continue
        score, between, problem = first
        mix, after, lost = second
        operands = _operands(flow, score), _operands(flow, mix)
        if operands[0] is None or operands[1] is None:
            continue
        value = next((n for n in operands[1] if op.writes[0] not in flow.roots(n, VIEWS | {"mul"})), operands[1][-1])
        if any(flow.constant(flow.through(n)) for n in operands[0]):
            continue  # scores against a table of weights are a router or a codebook
        problem = problem or lost or ("" if flow.axis(op) == -1 else "axis")
        variant = f"near:{problem}" if problem else "sdpa"
        found = found_at("attention", variant, [op, score, *between, *after, mix])
        yield found, Ends(operands[0][0], operands[0][1], value)


def _scores(flow: Flow, softmax: Op) -> tuple[Op, list[Op], str] | None:
    """The product of queries and keys, what lies between it and the softmax, and why that is not plain attention."""
    number = softmax.reads[0]
    waiting: list[tuple[int, tuple[Op, ...], str]] = [(number, (), "")]
    seen = set()
    best: tuple[Op, list[Op], str] | None = None
    while waiting:
        current, path, problem = waiting.pop(0)
        op = flow.producer.get(current)
        if op is None or current in seen or len(path) > 14:
            continue
        seen.add(current)
        name = kind(op)
        if name in PRODUCTS:
            operands = _operands(flow, op)
            if operands is None or any(flow.constant(flow.through(n)) for n in operands):
                continue
            found = (op, list(path), problem)
            if best is None or (best[2] and not problem):
                best = found
            continue
        if name in LINEARS or name in ("embedding", "softmax", "layer_norm") or name.startswith("conv"):
            continue
        worse = problem
        if name in ("mul", "div"):
            if len(op.reads) > 1 and not any(map(flow.scalar, op.reads)):
                worse = problem or f"{name} by a tensor"
        elif (name not in VIEWS and name not in _SCALING) or name in ("cat",):
            worse = problem or name
        waiting.extend((read, (*path, op), worse) for read in op.reads)
    return best


def _mixing(flow: Flow, softmax: Op) -> tuple[Op, list[Op], str] | None:
    """The product of the weights with the values."""
    waiting: list[tuple[int, tuple[Op, ...], str]] = [(n, (), "") for n in softmax.writes]
    seen = set()
    best: tuple[Op, list[Op], str] | None = None
    while waiting:
        current, path, problem = waiting.pop(0)
        if current in seen or len(path) > 6:
            continue
        seen.add(current)
        for op in flow.consumers(current):
            name = kind(op)
            if name in PRODUCTS:
                found = (op, list(path), problem)
                if best is None or (best[2] and not problem):
                    best = found
            elif name in VIEWS:
                cut = name in ("getitem", "chunk", "split", "narrow", "pad", "gather", "roll", "flip") and (
                    flow.values[op.writes[0]].numel() != flow.values[current].numel()
                )
                waiting.extend((n, (*path, op), problem or (name if cut else "")) for n in op.writes)
            elif name in ("mul", "div", "masked_fill", "nan_to_num", "where", "add", "sub"):
                waiting.extend((n, (*path, op), problem or name) for n in op.writes)
    return best


def _operands(flow: Flow, product: Op) -> tuple[int, int] | None:
    reads = product.reads[1:] if kind(product) == "baddbmm" else product.reads
    return (reads[0], reads[1]) if len(reads) == 2 else None


def shared_projections(flow: Flow, attentions: list[Ends]) -> Iterator[Found]:
    """Three or more projections of the very same tensor that an attention reads."""
    groups: dict[tuple[int, int], list[Op]] = {}
    wrapped: dict[tuple[int, int, str], list[Op]] = {}
    for op in flow.recording.ops:
        if kind(op) == "linear" and op.frames and (source := flow.number_of(op, 0)) is not None:
            groups.setdefault((source, op.frames[0].call), []).append(op)
    for (source, _), group in groups.items():
        if len(group) == 1 and len(group[0].frames) > 1:  # a module of its own around each projection
            inner, outer = group[0].frames[:2]
            wrapped.setdefault((source, outer.call, inner.function), []).append(group[0])
    read = [[{op.index for op in ops} for ops in _projected_ends(flow, ends)] for ends in attentions]
    for group in (*groups.values(), *wrapped.values()):
        if len({flow.number_of(op, 1) for op in group}) < 3:
            continue
        here = {op.index for op in group}
        used = any(all(each & here for each in three) and len(set().union(*three) & here) >= 3 for three in read)
        found = found_at("qkv", "three" if used else "near:elsewhere", group)
        if found is not None:
            yield found


def _projected_ends(flow: Flow, ends: Ends) -> list[list[Op]]:
    """The projections that queries, keys and values come from."""

    def projections(number: int) -> list[Op]:
        return flow.back_to(number, lambda op: kind(op) in LINEARS | PRODUCTS or kind(op).startswith("conv"))

    return [projections(number) for number in (ends.query, ends.key, ends.value)]


def crossed_projections(flow: Flow, ends: Ends) -> Iterator[Found]:
    """Keys and values of another tensor than the queries, where some other run may have had them all of one."""
    three = _projected_ends(flow, ends)
    if any(len(ops) != 1 or kind(ops[0]) != "linear" for ops in three):
        return
    query, key, value = (ops[0] for ops in three)
    sources = [flow.number_of(op, 0) for op in (query, key, value)]
    if key.index != value.index and sources[1] == sources[2] != sources[0]:
        found = found_at("qkv", "near:kv", [key, value])
        if found is not None:
            yield found

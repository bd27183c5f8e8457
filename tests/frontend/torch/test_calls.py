"""What a call takes, returns and writes: trees, plain values, mutations, constants, provenance."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor, nn

from frontend.torch.compare import check_module
from strop.frontend.torch.export import capture
from strop.frontend.torch.normalize import GraphOutput, PlainOutput
from strop.runtime.reference import evaluate


class Tree(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3))

    def forward(self, pair: tuple[Tensor, Tensor], scale: float, *, mode: str, extra: Tensor) -> dict[str, Any]:
        a, b = pair
        return {
            "sum": [a + b * scale, extra], "none": None, "number": 3, "text": mode, "input": a, "param": self.weight,
            "same": a, "view": b.view(-1),
        }  # fmt: skip


def test_nested_arguments_and_results() -> None:
    args, kwargs = ((torch.randn(2, 3), torch.randn(2, 3)), 0.5), {"mode": "x", "extra": torch.randn(4)}
    captured = check_module(Tree(), args, kwargs)
    assert captured.inputs == (0, 1, 4)
    assert captured.guards == {2: 0.5, 3: "x"}
    assert [s.value for s in captured.outputs if isinstance(s, PlainOutput)] == [None, 3, "x"]
    assert sum(isinstance(s, GraphOutput) for s in captured.outputs) == 6


def test_keyword_order_does_not_matter() -> None:
    class Subtract(nn.Module):
        def forward(self, *, a: Tensor, b: Tensor) -> Tensor:
            return a - b

    check_module(Subtract(), (), {"b": torch.randn(2), "a": torch.randn(2)})


class Counter(nn.Module):
    seen: Tensor
    history: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))
        self.register_buffer("history", torch.zeros(4, 3))

    def forward(self, x: Tensor) -> Tensor:
        self.seen += x
        self.seen.mul_(2)
        return x + self.seen


def test_writes_to_buffers_are_mutations() -> None:
    module, x = Counter(), torch.randn(3)
    captured = capture(module, (x,))
    outputs, written = evaluate(captured.graph, [x], captured.fetch(module))
    assert [target.attrs["key"] for target, _ in captured.graph.mutations] == ["seen"]
    wanted = module(x)
    assert torch.equal(outputs[0], wanted) and torch.equal(written[0], module.seen)


def test_writes_through_views_are_mutations() -> None:
    class Log(Counter):
        def forward(self, x: Tensor) -> Tensor:
            self.history[1] = x
            self.history[2:].add_(1)
            return self.history.sum()

    module, x = Log(), torch.randn(3)
    captured = capture(module, (x,))
    outputs, written = evaluate(captured.graph, [x], captured.fetch(module))
    wanted = module(x)
    assert torch.equal(outputs[0], wanted) and torch.equal(written[0], module.history)


def test_writes_to_arguments_are_mutations() -> None:
    class Grow(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            x.add_(1)
            return x * 2

    x = torch.randn(3)
    captured = capture(Grow(), (x.clone(),))
    outputs, written = evaluate(captured.graph, [x])
    assert [target.attrs["index"] for target, _ in captured.graph.mutations] == [0]
    assert torch.equal(written[0], x + 1) and torch.equal(outputs[0], (x + 1) * 2)


def test_a_value_read_before_a_write_in_place_keeps_its_old_self() -> None:
    class Both(nn.Module):
        def forward(self, x: Tensor) -> tuple[Tensor, ...]:
            y = x * 2
            before = y + 1
            y.relu_()
            view = y[1:]
            return before, y, view

    check_module(Both(), (torch.randn(4),))


def test_a_view_taken_before_a_write_in_place_shows_it() -> None:
    class Seen(nn.Module):
        def forward(self, x: Tensor) -> tuple[Tensor, ...]:
            y = x * 2
            view = y[1:]
            same = nn.functional.dropout(y, training=False)
            y.relu_()
            return view + 1, same + 1

    check_module(Seen(), (torch.randn(4),))


def test_small_constants_are_in_the_graph_and_large_ones_are_params() -> None:
    class Fixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.plain = torch.randn(5000)

        def forward(self, x: Tensor) -> Tensor:
            return x * torch.tensor([1.0, 2.0]).sum() + self.plain[0] + torch.tensor(4.0)

    module = Fixed()
    captured = check_module(module, (torch.randn(3),))
    assert [n.attrs["values"] for n in captured.graph.nodes if n.op == "constant"] == [(1.0, 2.0)]
    assert [tuple(t.shape) for t in captured.constants.values()] == [(5000,)]
    assert captured.lifted[0] is module.plain


def test_the_graph_is_the_same_for_other_values() -> None:
    keys = {capture(nn.Linear(3, 4), (torch.randn(2, 3),)).graph.key for _ in range(2)}
    assert len(keys) == 1


def test_every_node_knows_the_users_line_and_module() -> None:
    class Inner(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.exp()

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList([Inner(), Inner()])

        def forward(self, x: Tensor) -> Tensor:
            for block in self.blocks:
                x = block(x)
            return nn.functional.softplus(x)

    graph = capture(Outer(), (torch.randn(3),)).graph
    line = inspect.getsourcelines(Inner.forward)[1] + 1
    exps = [node for node in graph.nodes if node.op == "exp"]
    assert [node.name for node in exps] == ["blocks.0.exp", "blocks.1.exp"]
    assert {(node.origin.file, node.origin.line) for node in exps} == {(__file__, line)}
    (last,) = graph.outputs
    assert last.origin.line == inspect.getsourcelines(Outer.forward)[1] + 3


def test_names_are_unique() -> None:
    graph = capture(nn.Sequential(nn.LayerNorm(3), nn.Softmax(-1), nn.Mish()), (torch.randn(2, 3),)).graph
    names = [node.name for node in graph.nodes]
    assert len(names) == len(set(names))


def test_regions_without_gradients_are_part_of_the_graph() -> None:
    class Region(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            with torch.no_grad():
                y = x.exp()
            with torch.autocast("cpu", enabled=False):
                y = y.sin()
            return y + x

    check_module(Region(), (torch.randn(3),))

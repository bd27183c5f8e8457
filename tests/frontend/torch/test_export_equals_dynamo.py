"""torch.export and AOTAutograd speak different dialects; after the normaliser the graphs are the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func

from frontend.torch.compare import assert_same
from strop.frontend.torch.export import capture
from strop.frontend.torch.keep_composites import keeping_composites
from strop.frontend.torch.normalize import Conversion, from_fx
from strop.graph.ir import Graph, Node
from strop.runtime.reference import evaluate


class Images(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True))
        self.depthwise = nn.Conv2d(8, 8, 3, groups=8)
        self.head = nn.Linear(8, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = F.interpolate(F.max_pool2d(self.stem(x), 2), scale_factor=2)
        x = F.adaptive_avg_pool2d(F.hardswish(self.depthwise(x)), 1)
        return self.head(x.flatten(1)).softmax(-1)


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.rms = nn.LayerNorm(16), nn.RMSNorm(16)
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 1)

    def forward(self, x: Tensor, mask: Tensor) -> Any:
        q, k, v = self.qkv(self.norm(x)).view(2, 5, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.out(attended.transpose(1, 2).reshape(2, 5, 16))
        by_hand = torch.softmax(q @ k.transpose(-1, -2) * 0.3, -1) @ v
        return self.down(F.silu(self.up(self.rms(x)))), by_hand, torch.einsum("bhid,bhjd->bhij", q, k)


class Sequence(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 6, num_layers=2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.lstm(x)[0][:, -1]


def _mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Dropout(), nn.Linear(8, 3), nn.LayerNorm(3))


PROGRAMS: dict[str, Callable[[], tuple[nn.Module, tuple[Tensor, ...]]]] = {
    "cnn": lambda: (Images(), (torch.randn(2, 3, 8, 8),)),
    "mlp": lambda: (_mlp(), (torch.randn(2, 5, 4),)),
    "transformer layer": lambda: (Layer(), (torch.randn(2, 5, 16), torch.ones(5, 5, dtype=torch.bool).tril())),
    "lstm": lambda: (Sequence(), (torch.randn(2, 3, 4),)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_doors_lead_to_one_graph(name: str) -> None:
    module, args = PROGRAMS[name]()
    module.eval()
    (conversion, _) = through_dynamo(module, args)
    assert structure(conversion.graph) == structure(capture(module, args).graph)
    assert not conversion.fallbacks


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_the_fused_encoder_layer_equals_eager(norm_first: bool, padded: bool) -> None:
    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, norm_first=norm_first)

        def forward(self, x: Tensor, padding: Tensor) -> Any:
            return self.layer(x, src_key_padding_mask=padding if padded else None)

    module = Encoder().eval()
    padding = torch.zeros(2, 5, dtype=torch.bool)
    padding[0, 3:] = True
    args = (torch.randn(2, 5, 16), padding)
    conversion, tensors = through_dynamo(module, args)
    assert not conversion.fallbacks
    with torch.no_grad():
        assert_same(evaluate(conversion.graph, tensors)[0], module(*args))


def test_dynamos_paths_are_the_modules_own() -> None:
    conversion, _ = through_dynamo(
        nn.Sequential(nn.Sequential(nn.Linear(3, 3), nn.ReLU())).eval(), (torch.randn(2, 3),)
    )
    assert [n.name for n in conversion.graph.nodes if n.op not in ("input", "param")] == ["0.0.linear", "0.1.relu"]


def test_symbolic_sizes_are_bound_by_examples() -> None:
    seen: list[Any] = []

    def compiler(module: torch.fx.GraphModule, examples: Any) -> Any:
        seen.append(module)
        return make_boxed_func(module.forward)

    torch._dynamo.reset()
    compiled = torch.compile(_Flat(), backend=aot_autograd(fw_compiler=compiler), dynamic=True)
    with torch.no_grad():
        compiled(torch.randn(4, 6))
    module = seen[0]
    for rows in (3, 5):
        x = torch.randn(rows, 6)
        values = iter([rows, 6, rows, 6])
        placeholders = [n for n in module.graph.nodes if n.op == "placeholder"]
        examples = [x if isinstance(p.meta["val"], Tensor) else next(values) for p in placeholders]
        conversion = from_fx(module, examples)
        assert_same(evaluate(conversion.graph, [x])[0], (_Flat()(x),))


class _Flat(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[0] * 2, -1).softmax(-1) * x.shape[0]


def through_dynamo(module: nn.Module, args: tuple[Tensor, ...]) -> tuple[Conversion, list[Tensor]]:
    """What the Dynamo door makes of a module, and the tensors that it passes to the graph."""
    found: list[Conversion] = []
    given: list[list[Tensor]] = []

    def compiler(graph: torch.fx.GraphModule, examples: Any) -> Any:
        found.append(from_fx(graph))

        def call(*tensors: Tensor) -> Any:
            given.append(list(tensors))
            return graph(*tensors)

        return make_boxed_func(call)

    torch._dynamo.reset()
    backend = aot_autograd(fw_compiler=compiler)
    with torch.no_grad(), keeping_composites(), torch._dynamo.config.patch(allow_rnn=True):
        torch.compile(module, backend=backend, fullgraph=True)(*args)
    return found[0], given[0]


def structure(graph: Graph) -> list[str]:
    """The graph from its outputs, without names and without the order in which a door lists its arguments."""
    number: dict[Node, int] = {}
    lines = []
    for node in Graph((), (), graph.outputs, graph.mutations).nodes:
        number[node] = len(number)
        leaf = node.op in ("input", "param")
        attrs = {} if leaf else dict(sorted(node.attrs.items()))
        inputs = [number[i] for i in node.inputs]
        lines.append(f"{number[node]} {'leaf' if leaf else node.op} {inputs} {attrs} {[str(t) for t in node.types]}")
    return lines

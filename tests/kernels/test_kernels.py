"""Strop's kernels beside their formulas: values, gradients, what they leave to PyTorch."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from strop import kernels
from strop.kernels import autograd, formulas
from strop.kernels import native as programs

CASES = {
    "rms_norm": (lambda x, w: kernels.rms_norm(x, w, 1e-6), lambda x, w: formulas.rms_norm(x, w, 1e-6, 0.0), "mv"),
    "rms_norm_offset": (
        lambda x, w: kernels.rms_norm(x, w, 1e-5, offset=1.0),
        lambda x, w: formulas.rms_norm(x, w, 1e-5, 1.0),
        "mv",
    ),
    "rms_norm_plain": (lambda x: kernels.rms_norm(x, None, 1e-6), lambda x: formulas.rms_norm(x, None, 1e-6, 0.0), "m"),
    "swiglu": (kernels.swiglu, lambda a, b: F.silu(a) * b, "mm"),
    "geglu": (kernels.geglu, lambda a, b: F.gelu(a) * b, "mm"),
    "geglu_tanh": (
        lambda a, b: kernels.geglu(a, b, "tanh"),
        lambda a, b: F.gelu(a, approximate="tanh") * b,
        "mm",
    ),
    "gelu_tanh": (lambda x: kernels.gelu(x, "tanh"), lambda x: F.gelu(x, approximate="tanh"), "m"),
    "quick_gelu": (kernels.quick_gelu, lambda x: x * torch.sigmoid(1.702 * x), "m"),
}


@pytest.fixture(autouse=True)
def at_every_size(monkeypatch):
    monkeypatch.setattr(autograd, "SMALLEST", dict.fromkeys(autograd.SMALLEST, 1))


def inputs(kinds, shape, dtype=torch.float32):
    torch.manual_seed(3)
    sizes = {"m": shape, "v": shape[-1:]}
    return [torch.randn(sizes[kind], dtype=dtype, requires_grad=True) for kind in kinds]


def results(function, given):
    for tensor in given:
        tensor.grad = None
    out = function(*given)
    out.backward(torch.linspace(-1, 2, out.numel(), dtype=out.dtype).view(out.shape))
    return [out.detach(), *(tensor.grad for tensor in given)]


@pytest.mark.parametrize("shape", [(37, 129), (2, 5, 96)], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_equals_the_formula(name, shape):
    kernel, formula, kinds = CASES[name]
    given = inputs(kinds, shape)
    for one, two in zip(results(kernel, given), results(formula, given)):
        torch.testing.assert_close(one, two, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", ["rms_norm", "swiglu", "gelu_tanh", "quick_gelu"])
def test_native_code_runs(name, monkeypatch):
    kernel, _, kinds = CASES[name]
    ran = []
    make = programs.program
    monkeypatch.setattr(autograd, "program", lambda *key: ran.append(key[0]) or make(*key))
    results(kernel, inputs(kinds, (8, 64)))
    assert len(ran) == 2 and ran[1].endswith("_backward")


@pytest.mark.parametrize("name", CASES)
def test_other_types_and_strides_are_left_to_pytorch(name):
    kernel, formula, kinds = CASES[name]
    wide = inputs(kinds, (6, 64), torch.float64)
    assert torch.equal(kernel(*wide), formula(*wide))
    strided = [t.detach().t().contiguous().t() if t.dim() == 2 else t for t in inputs(kinds, (6, 64))]
    torch.testing.assert_close(kernel(*strided), formula(*strided))
    half = [t.detach().bfloat16() for t in inputs(kinds, (6, 64))]
    assert kernel(*half).dtype is torch.bfloat16


@pytest.mark.parametrize("name", ["rms_norm", "swiglu", "gelu_tanh"])
def test_gradients_of_gradients(name):
    kernel, formula, kinds = CASES[name]

    def second(function):
        given = inputs(kinds, (5, 64))
        (first,) = torch.autograd.grad(function(*given).square().sum(), given[0], create_graph=True)
        return torch.autograd.grad(first.square().sum(), given[0])[0]

    torch.testing.assert_close(second(kernel), second(formula), rtol=1e-4, atol=1e-4)


def test_special_values_pass_as_in_the_formula():
    x = torch.randn(8, 64)
    x[0, 0], x[1, 1], x[2, 2] = math.nan, math.inf, -math.inf
    for name in ("swiglu", "gelu_tanh", "quick_gelu"):
        kernel, formula, kinds = CASES[name]
        given = [x] * len(kinds)
        torch.testing.assert_close(kernel(*given), formula(*given), equal_nan=True, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("swapped", [False, True])
def test_rotary_in_both_layouts(swapped):
    torch.manual_seed(0)
    x = torch.randn(2, 5, 3, 16) if swapped else torch.randn(2, 3, 5, 16)
    x = x.requires_grad_()
    cos, sin = torch.randn(1, 1, 5, 16), torch.randn(1, 1, 5, 16)

    def run(function):
        return lambda t: function(t.transpose(1, 2) if swapped else t, cos, sin).contiguous()

    for one, two in zip(results(run(kernels.rotary), [x]), results(run(formulas.rotary), [x])):
        torch.testing.assert_close(one, two)


def test_more_shapes_than_are_compiled_run_in_pytorch(monkeypatch):
    monkeypatch.setattr(programs, "MAX_SHAPES", 0)
    monkeypatch.setattr(programs, "_programs", {})
    for name in ("rms_norm", "swiglu"):
        kernel, formula, kinds = CASES[name]
        given = inputs(kinds, (7, 64))
        for one, two in zip(results(kernel, given), results(formula, given)):
            torch.testing.assert_close(one, two, rtol=2e-5, atol=2e-5)


def test_attention_with_dropout_draws_the_same_numbers():
    torch.manual_seed(0)
    given = [torch.randn(2, 3, 9, 8, requires_grad=True) for _ in range(3)]
    mask = torch.randn(2, 1, 1, 9)

    def written(q, k, v):
        weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(8) + mask, dim=-1)
        return F.dropout(weights, 0.3) @ v

    both = []
    for function in (written, lambda q, k, v: kernels.attention(q, k, v, mask, dropout_p=0.3)):
        torch.manual_seed(11)
        both.append([*results(function, given), torch.rand(3)])
    for one, two in zip(*both):
        torch.testing.assert_close(one, two)


def test_attention_gives_a_gradient_to_its_mask():
    q, k, v = (torch.randn(2, 3, 5, 8) for _ in range(3))
    found = []
    for function in (
        lambda m: kernels.attention(q, k, v, m, dropout_p=0.2),
        lambda m: F.dropout(torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(8) + m, -1), 0.2) @ v,
    ):
        bias = torch.zeros(1, 3, 5, 5, requires_grad=True)
        torch.manual_seed(1)
        function(bias).square().sum().backward()
        found.append(bias.grad)
    torch.testing.assert_close(*found)


@pytest.mark.parametrize(
    "activation",
    [nn.SiLU(), nn.GELU(), nn.GELU("tanh"), F.silu, nn.ReLU(), torch.tanh],
    ids=lambda a: getattr(a, "__name__", str(a)),
)
def test_gated_takes_any_activation(activation):
    gate, up = inputs("mm", (6, 64))
    torch.testing.assert_close(kernels.gated(activation, gate, up), activation(gate) * up, rtol=2e-5, atol=2e-5)


def test_gated_does_not_go_past_hooks():
    activation, seen = nn.SiLU(), []
    activation.register_forward_hook(lambda *told: seen.append(told))
    kernels.gated(activation, *inputs("mm", (6, 64)))
    assert seen


def test_operators_are_registered_with_shapes_and_gradients():
    x, w = inputs("mv", (6, 64))
    checks = ("test_schema", "test_faketensor")
    torch.library.opcheck(torch.ops.strop.rms_norm.default, (x, w, 1e-6, 0.0), test_utils=checks)
    torch.library.opcheck(torch.ops.strop.gate.default, (x, x, "silu"), test_utils=checks)
    operator = results(lambda a, b: torch.ops.strop.rms_norm(a, b, 1e-6, 0.0), [x, w])
    for one, two in zip(operator, results(lambda a, b: formulas.rms_norm(a, b, 1e-6, 0.0), [x, w])):
        torch.testing.assert_close(one, two, rtol=2e-5, atol=2e-5)


def test_transformations_see_the_formula():
    x, w = inputs("mv", (4, 6, 64))
    x, w = x.detach(), w.detach()
    torch.testing.assert_close(torch.func.vmap(lambda t: kernels.rms_norm(t, w))(x), formulas.rms_norm(x, w, 1e-6, 0.0))


@pytest.mark.parametrize("swapped", [False, True])
def test_rotary_of_pairs_equals_its_formula(swapped):
    torch.manual_seed(0)
    x = torch.randn(2, 3, 10, 16)
    x = (x.transpose(1, 2).contiguous().transpose(1, 2) if swapped else x).requires_grad_()
    cos, sin = torch.randn(1, 10, 16), torch.randn(1, 10, 16)
    wide = cos[:, None], sin[:, None]
    for one, two in zip(
        results(lambda t: kernels.rotary_pairs(t, cos, sin), [x]),
        results(lambda t: formulas.rotary_pairs(t, *wide), [x]),
    ):
        torch.testing.assert_close(one, two)


def _block(layer, norm):
    torch.manual_seed(0)
    norm.running_mean.normal_()
    norm.running_var.uniform_(0.5, 1.5)
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    return layer.eval(), norm.eval()


FOLDED = {
    "conv2d": (lambda: (nn.Conv2d(3, 5, 3, 2, 1, bias=False), nn.BatchNorm2d(5)), (2, 3, 40, 40)),
    "reflected": (lambda: (nn.Conv2d(3, 5, 3, padding=1, padding_mode="reflect"), nn.BatchNorm2d(5)), (2, 3, 40, 40)),
    "conv1d": (lambda: (nn.Conv1d(3, 5, 3), nn.BatchNorm1d(5)), (4, 3, 200)),
    "linear": (lambda: (nn.Linear(6, 5), nn.BatchNorm1d(5)), (300, 6)),
}


@pytest.mark.parametrize("name", FOLDED)
def test_a_folded_norm_follows_its_layers(name):
    make, shape = FOLDED[name]
    layer, norm = _block(*make())
    x = torch.randn(shape)
    with torch.no_grad():
        torch.testing.assert_close(kernels.folded_norm(layer, norm, x), norm(layer(x)), rtol=1e-5, atol=1e-5)
        layer.weight.data.mul_(2.0)
        torch.testing.assert_close(kernels.folded_norm(layer, norm, x), norm(layer(x)), rtol=1e-5, atol=1e-5)


def test_training_gradients_and_hooks_go_through_both_layers():
    layer, norm = _block(nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5))
    x = torch.randn(2, 3, 40, 40)
    kernels.folded_norm(layer, norm, x).sum().backward()
    assert layer.weight.grad is not None and norm.weight.grad is not None
    before = norm.running_mean.clone()
    with torch.no_grad():
        kernels.folded_norm(layer, norm.train(), x)
    assert not torch.equal(before, norm.running_mean)
    seen = []
    layer.register_forward_hook(lambda *given: seen.append(given))
    with torch.no_grad():
        kernels.folded_norm(layer, norm.eval(), x)
    assert len(seen) == 1

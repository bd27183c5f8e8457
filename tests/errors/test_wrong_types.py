"""Arguments of the wrong type: a Problem that names the argument, never an AttributeError from our insides."""

import copy

import pytest
import torch
from torch import nn

import strop
from strop.core.journal import StropWarning
from strop.target import host
from strop.target.description import Target

X = torch.ones(4)


@pytest.mark.parametrize("model", [torch.relu, nn.Linear, 3, None, lambda x: x])
@pytest.mark.parametrize("make", [strop.compile, strop.Session])
def test_a_model_that_is_no_module(make, model):
    with pytest.raises(strop.Problem, match="`model` must be") as caught:
        make(model, (X,))
    assert caught.value.code == "STR001" and caught.value.help


@pytest.mark.parametrize("make", [strop.compile, strop.Session])
def test_a_text_that_is_no_onnx_file(make):
    with pytest.raises(strop.Problem, match="no file `resnet18`") as caught:
        make("resnet18", (X,))
    assert caught.value.code == "STR002" and ".onnx" in caught.value.help


@pytest.mark.parametrize("args", [3, {"x": X}, "x", None])
def test_example_inputs_that_are_no_tuple(args):
    with pytest.raises(strop.Problem, match="`args` must be a tuple of example inputs"):
        strop.compile(nn.Linear(4, 2), args)


def test_a_single_tensor_and_a_list_are_taken():
    model = nn.Linear(4, 2).eval()
    with torch.no_grad():
        for given in (X, [X], (X,)):
            torch.testing.assert_close(strop.compile(model, given)(X), model(X))


def test_keyword_arguments_that_are_no_dict():
    with pytest.raises(strop.Problem, match="`kwargs` must be a dict"):
        strop.compile(nn.Linear(4, 2), (X,), [X])


@pytest.mark.parametrize("value", [X.numpy(), object(), X.to_sparse()])
def test_an_input_that_cannot_be_compiled_for(value):
    with pytest.raises(strop.Problem) as caught:
        strop.compile(nn.Linear(4, 2), (value,))
    assert caught.value.code == "STR001" and "tensors and plain values" in caught.value.help


def under_inference_mode() -> nn.Module:
    with torch.inference_mode():
        return nn.Linear(4, 2)


def sparse() -> nn.Module:
    model = nn.Linear(4, 2)
    model.weight = nn.Parameter(model.weight.detach().to_sparse())
    return model


def dense(model: nn.Module) -> nn.Module:
    model.weight = nn.Parameter(model.weight.detach().to_dense())
    return model


@pytest.mark.parametrize(
    ("make", "told", "advice", "follow"),
    [
        (lambda: nn.Linear(4, 2, device="meta"), "meta", "to_empty(device='cpu')", lambda m: m.to_empty(device="cpu")),
        (under_inference_mode, "inference_mode", "copy.deepcopy(model)", copy.deepcopy),
        (sparse, "layout torch.sparse_coo", ".to_dense()", dense),
    ],
)
def test_a_parameter_that_cannot_be_read_and_advice_that_works(make, told, advice, follow):
    model = make()
    with pytest.raises(strop.Problem, match=f"`weight` .*{told}") as caught:
        strop.compile(model, (X,))
    assert caught.value.code == "STR103" and advice in caught.value.help
    strop.compile(follow(model), (X,))


def test_an_input_on_another_device_and_advice_that_works():
    x = X.to("meta")
    with pytest.raises(strop.Problem, match="lives on `meta`") as caught:
        strop.compile(nn.Linear(4, 2), (x,))
    assert caught.value.code == "STR103" and "torch.zeros_like(x, device='cpu')" in caught.value.help
    strop.compile(nn.Linear(4, 2), (torch.zeros_like(x, device="cpu"),))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"threads": "2"}, "threads must be"),
        ({"threads": 0}, "threads must be"),
        ({"threads": 10_000}, "threads must be at most"),
        ({"thread": 2}, "no option `thread`"),
        ({"pack": 1}, "pack must be"),
        ({"options": {"threads": 2}}, "`options` must be strop.Options, got dict"),
        ({"options": strop.Options(), "threads": 1}, "both `options` and `threads`"),
    ],
)
def test_settings(settings, told):
    with pytest.raises(strop.Problem, match=told) as caught:
        strop.compile(nn.Linear(4, 2), (X,), **settings)
    assert caught.value.code == "STR001"


def test_an_unknown_target():
    with pytest.raises(strop.Problem, match="pentium") as caught:
        strop.compile(nn.Linear(4, 2), (X,), target="pentium")
    assert caught.value.code == "STR402" and "haswell" in caught.value.help


def test_a_target_with_vectors_that_this_cpu_does_not_have(monkeypatch):
    monkeypatch.setattr(host, "described_host", lambda: Target.find("x86-64"))
    with pytest.raises(strop.Problem, match="does not run on this machine") as caught:
        strop.compile(nn.Linear(4, 2), (X,), target="haswell")
    assert caught.value.code == "STR402"


def test_lazy_parameters():
    with pytest.raises(strop.Problem, match="no shape yet"):
        strop.compile(nn.LazyLinear(3), (X,))


def test_a_module_that_is_compiled_already_is_compiled_from_its_original():
    model = nn.Linear(4, 2).eval()
    once = strop.compile(model, (X,))
    twice = strop.compile(once, (torch.ones(3, 4),))
    assert twice.original is model
    with torch.no_grad():
        torch.testing.assert_close(twice(torch.ones(3, 4)), model(torch.ones(3, 4)))


def test_more_threads_than_cores_can_run_are_not_used(monkeypatch):
    monkeypatch.setattr("strop.runtime.thread_count.cores", lambda: 1)
    with pytest.warns(StropWarning, match="64 threads were asked for; the program uses 4"):
        session = strop.Session(nn.Linear(4, 2).eval(), (X,), threads=64)
    assert session.compiled.threads in (1, 4)  # 1 where there is no pool

"""Inputs on which the model fails in eager mode, too: that is what the message says, in eager's own words."""

import pytest
import torch
from torch import nn

import strop


class Raising(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        raise ValueError("not today")


@pytest.mark.parametrize(
    ("x", "told"),
    [
        (torch.ones(5), "shapes cannot be multiplied"),
        ("x", "must be Tensor, not str"),
    ],
)
def test_wrong_shape_or_dtype(x, told, capfd):
    with pytest.raises(strop.Problem, match=told) as caught:
        strop.compile(nn.Linear(4, 2), (x,))
    assert caught.value.code == "STR109" and "model(*args, **kwargs)" in caught.value.help
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("dtype", [torch.int64, torch.float64])
def test_a_dtype_that_only_the_kernel_refuses_raises_as_in_eager_when_it_runs(dtype):
    x = torch.ones(4, dtype=dtype)
    fast = strop.compile(nn.Linear(4, 2), (x,))
    with torch.no_grad(), pytest.raises(RuntimeError, match="same dtype"):
        fast(x)


def test_a_model_that_raises_is_named_with_its_line_and_left_as_it_was():
    model = Raising()
    with pytest.raises(strop.Problem, match="ValueError on these inputs: not today") as caught:
        strop.compile(model, (torch.ones(2),))
    assert caught.value.code == "STR109" and str(caught.value.where).startswith("test_inputs_that_the_model_does_not")
    assert model.calls == 0


@pytest.mark.parametrize("arguments", [(), ("a",), (torch.ones(7),), (torch.ones(4, dtype=torch.float64),)])
def test_a_wrong_call_raises_what_eager_raises_without_a_warning(arguments, recwarn):
    model = nn.Linear(4, 2).eval()
    fast = strop.compile(model, (torch.ones(4),))
    with torch.no_grad():
        with pytest.raises((TypeError, RuntimeError)) as ours:
            fast(*arguments)
        with pytest.raises(type(ours.value)) as theirs:
            model(*arguments)
        assert str(ours.value) == str(theirs.value)
        assert fast(torch.ones(4)).shape == (2,)
    assert not [w for w in recwarn if issubclass(w.category, UserWarning)]

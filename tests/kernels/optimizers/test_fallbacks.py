"""What fused optimizers leave to PyTorch's own step, and what they refuse."""

import pytest
import torch
from optimizer_steps import give_gradients, parameters, same, train

import strop
from strop import Problem
from strop.core.journal import StropWarning

pytestmark = pytest.mark.filterwarnings("ignore::strop.core.journal.StropWarning")


def reasons(optimizer):
    return " ".join(event.message for event in optimizer.journal.of("fallback"))


def test_amsgrad():
    theirs, ours = parameters(), parameters()
    train(torch.optim.AdamW(theirs, amsgrad=True), theirs, 2)
    optimizer = strop.fuse_optimizer(torch.optim.AdamW(ours, amsgrad=True))
    train(optimizer, ours, 2)
    same(ours, theirs, 0, 0)
    assert "amsgrad" in reasons(optimizer)


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.SGD])
def test_differentiable_steps(kind):
    found = []
    for fuse in (lambda o: o, strop.fuse_optimizer):
        start = torch.ones(5, requires_grad=True)
        p = start.clone()
        p.retain_grad()
        optimizer = fuse(kind([p], lr=0.1, differentiable=True))
        p.grad = torch.ones(5)
        optimizer.step()
        p.square().sum().backward()
        found.append([p, start.grad])
    same(*found, 0, 0)
    assert "differentiable" in reasons(optimizer)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_parameters_of_other_dtypes_beside_native_ones(dtype):
    found = []
    for fuse in (lambda o: o, strop.fuse_optimizer):
        params = [*parameters(), *parameters(dtype)]
        optimizer = fuse(torch.optim.AdamW(params, lr=1e-2))
        found.append(train(optimizer, params, 3))
    same(*found, rtol=1e-5, atol=1e-6)
    assert f"updates 7 of 14 parameters: a tensor is {str(dtype).removeprefix('torch.')}" in reasons(optimizer)


def test_a_fallback_is_shown_once():
    params = parameters(torch.float64)
    strop.core.journal.forget_warnings()
    optimizer = strop.fuse_optimizer(torch.optim.SGD(params, lr=0.1))
    with pytest.warns(StropWarning, match="float64"):
        train(optimizer, params, 3)
    assert len(optimizer.journal.of("fallback")) == 1


def embedding(sparse):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Embedding(20, 8, sparse=sparse), torch.nn.Linear(8, 3))


def test_sparse_gradients_are_for_torch_and_dense_ones_are_native():
    found = []
    for fuse in (lambda o: o, strop.fuse_optimizer):
        model = embedding(sparse=True)
        optimizer = fuse(torch.optim.SGD(model.parameters(), lr=0.1))
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.tensor([1, 4, 4])).square().sum().backward()
            optimizer.step()
        found.append(list(model.parameters()))
    same(*found)
    assert "updates 1 of 3 parameters" in reasons(optimizer)


def test_sparse_gradients_that_torch_refuses_leave_everything_unchanged():
    model = embedding(sparse=True)
    optimizer = strop.fuse_optimizer(torch.optim.AdamW(model.parameters()))
    before = [p.detach().clone() for p in model.parameters()]
    model(torch.tensor([1, 4, 4])).sum().backward()
    gradients = [p.grad for p in model.parameters()]
    with pytest.raises(RuntimeError, match="sparse"):
        optimizer.step()
    same(model.parameters(), before, 0, 0)
    assert all(p.grad is g for p, g in zip(model.parameters(), gradients))


def test_layouts_other_than_rows_are_native_where_the_gradient_has_the_same():
    found = []
    for fuse in (lambda o: o, strop.fuse_optimizer):
        params = parameters(shapes=[(6, 5, 3, 3), (12, 9)])
        params[0].data = params[0].data.to(memory_format=torch.channels_last)
        params[1].data = params[1].data.t()
        optimizer = fuse(torch.optim.AdamW(params, lr=1e-2))
        found.append(train(optimizer, params, 3))
    same(*found)
    assert not reasons(optimizer)


def test_gradients_of_another_layout_and_parameters_with_gaps():
    found = []
    for fuse in (lambda o: o, strop.fuse_optimizer):
        params = parameters(shapes=[(9, 9), (30, 4), (7,)])
        params[1].data = torch.zeros(30, 8)[:, ::2].copy_(params[1].data)
        optimizer = fuse(torch.optim.SGD(params, lr=1e-2, momentum=0.9, dampening=0.5))
        for step in range(3):
            give_gradients(params, step)
            params[0].grad = params[0].grad.t().contiguous().t() if step != 1 else params[0].grad
            optimizer.step()
        found.append(params)
    same(*found)
    assert "does not lie in memory" in reasons(optimizer) and "side by side" in reasons(optimizer)


def test_parameters_that_share_memory():
    found = []
    for fuse in (lambda o: o, strop.fuse_optimizer):
        params = parameters(shapes=[(10,), (10,), (5,)])
        params[1].data = params[0].data
        optimizer = fuse(torch.optim.SGD(params, lr=1e-2))
        found.append(train(optimizer, params, 2))
    same(*found)
    assert "share memory" in reasons(optimizer)


def test_steps_that_are_counted_in_float64():
    params = parameters()
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        optimizer = strop.fuse_optimizer(torch.optim.Adam(params))
        train(optimizer, params, 2)
    finally:
        torch.set_default_dtype(before)
    assert "counted in float64" in reasons(optimizer)
    assert optimizer.state[params[0]]["step"] == 2


def test_no_native_code_to_be_had(monkeypatch):
    from strop.kernels import native

    monkeypatch.setattr(native, "program", lambda *args, **more: None)
    theirs, ours = parameters(), parameters()
    train(torch.optim.SGD(theirs, lr=0.1, momentum=0.9, dampening=0.5), theirs, 2)
    optimizer = strop.fuse_optimizer(torch.optim.SGD(ours, lr=0.1, momentum=0.9, dampening=0.5))
    train(optimizer, ours, 2)
    same(ours, theirs, 0, 0)
    assert "no native code" in reasons(optimizer)


class Derived(torch.optim.AdamW):
    def step(self, closure=None):
        return None


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (Derived, "Derived"),
        (torch.optim.RMSprop, "RMSprop"),
        (lambda params: strop.fuse_optimizer(torch.optim.AdamW(params)), "fused already"),
    ],
    ids=["derived", "another", "fused"],
)
def test_optimizers_that_are_refused(make, told):
    optimizer = make(parameters())
    with pytest.raises(Problem, match=told) as caught:
        strop.fuse_optimizer(optimizer)
    assert caught.value.code == "STR406" and caught.value.help


def test_an_optimizer_whose_step_was_replaced_is_refused():
    optimizer = torch.optim.AdamW(parameters())
    optimizer.step = lambda: None
    with pytest.raises(Problem, match="was replaced"):
        strop.fuse_optimizer(optimizer)

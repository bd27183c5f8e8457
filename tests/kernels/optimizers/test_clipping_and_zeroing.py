"""What a fused step does beside the update: clipping, zeroing, updates in the backward pass."""

import gc
import weakref

import pytest
import torch
from optimizer_steps import give_gradients, parameters, same, train

import strop
from strop import Problem

quiet = pytest.mark.filterwarnings("ignore::strop.core.journal.StropWarning")
KINDS = [torch.optim.AdamW, torch.optim.Adam, torch.optim.SGD]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limit", [0.5, 1e9], ids=["clipped", "within the limit"])
def test_clipping_is_that_of_clip_grad_norm(kind, limit):
    theirs, ours = parameters(), parameters()
    one, other = kind(theirs, lr=1e-2), strop.fuse_optimizer(kind(ours, lr=1e-2), clip_grad_norm=limit)
    for step in range(5):
        give_gradients(theirs, step), give_gradients(ours, step)
        kept = [p.grad.clone() for p in ours]
        norm = torch.nn.utils.clip_grad_norm_(theirs, limit)
        one.step(), other.step()
        assert other.grad_norm == pytest.approx(norm.item(), rel=1e-5)
        same([p.grad for p in ours], kept, 0, 0)
    same(ours, theirs)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_norm_that_is_not_finite_clips_as_clip_grad_norm_does(value):
    theirs, ours = parameters(), parameters()
    one = torch.optim.SGD(theirs, lr=1e-2)
    other = strop.fuse_optimizer(torch.optim.SGD(ours, lr=1e-2), clip_grad_norm=1.0)
    for params in (theirs, ours):
        give_gradients(params, 0)
        params[0].grad[1, 1] = value
    torch.nn.utils.clip_grad_norm_(theirs, 1.0)
    one.step(), other.step()
    same(ours, theirs)


@quiet
def test_the_norm_is_over_native_and_other_parameters():
    found = []
    for fused in (False, True):
        params = [*parameters(), *parameters(torch.float64)]
        give_gradients(params, 0)
        if fused:
            strop.fuse_optimizer(torch.optim.SGD(params, lr=0.1), clip_grad_norm=0.5).step()
        else:
            torch.nn.utils.clip_grad_norm_(params, 0.5)
            torch.optim.SGD(params, lr=0.1).step()
        found.append(params)
    same(*found)


@pytest.mark.parametrize("kind", KINDS)
def test_kept_gradients_are_zero_after_the_step_and_the_same_tensors(kind):
    theirs, ours = parameters(), parameters()
    train(kind(theirs, lr=1e-2), theirs, 1)
    optimizer = strop.fuse_optimizer(kind(ours, lr=1e-2), zero_grad="keep")
    give_gradients(ours, 0)
    before = [p.grad for p in ours]
    optimizer.step()
    assert all(p.grad is g and not g.any() for p, g in zip(ours, before))
    same(ours, theirs)


@quiet
def test_gradients_that_share_memory_are_read_before_they_are_zeroed():
    theirs, ours = parameters(shapes=[(9, 9), (9, 9)]), parameters(shapes=[(9, 9), (9, 9)])
    for params in (theirs, ours):
        params[0].grad = params[1].grad = torch.ones(9, 9)
    torch.optim.SGD(theirs, lr=1e-2).step()
    strop.fuse_optimizer(torch.optim.SGD(ours, lr=1e-2), zero_grad="keep").step()
    same(ours, theirs)
    assert not ours[0].grad.any()


@pytest.mark.filterwarnings("ignore:Using backward")
def test_kept_gradients_leave_the_graph_that_made_them():
    params = parameters()
    optimizer = strop.fuse_optimizer(torch.optim.SGD(params, lr=1e-2), zero_grad="keep")
    sum((p**3).sum() for p in params).backward(create_graph=True)
    optimizer.step()
    assert not any(p.grad.requires_grad or p.grad.any() for p in params)


def test_dropped_gradients_free_their_memory():
    params = parameters()
    optimizer = strop.fuse_optimizer(torch.optim.AdamW(params), zero_grad="none")
    give_gradients(params, 0)
    gradient = weakref.ref(params[0].grad)
    optimizer.step()
    gc.collect()
    assert all(p.grad is None for p in params)
    assert gradient() is None


def loss_of(params, step):
    source = torch.Generator().manual_seed(step)
    return sum((p * torch.randn(p.shape, generator=source)).sin().sum() for p in params)


@pytest.mark.parametrize("kind", KINDS)
def test_updates_in_the_backward_pass_are_those_of_steps_after_it(kind):
    theirs, ours = parameters(), parameters()
    one, other = kind(theirs, lr=1e-2), strop.fuse_optimizer(kind(ours, lr=1e-2), in_backward=True)
    for step in range(4):
        if step == 2:
            for optimizer in (one, other):
                optimizer.param_groups[0]["lr"] = 0.1
        for params, optimizer in ((theirs, one), (ours, other)):
            loss_of(params, step).backward()
            if optimizer is other:
                assert all(p.grad is None for p in params)
            optimizer.step()
            optimizer.zero_grad()
    same(ours, theirs)


@quiet
def test_updates_in_the_backward_pass_of_tied_float64_frozen_and_added_parameters():
    found = []
    for fused in (False, True):
        params = [*parameters(), *parameters(torch.float64, [(4, 4)])]
        params[2].requires_grad_(False)
        optimizer = torch.optim.AdamW(params[:4], lr=1e-2)
        if fused:
            strop.fuse_optimizer(optimizer, in_backward=True)
        optimizer.add_param_group({"params": params[4:]})
        for step in range(3):
            (loss_of(params, step) + (params[0] ** 2).sum()).backward()
            optimizer.step()
            optimizer.zero_grad()
        found.append(params)
    same(*found)


def test_hooks_of_the_backward_pass_do_not_keep_the_optimizer():
    params = parameters()
    optimizer = strop.fuse_optimizer(torch.optim.SGD(params, lr=0.1), in_backward=True)
    gone = weakref.ref(optimizer)
    del optimizer
    gc.collect()
    assert gone() is None
    loss_of(params, 0).backward()
    assert all(p.grad is not None for p in params)


@pytest.mark.parametrize(
    "settings",
    [
        {"clip_grad_norm": -1.0},
        {"clip_grad_norm": float("nan")},
        {"zero_grad": "drop"},
        {"in_backward": True, "clip_grad_norm": 1.0},
        {"in_backward": True, "zero_grad": "keep"},
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused(settings):
    optimizer = torch.optim.SGD(parameters(), lr=0.1)
    with pytest.raises(Problem) as caught:
        strop.fuse_optimizer(optimizer, **settings)
    assert caught.value.code == "STR001" and caught.value.help
    assert type(optimizer) is torch.optim.SGD

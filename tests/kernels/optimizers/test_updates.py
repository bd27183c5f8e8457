"""Fused optimizers beside PyTorch's own: values, state, and everything that a training loop does around a step."""

import copy
import gc
import os
import pickle
import weakref

import pytest
import torch
from optimizer_steps import CASES, NAMES, give_gradients, largest_error, parameters, same, train

import strop

cases = pytest.mark.parametrize(("kind", "settings"), CASES, ids=NAMES)


@cases
def test_error_after_twenty_steps_is_that_of_the_fused_kernel_of_torch(kind, settings):
    exact, theirs, ours = parameters(torch.float64), parameters(), parameters()
    train(kind(exact, **settings), exact)
    train(kind(theirs, **settings, fused=True), theirs)
    optimizer = strop.fuse_optimizer(kind(ours, **settings))
    train(optimizer, ours)
    for one, other, right in zip(ours, theirs, exact):
        error, allowed = largest_error([one], [right]), 4 * largest_error([other], [right])
        assert error <= max(allowed, torch.finfo(torch.float32).eps * right.abs().max().item())
    assert not optimizer.journal.of("fallback")


@cases
def test_state_dict_has_the_keys_shapes_and_values_of_torch(kind, settings):
    theirs, ours = parameters(), parameters()
    one, other = kind(theirs, **settings), strop.fuse_optimizer(kind(ours, **settings))
    train(one, theirs, 3), train(other, ours, 3)
    expected, found = one.state_dict(), other.state_dict()
    assert found["param_groups"] == expected["param_groups"]
    assert found["state"].keys() == expected["state"].keys()
    for number, state in expected["state"].items():
        assert found["state"][number].keys() == state.keys()
        same(found["state"][number].values(), state.values())


@cases
def test_state_dict_loads_into_torch_and_back(kind, settings):
    theirs, ours = parameters(), parameters()
    one, other = kind(theirs, **settings), strop.fuse_optimizer(kind(ours, **settings))
    train(one, theirs, 2), train(other, ours, 2)
    one.load_state_dict(copy.deepcopy(other.state_dict()))
    other.load_state_dict(copy.deepcopy(one.state_dict()))
    train(one, theirs, 2), train(other, ours, 2)
    same(ours, theirs)


def test_loading_state_frees_the_state_before():
    params = parameters()
    optimizer = strop.fuse_optimizer(torch.optim.AdamW(params, lr=1e-2), in_backward=True)
    sum((p**2).sum() for p in params).backward()
    train(optimizer, params, 1)
    before = weakref.ref(optimizer.state[params[0]]["exp_avg"])
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    gc.collect()
    assert before() is None
    sum((p**2).sum() for p in params).backward()
    assert optimizer.state[params[0]]["step"] == 3  # updated once, by one hook


def test_learning_rate_of_a_scheduler_takes_effect_without_compiling_again(monkeypatch):
    from strop.kernels import native

    theirs, ours = parameters(), parameters()
    one, other = torch.optim.AdamW(theirs, lr=1e-2), strop.fuse_optimizer(torch.optim.AdamW(ours, lr=1e-2))
    train(other, ours, 1), train(one, theirs, 1)
    monkeypatch.setattr(native, "program", lambda *args, **more: pytest.fail("compiled again"))
    for optimizer, params in ((one, theirs), (other, ours)):
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        for _ in range(4):
            train(optimizer, params, 1)
            schedule.step()
    same(ours, theirs)


def test_scheduler_made_before_fusing_keeps_watching_the_step():
    params = parameters()
    optimizer = torch.optim.SGD(params, lr=1.0)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.0)
    before = [p.detach().clone() for p in params]
    strop.fuse_optimizer(optimizer)
    train(optimizer, params, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda text, *_, **__: pytest.fail(str(text)))
        schedule.step()
    changed = [p.detach().clone() for p in params]
    assert all((a != b).any() for a, b in zip(before, changed))
    train(optimizer, params, 1)
    same(params, changed, 0, 0)


def test_parameters_without_gradients_keep_value_and_step():
    theirs, ours = parameters(), parameters()
    for params, optimizer in (
        (theirs, torch.optim.Adam(theirs)),
        (ours, strop.fuse_optimizer(torch.optim.Adam(ours))),
    ):
        for step in range(6):
            give_gradients(params, step)
            params[step % 3].grad = None
            params[5].grad = None
            params[6].requires_grad_(False)
            optimizer.step()
        steps = {number: int(state["step"]) for number, state in optimizer.state_dict()["state"].items()}
        assert steps == {0: 4, 1: 4, 2: 4, 3: 6, 4: 6, 6: 6}
    same(ours, theirs)


def test_groups_of_different_formulas_and_groups_added_later():
    found = []
    for fuse in (lambda o: o, strop.fuse_optimizer):
        params = parameters()
        groups = [{"params": params[:2], "weight_decay": 0.1}, {"params": params[2:4], "lr": 0.3, "maximize": True}]
        optimizer = fuse(torch.optim.AdamW(groups, lr=1e-2, weight_decay=0.0))
        train(optimizer, params[:4], 2)
        optimizer.add_param_group({"params": params[4:], "betas": (0.8, 0.8)})
        found.append(train(optimizer, params, 2))
    same(*found)


def test_momentum_that_is_switched_on_later():
    found = []
    for fuse in (lambda o: o, strop.fuse_optimizer):
        params = parameters()
        optimizer = fuse(torch.optim.SGD(params, lr=1e-2, dampening=0.5))
        train(optimizer, params, 2)
        optimizer.param_groups[0]["momentum"] = 0.9
        found.append(train(optimizer, params, 3))
    same(*found)


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.AdamW])
def test_maximizing_may_be_switched_on_later(kind):
    found = []
    for fuse in (lambda o: o, strop.fuse_optimizer):
        params = parameters()
        optimizer = fuse(kind(params, lr=1e-2))
        train(optimizer, params, 2)
        optimizer.param_groups[0]["maximize"] = True
        found.append(train(optimizer, params, 3))
    same(*found)


def test_state_that_is_reset_or_replaced_is_noticed():
    found = []
    for fuse in (lambda o: o, strop.fuse_optimizer):
        params = parameters()
        optimizer = fuse(torch.optim.AdamW(params, lr=1e-2))
        train(optimizer, params, 2)
        optimizer.state[params[0]] = {}
        optimizer.state[params[1]]["exp_avg"] = torch.ones_like(params[1])
        optimizer.state[params[3]]["step"].fill_(7)
        with torch.no_grad():
            params[4].data = params[4] * 2
        found.append(train(optimizer, params, 2))
    same(*found)


@pytest.mark.parametrize("kind", [torch.optim.AdamW, torch.optim.SGD])
def test_nan_and_infinite_gradients_spread_as_in_eager(kind):
    found = []
    for fuse in (lambda o: o, strop.fuse_optimizer):
        params = parameters()
        optimizer = fuse(kind(params, lr=1e-2))
        give_gradients(params, 0)
        params[0].grad[3, 4], params[3].grad[7] = float("nan"), float("inf")
        optimizer.step()
        give_gradients(params, 1)
        optimizer.step()
        found.append(params)
    same(*found)
    assert torch.isnan(found[1][0]).sum() == 1


def test_closures_are_called_with_gradients_enabled_and_hooks_around_the_step():
    params, calls = parameters(), []
    optimizer = strop.fuse_optimizer(torch.optim.SGD(params, lr=0.1))
    optimizer.register_step_pre_hook(lambda *_: calls.append("before"))
    optimizer.register_step_post_hook(lambda *_: calls.append("after"))

    def closure():
        calls.append("closure")
        optimizer.zero_grad()
        loss = sum((p**2).sum() for p in params)
        loss.backward()
        return loss

    before = [p.detach().clone() for p in params]
    loss = optimizer.step(closure)
    assert calls == ["before", "closure", "after"]
    torch.testing.assert_close(loss.detach(), sum((p**2).sum() for p in before))
    same(params, [0.8 * p for p in before])


def test_a_changed_parameter_invalidates_graphs_that_saved_it():
    weight = torch.nn.Parameter(torch.ones(4))
    optimizer = strop.fuse_optimizer(torch.optim.SGD([weight], lr=0.1))
    loss = (weight * weight).sum()
    weight.grad = torch.ones(4)
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_copies_and_pickles_are_fused_with_the_same_settings():
    params = parameters()
    optimizer = strop.fuse_optimizer(torch.optim.AdamW(params, lr=1e-2), clip_grad_norm=0.5)
    train(optimizer, params, 2)
    for other in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        copied = other.param_groups[0]["params"]
        same(copied, params, 0, 0)
        assert type(other) is type(optimizer)
        reference = [p.detach().clone().requires_grad_() for p in copied]
        plain = torch.optim.AdamW(reference, lr=1e-2)
        plain.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        give_gradients(reference, 5)
        torch.nn.utils.clip_grad_norm_(reference, 0.5)
        plain.step()
        give_gradients(copied, 5)
        other.step()
        same(copied, reference)


def test_a_grad_scaler_unscales_and_skips_as_for_torch():
    found = []
    for fuse in (lambda o: o, strop.fuse_optimizer):
        params = parameters()
        optimizer = fuse(torch.optim.AdamW(params, lr=1e-2, fused=True))
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        for step in range(3):
            optimizer.zero_grad()
            scaler.scale(sum((p**2).sum() for p in params)).backward()
            if step == 1:
                params[0].grad[0, 0] = float("inf")
            scaler.step(optimizer)
            scaler.update()
        assert scaler.get_scale() == 512.0
        found.append([*params, *(p.grad for p in params if p is not params[0])])
    same(*found)


def test_a_compiled_step_runs_native_code():
    theirs, ours = parameters(), parameters()
    optimizer = strop.fuse_optimizer(torch.optim.AdamW(ours, lr=1e-2))
    compiled = torch.compile(optimizer.step, backend="eager")
    plain = torch.optim.AdamW(theirs, lr=1e-2)
    for step in range(3):
        give_gradients(theirs, step), give_gradients(ours, step)
        plain.step(), compiled()
    same(ours, theirs)
    assert optimizer.state[ours[0]]["step"] == 3


def test_two_threads_compute_what_one_does():
    found = []
    before = torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            params = parameters(shapes=[(400, 400), (77,), (90_001,)])
            optimizer = strop.fuse_optimizer(torch.optim.AdamW(params, lr=1e-2), zero_grad="keep")
            found.append(train(optimizer, params, 3))
    finally:
        torch.set_num_threads(before)
    same(*found, 0, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_forked_process_goes_on_with_one_thread():
    params = parameters(shapes=[(400, 400)])
    optimizer = strop.fuse_optimizer(torch.optim.AdamW(params, lr=1e-2))
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        train(optimizer, params, 1)
        child = os.fork()
        if not child:
            train(optimizer, params, 2)
            os._exit(0 if optimizer.state[params[0]]["step"] == 3 else 1)
        _, status = os.waitpid(child, 0)
    finally:
        torch.set_num_threads(before)
    assert os.waitstatus_to_exitcode(status) == 0

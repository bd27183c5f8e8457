"""Parameters, gradients and steps that the tests of fused optimizers share."""

import torch

SHAPES = [(70, 40), (3,), (), (1024,), (5, 3, 3, 3), (2200,), (1, 7)]

ADAM = {
    "plain": {},
    "decay": {"weight_decay": 0.05},
    "maximize": {"maximize": True, "weight_decay": 0.01},
    "short memory": {"betas": (0.0, 0.9), "eps": 1e-4},
    "little decay": {"weight_decay": 0.03, "lr": 2e-4, "betas": (0.8, 0.95)},
}
SGD = {
    "plain": {},
    "decay": {"weight_decay": 0.05},
    "momentum": {"momentum": 0.9},
    "dampening": {"momentum": 0.8, "dampening": 0.3, "weight_decay": 0.01},
    "nesterov": {"momentum": 0.9, "nesterov": True, "maximize": True},
}
CASES = [
    *((torch.optim.Adam, {"lr": 1e-2, **more}) for more in ADAM.values()),
    *((torch.optim.AdamW, {"lr": 1e-2, **more}) for more in ADAM.values()),
    *((torch.optim.SGD, {"lr": 1e-2, **more}) for more in SGD.values()),
]
NAMES = [f"{kind}-{name}" for kind, names in (("adam", ADAM), ("adamw", ADAM), ("sgd", SGD)) for name in names]


def parameters(dtype=torch.float32, shapes=SHAPES):
    source = torch.Generator().manual_seed(1)
    return [torch.nn.Parameter(torch.randn(shape, generator=source).to(dtype)) for shape in shapes]


def give_gradients(params, step, scale=1.0):
    """The same for every dtype, another one in each step."""
    source = torch.Generator().manual_seed(100 + step)
    for p in params:
        values = torch.randn(p.shape, generator=source) * scale
        p.grad = torch.empty_like(p).copy_(values)


def train(optimizer, params, steps=20, scale=1.0):
    for step in range(steps):
        give_gradients(params, step, scale)
        optimizer.step()
    return params


def largest_error(found, exact):
    return max((a.detach().double() - b.detach()).abs().max().item() for a, b in zip(found, exact))


def same(found, expected, rtol=2e-6, atol=1e-6):
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a.detach(), b.detach(), rtol=rtol, atol=atol, equal_nan=True)

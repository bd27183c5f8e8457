"""Constructs of Python between which the random programs hide kernels: values that travel through containers, closures,
patterns, handlers, aliases and modules, where two names may hold one tensor and one name several.
"""

from __future__ import annotations

from collections.abc import Callable

from source.adopt.random_words import Words

HEAD = """import functools
import itertools
import math
import operator
from collections import namedtuple
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import nn

Pair = namedtuple("Pair", "first second")


@dataclass
class Held:
    first: torch.Tensor
    second: torch.Tensor

    @property
    def both(self):
        return self.first, self.second


class Gate:
    def __init__(self, t):
        self.t = t

    def __call__(self, s):
        return s * torch.sigmoid(self.t)


class Mixer(nn.Module):
    def mix(self, s, t):
        return s * torch.sigmoid(t)

    def twice(self, t):
        return self.mix(t, t) + 1


def produced(*given):
    for t in given:
        yield t * 0.5


"""

MODULE = """class {name}(Mixer):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.rand(4, dtype=torch.float64) + 0.5)
        self.b = nn.Parameter(torch.rand(4, dtype=torch.float64))
        self.q = nn.Linear(4, 4, dtype=torch.float64)
        self.k = nn.Linear(4, 4, bias=False, dtype=torch.float64)
        self.v = nn.Linear(4, 4, dtype=torch.float64)
        self.norm = nn.LayerNorm(4, dtype=torch.float64)
        self.drop = nn.Dropout(0.0)
        self.scale = 0.5
        self.eps = 1e-5
        self.calls = 0
{made}
    def helper(self, t):
        return self.q(t) * 0.5

    def mix(self, s, t):
        return {mixed}

    @property
    def factor(self):
        self.calls += 1
        return self.scale * self.calls

    @property
    def shared(self):
        return self.w

    def forward(self, x, y, z, w, hide, flag):
"""

#: what a constructor does to the layers that a formula calls
MADE = (
    "", "", "", "",
    "self.k = self.q", "self.v.weight = self.q.weight", "self.k.weight = nn.Parameter(self.q.weight.detach().T.clone())",
    "self.q.register_forward_hook(lambda module, given, result: result * 2)",
    "self.k.register_forward_pre_hook(lambda module, given: (given[0] + 1,))",
    "self.v.register_full_backward_hook(lambda module, grads, result: (grads[0] * 2,))",
    "self.norm.register_forward_hook(lambda module, given, result: result + given[0])",
    "nn.utils.parametrizations.weight_norm(self.q)",
    "self.v.forward = lambda t: F.linear(t, self.v.weight) - 1",
    "self.layers = nn.ModuleList([self.q, self.k])",
    "self.norm = nn.LayerNorm(4, elementwise_affine=False, dtype=torch.float64)",
    "self.norm = nn.LayerNorm(4, eps=0.1, dtype=torch.float64)",
    "self.q = nn.Sequential(self.q, nn.Tanh())",
    "for layer in (self.q, self.k):\n    layer.requires_grad_(False)",
    "self.eps, self.scale = 0.1, 2.0",
)  # fmt: skip
MIXED = ("super().mix(s, t)", "super().mix(t, s)", "super().mix(s, s) + 1", "s * torch.sigmoid(t)", "self.q(s) * t")


def matched(p: Words) -> None:
    a, b, name = p.pick(), p.pick(), p.fresh()
    p.lines.append(
        p.one_of(
            f"match flag:\n    case 0:\n        {name} = {a} * torch.sigmoid({a})\n    case _:\n        {name} = {b}",
            f"match ({a}, {b}):\n    case (s, t) if flag:\n        {name} = s * torch.sigmoid(t)\n"
            f"    case (t, s):\n        {name} = s * torch.sigmoid(s)",
            f"match Pair({a}, {b}):\n    case Pair(first=s, second=t):\n        {name} = t * torch.sigmoid(s)",
            f'match {{"q": {a}, "k": {b}}}:\n    case {{"k": s, **others}}:\n        {name} = s * others["q"].sigmoid()',
            f"match [{a}, {b}, {a}]:\n    case [s, *others]:\n        {name} = others[0] * torch.sigmoid(s)",
        )
    )
    p.bind(name)


def conditional(p: Words) -> None:
    a, b = p.pick(), p.pick()
    one = f"({a} if flag else {b})"
    p.set(
        p.one_of(
            f"{one} * torch.sigmoid({one})",
            f"{one} * torch.sigmoid({b} if flag else {a})",
            f"{one}.sigmoid() * {a}",
            f"[{a}, {b}][flag] * torch.sigmoid({b})",
            f"({a}, {b})[not flag] * torch.sigmoid(({a}, {b})[flag])",
        )
    )


def starred(p: Words) -> None:
    a, b, c = p.pick(), p.pick(), p.pick()
    first, others = p.new(), p.new("others")
    right = p.one_of(
        f"[{a}, {b}, {c}]", f"torch.cat([{a}, {b}, {c}], dim=-1).chunk(3, dim=-1)", f"(t.tanh() for t in ({a}, {b}, {c}))",
        f"torch.stack([{a}, {b}, {c}]).unbind(0)", f"map(torch.neg, ({a}, {b}, {c}))",
    )  # fmt: skip
    at_end = p.maybe()
    p.lines.append(f"*{others}, {first} = {right}" if at_end else f"{first}, *{others} = {right}")
    p.bind(first)
    p.set(p.one_of(f"{others}[0] * torch.sigmoid({others}[-1])", f"{others}[1]", f"{others}.pop(0) - {first}"))


def dictionary(p: Words) -> None:
    a, b, c, held = p.pick(), p.pick(), p.pick(), p.new("held")
    p.lines.append(
        f'{held} = {p.one_of(f"""{{"q": {a}, "k": {b}}}""", f"dict(q={a}, k={b})", f"""dict(zip("qk", ({a}, {b})))""")}'
    )
    p.lines += [
        line
        for line in (
            p.one_of(
                "", f'{held}["q"] = {c}', f"{held}.update(k={c})", f'{held} = {{**{held}, "k": {c}}}',
                f"for key, t in {held}.items():\n    {held}[key] = t * 0.5", f'{held} |= {{"q": {c}}}',
                f"{held} = {{key: t + 1 for key, t in reversed({held}.items())}}", f'{held}.setdefault("q", {c})',
                f'if flag:\n    {held}["q"] = {held}.pop("k")\n    {held}["k"] = {c}',
            ),
        )
        if line
    ]  # fmt: skip
    if p.maybe(0.3):
        one, two = p.new(), p.new()
        p.lines.append(f"{one}, {two} = {held}.values()")
        p.bind(one)
        p.bind(two)
        return
    p.set(f'{held}["q"]')
    p.set(p.one_of(f'{held}["k"]', f'{held}.get("k", {a})', f'{held}.pop("k")', f"[*{held}.values()][1]"))


def record(p: Words) -> None:
    a, b, c, held = p.pick(), p.pick(), p.pick(), p.new("held")
    if p.maybe(0.4):
        p.lines.append(f"{held} = Pair({p.one_of(f'{a}, {b}', f'second={a}, first={b}', f'*({a}, {b})')})")
        p.lines += [f"{held} = {held}._replace({p.one_of('first', 'second')}={c})"] if p.maybe() else []
        p.set(f"{held}.first * torch.sigmoid({p.one_of(f'{held}.second', f'{held}[0]', f'{held}.first')})")
        return
    p.lines.append(f"{held} = Held({a}, {b})")
    other = p.new("held")
    p.lines.append(
        p.one_of(
            f"{held}.first, {held}.second = {held}.second, {held}.first",
            f"{other} = {held}\n{other}.first = {c}",
            f"{other} = replace({held}, first={c})\n{other}.second = {c}",
            f"{held}.second = {held}.first",
            f"setattr({held}, 'first', {c})",
            f"for part in ({held}, {held}):\n    part.first = part.first + 1",
            f"{held}.first = {held}.first * 1.5",
            f"{held}.first = {held}.first.clone()\n{held}.first += 1",
        )
    )
    one, two = p.new(), p.new()
    p.lines.append(
        f"{one}, {two} = {p.one_of(f'{held}.both', f'{held}.first, {held}.second', f'vars({held}).values()')}"
    )
    p.bind(one)
    p.bind(two)


def closure(p: Words) -> None:
    a, b, c, local, name = p.pick(), p.pick(), p.pick(), p.new("local"), p.fresh()
    kept = p.new("kept")
    p.lines.append(
        p.one_of(
            f"{kept} = {a}\ndef {local}(t):\n    return t * torch.sigmoid({kept})\n{kept} = {b}\n{name} = {local}({a})",
            f"def {local}(s):\n    return lambda t: s * torch.sigmoid(t)\n{name} = {local}({a})({b})",
            f"{local} = [lambda t: t * torch.sigmoid({b}) * i for i in (1, 2)]\n{name} = {local}[0]({a})",
            f"{local} = [lambda t, i=i: t * torch.sigmoid({b}) * i for i in (1, 2)]\n{name} = {local}[0]({a})",
            f"{kept} = {a}\ndef {local}():\n    nonlocal_kept = {kept}\n    return nonlocal_kept * torch.sigmoid({kept})\n"
            f"{name} = {local}()\n{kept} = {b}\n{name} = {name} + {local}()",
            f"{kept} = {a}\ndef {local}(t):\n    nonlocal {kept}\n    {kept} = {kept} + t\n    return {kept}\n"
            f"{name} = {local}({b}) * torch.sigmoid({kept})\n{name} = {name} * {local}({c})",
            f"{kept} = torch.sigmoid({a})\n{local} = lambda: {kept} * {a}\n{a} = {b}\n{name} = {local}()",
            f"def {local}(t, depth=1):\n    return {local}(t * torch.sigmoid(t), 0) if depth else t\n{name} = {local}({a})",
        )
    )
    p.bind(name)


def default(p: Words) -> None:
    a, b, c, local, name = p.pick(), p.pick(), p.pick(), p.new("local"), p.new()
    p.lines.append(
        p.one_of(
            f"def {local}(t, s={a}):\n    return t * torch.sigmoid(s)\n{a} = {b}\n{name} = {local}({c})",
            f"def {local}(t, kept=[]):\n    kept.append(t)\n    return kept[0] * torch.sigmoid(t)\n"
            f"{local}({a})\n{name} = {local}({b})",
            f"def {local}(t, *, s=None, **others):\n    s = others.get('gate', t) if s is None else s\n"
            f"    return s * torch.sigmoid(t)\n{name} = {local}({a}, {p.one_of('', f's={b}', f'gate={b}')})",
            f"def {local}(*given):\n    s, t = given\n    return s * torch.sigmoid(t)\n{name} = {local}(*({a}, {b}))",
            f"def {local}(s, t):\n    return s * torch.sigmoid(t)\n{name} = {local}(**{{'t': {a}, 's': {b}}})",
            f"def {local}(s, t):\n    s, t = t, s\n    return s * torch.sigmoid(s), t\n{name}, _ = {local}({a}, {b})",
        )
    )
    p.bind(name)


def comprehension(p: Words) -> None:
    a, b, c = p.pick(), p.pick(), p.pick()
    one, two = p.new(), p.new()
    right = p.one_of(
        f"[sum(s * t for t in ({a}, {b})) for s in ({b}, {c})]", f"[[s * t for t in ({a}, {b})][i] for i, s in enumerate(({c}, {a}))]",
        f"[t for t in ({a}, {b}.clone(), {c}.clone()) if t is not {a}]", f"{{i: t for i, t in enumerate(({a}, {b}))}}.values()",
        f"zip(*[({a}, {b}), ({b}, {c})]).__next__()", f"itertools.chain([{a}], ({b},))", f"(*produced({a}, {b}),)",
        f"[t for t, _ in zip(({a}, {b}), itertools.count())]", f"list(itertools.accumulate([{a}, {b}], operator.add))",
        f"[s if flag else t for s, t in (({a}, {b}), ({b}, {c}))]", f"[(s := t * 2) + 1 for t in ({a}, {b})]",
        f"[t for group in [[{a}], [{b}]] for t in group]", f"[{a}, {b}, {c}][1:]", f"[{a}, {b}, {c}][::2]",
        f"[{a}] + [{b}]", f"[{a}] * 2", f"({a}, {b}) if flag else ({b}, {a})", f"itertools.islice(itertools.cycle(({a}, {b})), 1, 3)",
    )  # fmt: skip
    p.lines.append(f"{one}, {two} = {right}")
    p.bind(one)
    p.bind(two)


def handler(p: Words) -> None:
    a, b, name, seen = p.pick(), p.pick(), p.new(), p.new("seen")
    p.lines.append(
        p.one_of(
            f"{name} = {a}\ntry:\n    {name} = {a} * torch.sigmoid({b})\n    raise ValueError\nexcept ValueError:\n    {name} = {name} + {b}",
            f"try:\n    {name} = {a} * torch.sigmoid({a})\nfinally:\n    {a} = {b}\n{name} = {name} * torch.sigmoid({a})",
            f"try:\n    {seen} = [{a}][1]\nexcept IndexError as error:\n    {name} = {b} * torch.sigmoid({a})\nelse:\n    {name} = {seen}",
            f"try:\n    {name} = {a}.sigmoid()\nexcept RuntimeError:\n    {name} = {b}\nelse:\n    {name} = {name} * {b}",
            f"{seen} = {a}.clone()\ntry:\n    {name} = {seen} * torch.sigmoid({b})\nfinally:\n    {seen} = {seen} + 1\n{name} = {name} * {seen}",
            f"for {seen} in range(3):\n    try:\n        if {seen} == flag:\n            continue\n        {name} = {a} * torch.sigmoid({b})\n"
            f"        break\n    finally:\n        {a} = {a} * 0.5",
        )
    )
    p.bind(name)


def sliced(p: Words) -> None:
    name = p.set(f"{p.pick()}.clone()")
    b = p.pick()
    p.lines.append(
        p.one_of(
            f"{name}[..., :2] += {b}[..., 2:].detach()", f"{name}[:, 1:] *= 0.5", f"{name}[0] -= {b}[1].detach()",
            f"{name}[:, 0], {name}[:, 1] = 0.5, {b}[:, 1].detach()", f"{name}[hide.expand(3, 4, 4)] = 0.1",
            f"{name}[..., 0] = {name}[..., 1].clone()", f"{name}[:] = {b}.detach()", f"{name}[1, 2, 3] += 1",
            f"{name}.data[0] = 0.5", f"{name}.index_fill_(1, torch.tensor([0, 2]), 0.5)", f"{name}.diagonal(dim1=1, dim2=2).mul_(2)",
        )
    )  # fmt: skip


def written_through_view(p: Words) -> None:
    name = p.set(f"{p.pick()}.clone()")
    seen = p.new("seen")
    if p.maybe():
        p.set(p.one_of(f"torch.sigmoid({name})", f"{name} * torch.sigmoid({name})", f"{name}.exp()"))
    p.lines.append(
        p.one_of(
            f"{seen} = {name}.transpose(1, 2)\n{seen}.mul_(0.5)", f"{seen} = {name}[:, 0]\n{seen}.zero_()",
            f"{seen} = {name}.view(3, 16)\n{seen}[:, 0] = 0.5", f"{seen} = [{name}, {name}]\n{seen}[0].add_(0.5)",
            f"{seen} = [{name}]\n{seen}[0] += 0.5", f"{seen} = [{name}]\n{seen}[0] = {seen}[0] + 0.5",
            f"for {seen} in range(3):\n    {name}[{seen}].mul_(0.5)", f"{seen} = {name}.detach()\n{seen}.add_(0.25)",
            f"with torch.no_grad():\n    {name}.mul_(0.5)", f"{seen} = Held({name}, {name})\n{seen}.second.add_(1)",
            f"{seen} = lambda t: t.mul_(0.5)\n{seen}({name})", f"{seen} = {{0: {name}}}\n{seen}[0].clamp_(min=0)",
            f"{seen} = functools.partial(torch.Tensor.add_, {name})\n{seen}(0.5)", f"{seen} = {name}.add_\n{seen}(0.5)",
            f"{seen} = {name}.expand(2, 3, 4, 4)[0]\n{seen}.mul_(2)", f"F.relu({name}, inplace=True)",
            f"{seen} = nn.ReLU(inplace=True)\n{seen}({name})", f"{seen} = {name}.flatten(1).unsqueeze(0)\n{seen}.mul_(0.5)",
        )
    )  # fmt: skip


def applied(p: Words) -> None:
    a, b = p.pick(), p.pick()
    p.set(
        p.one_of(
            f"functools.partial(torch.mul, {a})(torch.sigmoid({b}))", f"functools.reduce(torch.add, [{a}, {b}, {a}])",
            f"functools.partial(torch.softmax, dim=1)({a})", f"operator.mul({a}, {b}.sigmoid())", f"Gate({a})({b})",
            f"functools.reduce(lambda s, t: s * torch.sigmoid(t), [{a}, {b}])", f"getattr({a}, 'sigmoid')() * {b}",
            f"(lambda s, t: s * torch.sigmoid(t))({a}, {b})", f"sum(produced({a}, {b}))", f"next(produced({a}, {b}))",
            f"nn.Sequential(nn.Sigmoid())({a}) * {b}", f"torch.Tensor.sigmoid({a}) * {a}", f"max([{a}, {b}], key=lambda t: t.sum().item())",
            f"(F.silu if flag else torch.tanh)({a})", f"operator.attrgetter('mT')({a})", f"[torch.sigmoid, F.silu][flag]({a}) * {a}",
        )
    )  # fmt: skip


def bound_again(p: Words) -> None:
    a, b = p.pick(), p.pick()
    one, two = p.new(), p.new()
    p.lines.append(
        p.one_of(
            f"{one} = {two} = {a} + {b}", f"{one}, {two} = {a}, {b}\n{one}, {two} = {two}, {one}",
            f"({one}, _), {two} = ({a}, {b}), {b}", f"[{one}, {two}] = [{a} * 0.5, {a} * 2]",
            f"{one} = {a}\n{two} = {one}\n{one} = {b}", f"{one} = {two} = {a}\n{one} = {one} + {b}",
            f"for {one}, {two} in (({a}, {b}), ({b}, {a})):\n    pass",
            f"{one} = {a}\nwhile True:\n    {two} = {one}\n    {one} = {one} * torch.sigmoid({b})\n    if {one} is not {a}:\n        break",
            f"{one} = {two} = {a}\nfor step in range(3):\n    {two} = {one}\n    {one} = torch.sigmoid({two}) * {two}\nelse:\n    {one} = {one} + {b}",
            f"{one} = {a}.sigmoid()\n{two} = {one} * {a}\ndel {one}\n{one} = {b}",
            f"{one} = {a}.clone()\n{two} = {one}\n{one} *= 0.5",
        )
    )  # fmt: skip
    p.bind(one)
    p.bind(two)


def of_the_module(p: Words) -> None:
    a, b = p.pick(), p.pick()
    if not p.module:
        p.set(f"Mixer().twice({a}) * {b}")
        return
    if p.maybe(0.2):
        p.lines.append(
            p.one_of(
                "self.calls += 1",
                "self.scale = self.scale * 2",
                "self.eps = 0.5 if flag else 1e-5",
                f"self.kept = {a}",
                "self.calls = flag",
            )
        )
    p.set(
        p.one_of(
            f"self.mix({a}, {b})", f"self.twice({a})", f"super().mix({a}, {b})", f"super().twice({a}) * {b}",
            f"{a} * self.factor + {b} * self.factor", f"self.norm({a}) * self.shared", f"self.drop({a})",
            f"getattr(self, 'k')({a})", f"[layer({a}) for layer in (self.q, self.v)][flag]", f"self.q(self.k({a}))",
            f"F.linear({a}, self.q.weight, self.q.bias) * {b}", f"{a} * self.scale", f"self.children().__next__()({a})",
        )
    )  # fmt: skip


CONSTRUCTS: list[Callable[[Words], None]] = [
    matched, conditional, starred, dictionary, record, closure, default, comprehension, handler, sliced, written_through_view,
    written_through_view, applied, bound_again, of_the_module, of_the_module,
]  # fmt: skip

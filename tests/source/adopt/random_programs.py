"""Random small programs with kernels hidden among everything that confuses an analysis.

A program is a function (or a module's forward) over tensors of one shape, three matrices of four by four, so that every
transpose fits and a mistake shows in numbers rather than in an error. Each step binds names: arithmetic, products, views,
einsums; unpacking of comprehensions, generators, `map`, `zip`, `enumerate`, appended lists, chunks; walrus, aliases,
writes in place, names that are bound again, branches, loops, helpers, and all of `random_constructs.py`; and the formulas
that the rules know, some of them with one operand that is another. The same seed gives the same program.
"""

from __future__ import annotations

from collections.abc import Callable

from source.adopt.random_constructs import CONSTRUCTS, MADE, MIXED, MODULE
from source.adopt.random_constructs import HEAD as CONSTRUCTS_HEAD
from source.adopt.random_words import Words

HEAD = (
    CONSTRUCTS_HEAD
    + """def swish(t):
    return t * torch.sigmoid(t)


def scores_of(a, b, scale=0.5):
    return a @ b.transpose(-2, -1) * scale


def halves(t):
    return t[..., :2], t[..., 2:]


"""
)


class Program(Words):
    """The text of one function, or of a module."""

    def text(self, name: str) -> str:
        made, mixed = self.one_of(*MADE), self.one_of(*MIXED)
        for _ in range(self.random.randint(1, 3)):
            self.random.choice(_CONFUSIONS)(self)
            self.random.choice(_FORMULAS)(self)
        if self.random.random() < 0.5:
            self.random.choice(_CONFUSIONS)(self)
        recent = self.names[-2:]
        kept = self.random.sample(self.names, min(len(self.names), self.random.randint(0, 1)))
        result = " + ".join(dict.fromkeys([*recent[-1:], *kept]))
        self.lines.append(f"return {result}" if self.random.random() < 0.8 else f"return {recent[-1]}, {result}")
        body = "\n".join(self.lines)
        if not self.module:
            return f"def {name}(x, y, z, w, hide, flag):\n" + _indented(body, 1)
        return MODULE.format(name=name, made=_indented(made, 2), mixed=mixed) + _indented(body, 2)

    def interrupt(self) -> None:
        """Something between two steps of a formula."""
        if self.maybe(0.3):
            self.random.choice(_CONFUSIONS)(self)


def _indented(text: str, level: int) -> str:
    return "".join(f"{'    ' * level}{line}\n" for line in text.split("\n"))


# ---- what confuses ---------------------------------------------------------------------------------------------------


def arithmetic(p: Program) -> None:
    a, b = p.pick(), p.pick()
    p.set(
        p.one_of(
            f"{a} + {b}",
            f"{a} * {b} * 0.5",
            f"{a} - {b}",
            f"torch.tanh({a})",
            f"-{a}",
            f"{a} / 2.0",
            f"{a}.clone()",
            f"torch.add({a}, {b}, alpha=0.5)",
            f"torch.maximum({a}, {b})",
            f"torch.where(hide, {a}, {b})",
            f"{a} + {b}.mean(dim=-1, keepdim=True)",
            f"F.relu({a})",
            f"torch.sub({a}, {b}, alpha=2)",
            f"{a}.abs()",
        )
    )


def views(p: Program) -> None:
    a, b = p.pick(), p.pick()
    p.set(
        p.one_of(
            f"{a}.transpose(-2, -1)",
            f"{a}.permute(0, 2, 1)",
            f"{a}.mT",
            f"{a}.transpose(1, 2).contiguous()",
            f"{a}.reshape(3, 16).view(3, 4, 4)",
            f"{a}.flip(-1)",
            f"{a}[:, [1, 0, 3, 2]]",
            f"{a}[..., :4]",
            f"torch.cat([{a}[..., :2], {b}[..., 2:]], dim=-1)",
            f"{a}.unsqueeze(1).squeeze(1)",
        )
    )


def products(p: Program) -> None:
    a, b = p.pick(), p.pick()
    equation = p.one_of(
        "bij,bjk->bik", "bij,bkj->bik", "bij,bik->bjk", "bij,bjk->bki", "bji,bjk->bik", "...ij,...kj->...ik"
    )
    p.set(p.one_of(f"{a} @ {b} * 0.3", f"torch.bmm({a}, {b}) * 0.3", f'torch.einsum("{equation}", {a}, {b}) * 0.3'))


def unpacking(p: Program) -> None:
    a, b = p.pick(), p.pick()
    first, second = p.fresh(), p.fresh()
    while second == first:
        second = p.fresh()
    right = p.one_of(
        f"{a}, {b}", f"[t + 1 for t in ({a}, {b})]", f"(t.tanh() for t in [{a}, {b}])",
        f"map(lambda t: t * 0.5, ({a}, {b}))", f"map(torch.tanh, [{a}, {b}])",
        f"[s * t for s, t in zip([{a}, {b}], [{b}, {a}])]", f"torch.cat([{a}, {b}], dim=-1).chunk(2, dim=-1)",
        f"torch.cat([{a}, {b}], dim=-1).split(4, dim=-1)", f"torch.stack([{a}, {b}]).unbind(0)",
        f"[t * (i + 1) for i, t in enumerate([{a}, {b}])]", f"(t for t in ({b}, {a}))", f"list(reversed([{a}, {b}]))",
        f"[u for t in ([{a}, {b}],) for u in t]", f"sorted([{a}, {b}], key=lambda t: t.sum().item())",
        f"tuple(t.transpose(1, 2) for t in ({a}, {b}))",
    )  # fmt: skip
    p.lines.append(f"{first}, {second} = {right}")
    p.bind(first)
    p.bind(second)


def three_at_once(p: Program) -> None:
    a, b, c = p.pick(), p.pick(), p.pick()
    names = [f"u{p.count + i}" for i in (1, 2, 3)]
    p.count += 3
    right = p.one_of(
        f"torch.cat([{a}, {b}, {c}], dim=-1).chunk(3, dim=-1)",
        f"map(lambda t: t.reshape(3, 4, 4), torch.cat([{a}, {b}, {c}], dim=-1).chunk(3, dim=-1))",
        f"torch.stack([{a}, {b}, {c}], dim=2).permute(2, 0, 1, 3)", f"[t for t in ({a}, {b}, {c})]",
        f"torch.cat([{a}, {b}, {c}], dim=-1).reshape(3, 4, 3, 4).permute(2, 0, 1, 3).unbind(0)",
    )  # fmt: skip
    p.lines.append(f"{', '.join(names)} = {right}")
    for name in names:
        p.bind(name)


def appended(p: Program) -> None:
    a, b = p.pick(), p.pick()
    p.lines += [
        "held = []",
        p.one_of(
            f"for t in ({a}, {b}):\n    held.append(t * 0.5)",
            f"for i, t in enumerate([{a}, {b}]):\n    held.append(t + i)",
            f"held.append({a})\nheld.insert(0, {b})",
            f"held.extend([{a}, {b}])",
            f"held += [{a}, {b}]\nheld.reverse()",
        ),
    ]
    p.set("held[0]")
    p.set(p.one_of("held[1]", "held[-1]", "held.pop()"))


def walrus(p: Program) -> None:
    name = p.fresh()
    expression = f"({name} := {p.pick()} + {p.pick()})"
    p.set(p.one_of(f"{expression} * torch.sigmoid({name})", f"{expression} + {name}.tanh()"))
    p.bind(name)


def alias(p: Program) -> None:
    p.set(p.pick())


def in_place(p: Program) -> None:
    a, b = p.pick(), p.pick()
    if p.maybe():
        a = p.set(f"{a}.clone()")
    p.lines.append(
        p.one_of(
            f"{a}.add_(0.5)",
            f"{a} *= 0.5",
            f"{a} += {b}.detach()",
            f"{a}[0] = 0.25",
            f"{a}.mul_({b}.detach())",
            f"{a}.clamp_(-1, 1)",
            f"{a}[:, 0].zero_()",
            f"{a}.transpose(1, 2).add_(0.1)",
            f"torch.relu_({a})",
            f"{a}.masked_fill_(hide, 0.5)",
        )
    )


def branch(p: Program) -> None:
    a, b = p.pick(), p.pick()
    name = p.fresh()
    test = p.one_of("flag", "flag > 0", "x.shape[0] == 3", "not flag")
    p.lines.append(
        p.one_of(
            f"if {test}:\n    {name} = {a} * torch.sigmoid({a})\nelse:\n    {name} = {b}",
            f"{name} = {a}\nif {test}:\n    {name} = {b} + {a}",
            f"{name} = {a} if {test} else {b}",
            f"{name} = {a} * 0.5\nfor _ in range(2):\n    {name} = {name} * torch.sigmoid({b})",
            f"{name} = {a}\nfor step in range(2):\n    {name} = {name} * torch.sigmoid({name})",
        )
    )
    p.bind(name)


def helper(p: Program) -> None:
    a, b = p.pick(), p.pick()
    name = p.fresh()
    inner = f"def local(s, t=None):\n    t = s if t is None else t\n    return s * torch.sigmoid(t)\n{name} = local({a}, {b})"
    own = f"{name} = self.helper({a})" if p.module else f"{name} = scores_of({a}, {b})"
    p.lines.append(p.one_of(f"{name} = swish({a})", inner, own, f"{name} = torch.cat(halves({a}), dim=-1)"))
    p.bind(name)


_CONFUSIONS: list[Callable[[Program], None]] = [
    arithmetic, arithmetic, views, products, unpacking, unpacking, three_at_once, appended, walrus, alias, in_place, branch,
    helper, *CONSTRUCTS,
]  # fmt: skip


# ---- what the rules know ---------------------------------------------------------------------------------------------


def silu(p: Program) -> None:
    a = p.pick()
    b = a if p.maybe(0.75) else p.pick()
    if p.maybe(0.4):
        gate = p.set(p.one_of(f"torch.sigmoid({b})", f"{b}.sigmoid()", f"1 / (1 + torch.exp(-{b}))"))
        p.interrupt()
        p.set(f"{a} * {gate}")
    else:
        p.set(p.one_of(f"{a} * torch.sigmoid({b})", f"torch.sigmoid({b}) * {a}", f"{a}.mul({b}.sigmoid())"))


def gelu(p: Program) -> None:
    a = p.pick()
    b = a if p.maybe(0.75) else p.pick()
    p.set(
        p.one_of(
            f"0.5 * {a} * (1.0 + torch.erf({b} / math.sqrt(2.0)))",
            f"{a} * 0.5 * (1 + torch.erf({b} * 0.7071067811865476))",
            f"0.5 * {a} * (1 + torch.tanh(math.sqrt(2 / math.pi) * ({b} + 0.044715 * {b} ** 3)))",
            f"0.5 * {a} * (1 + torch.tanh(0.7978845608028654 * ({a} + 0.044715 * torch.pow({b}, 3))))",
            f"{a} * torch.sigmoid(1.702 * {b})",
        )
    )


def softmax(p: Program) -> None:
    a, dim = p.pick(), p.one_of("-1", "1", "2")
    powers = p.set(p.one_of(f"torch.exp({a})", f"({a} - {a}.amax(dim={dim}, keepdim=True)).exp()"))
    p.interrupt()
    p.set(p.one_of(f"{powers} / {powers}.sum(dim={dim}, keepdim=True)", f"{powers} / torch.sum({powers}, {dim}, True)"))


def log_softmax(p: Program) -> None:
    dim = p.one_of("-1", "1", "2")
    inner = f"torch.softmax({p.pick()}, dim={dim})"
    p.set(p.one_of(f"torch.log({inner})", f"({inner} + 0.1).log()", f"{inner}.log()"))


def attention(p: Program) -> None:
    q, k, v = p.pick(), p.pick(), p.pick()
    if p.module and p.maybe():
        q, k, v = p.set(f"self.q({q})"), p.set(f"self.k({k})"), p.set(f"self.v({v})")
    product = p.one_of(
        f"{q} @ {k}.transpose(-2, -1)", f"torch.bmm({q}, {k}.permute(0, 2, 1))", f"torch.matmul({q}, {k}.mT)",
        f'torch.einsum("bid,bjd->bij", {q}, {k})', f'torch.einsum("bdi,bdj->bij", {q}, {k})', f"{q} @ {k}",
        f"torch.baddbmm({v}, {q}, {k}.transpose(1, 2), beta={p.one_of('0', '1')}, alpha=0.5)", f"scores_of({q}, {k})",
    )  # fmt: skip
    scores = p.set(f"{product} * {p.one_of('0.5', 'w.shape[0] ** -0.5', '(1 / 4)')}" if p.maybe(0.7) else product)
    p.interrupt()
    mask = p.one_of(
        "", "", f"{scores} + {p.pick()}.detach()", f"{scores}.masked_fill(hide, float('-inf'))",
        f"{scores}.masked_fill(hide, -1e9)", f"torch.where(hide, torch.finfo({scores}.dtype).min, {scores})",
        f"{scores} + torch.zeros(4, 4, dtype=torch.float64).masked_fill(hide, float('-inf'))",
        f"torch.where(~hide, {scores}, -1e9)", f"{scores}.masked_fill(torch.triu(torch.ones(4, 4), 1) == 1, -math.inf)",
        f"{scores}.add({p.pick()}, alpha=0.5)",
    )  # fmt: skip
    if "-1e9" in mask or "finfo" in mask:  # beside a score below what hides others, nothing is hidden: no operand again
        scores = p.new()
        p.lines.append(f"{scores} = {mask}")
    elif mask:
        scores = p.set(mask)
    weights = p.set(f"torch.softmax({scores}, dim={p.one_of('-1', '-1', '2', '1')})")
    p.interrupt()
    if p.maybe(0.3):
        rate = p.one_of("0.0", "0.3, training=False", "p=0.0, training=True")
        weights = p.set(f"self.drop({weights})" if p.module and p.maybe() else f"F.dropout({weights}, {rate})")
    p.set(
        p.one_of(
            f"{weights} @ {v}",
            f"torch.bmm({weights}, {v})",
            f'torch.einsum("bij,bjd->bid", {weights}, {v})',
            f"{weights} @ {v}.transpose(1, 2)",
            f'torch.einsum("bij,bjd->bdi", {weights}, {v})',
        )
    )


def layer_norm(p: Program) -> None:
    a, weight = p.pick(), p.random.choice(p.weights)
    eps = p.one_of("1e-5", "self.eps") if p.module else "1e-5"
    p.count += 1
    mean, var = f"mean{p.count}", f"var{p.count}"  # of another shape: no operands of other steps
    other = a if p.maybe(0.8) else p.pick()
    variance = p.one_of(
        f"({a} - {mean}).pow(2).mean(-1, keepdim=True)",
        f"{other}.var(dim=-1, keepdim=True, unbiased=False)",
        f"{other}.var(-1, keepdim=True)",
        f"torch.var({a}, dim=-1, correction=0, keepdim=True)",
    )
    p.lines += [f"{mean} = {a}.mean({p.one_of('-1', 'dim=-1', 'dim=1')}, keepdim=True)", f"{var} = {variance}"]
    p.interrupt()
    normed = p.one_of(f"({a} - {mean}) / torch.sqrt({var} + {eps})", f"({a} - {mean}) * torch.rsqrt({var} + {eps})")
    p.set(p.one_of(f"{normed} * {weight} + {weight}", normed, f"{weight} * ({normed})"))


def rms_norm(p: Program) -> None:
    a, weight = p.pick(), p.random.choice(p.weights)
    b = a if p.maybe(0.8) else p.pick()
    square = p.one_of(f"{b}.pow(2)", f"{b} * {b}", f"{b} ** 2", f"torch.square({b})", f"{b} * {a}")
    root = p.one_of(
        f"torch.rsqrt(({square}).mean(-1, keepdim=True) + 1e-5)",
        f"1 / (({square}).mean(dim=-1, keepdim=True) + 1e-5).sqrt()",
    )
    p.set(
        p.one_of(
            f"{a} * {root} * {weight}",
            f"{weight} * ({a} * {root})",
            f"{a} * {root}",
            f"(1 + {weight}) * ({a} * {root})",
        )
    )


def length_one(p: Program) -> None:
    p.set(
        f"F.normalize({p.pick()}, dim={p.one_of('-1', '1')}) * {p.one_of('2.0', '4 ** 0.5')} * {p.random.choice(p.weights)}"
    )


def gated(p: Program) -> None:
    gate, up = p.pick(), p.pick()
    if p.module:
        x = p.pick()
        gate, up = p.set(f"self.q({x})"), p.set(f"self.k({x if p.maybe() else p.pick()})")
        p.interrupt()
    p.set(p.one_of(f"F.silu({gate}) * {up}", f"F.gelu({gate}) * {up}", f"{up} * nn.functional.silu({gate})"))


def rotary(p: Program) -> None:
    a, b = p.pick(), p.pick()
    cos, sin = p.set(f"torch.cos({b})"), p.set(f"torch.sin({b if p.maybe(0.8) else p.pick()})")
    sign = p.one_of("-", "-", "")
    rotated = f"torch.cat(({sign}{a}[..., 2:], {a}[..., :2]), dim=-1)"
    p.set(f"{a} * {cos} + {rotated} * {sin}")


def smoothing(p: Program) -> None:
    a, keep = p.pick(), p.one_of("0.9", "0.9", "0.8")
    p.lines += [
        f"logs = F.log_softmax({a}.reshape(12, 4), dim=-1)",
        "target = torch.arange(12) % 4",
        "named = -logs.gather(dim=-1, index=target.unsqueeze(1)).squeeze(1)",
        f"loss = ({keep} * named + 0.1 * -logs.mean(dim=-1)).mean()",
    ]
    p.set(f"{p.pick()} + loss")


_FORMULAS: list[Callable[[Program], None]] = [
    silu, gelu, gelu, softmax, log_softmax, attention, attention, attention, attention, layer_norm, layer_norm, rms_norm,
    rms_norm, length_one, gated, rotary, smoothing,
]  # fmt: skip

"""What is understood of a model, construct by construct, as `strop show-architecture` prints it."""

import pytest
from golden import golden

from source.adopt.programs import understood

CASES = {
    "spellings": (
        "f",
        """
        def f(a, b, m):
            s = torch.matmul(a, b.transpose(-2, -1)) + a @ b.mT
            s = a.bmm(b) + torch.einsum("bij,bjk->bik", a, b)
            s = F.softmax(s, dim=-1) + s.softmax(-1) + torch.softmax(input=s, dim=-1)
            s += m
            s.mul_(0.5)
            return s / 8 - 1
        """,
    ),
    "canonical_arithmetic": (
        "f",
        """
        def f(x, y):
            a = x * x + x.pow(2) + x**2 + torch.square(x)
            b = x / torch.sqrt(y) + x * y**-0.5 + 1 / y.sqrt()
            c = math.sqrt(2.0 / math.pi) * 0.5 * x
            return a, b, c
        """,
    ),
    "init_and_forward": (
        "Block",
        """
        class Block(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.up = nn.Linear(config.hidden_size, 4 * config.hidden_size, bias=config.bias)
                self.scale = config.head_dim**-0.5
                self.weight = nn.Parameter(torch.ones(config.hidden_size))
                self.register_buffer("table", torch.arange(8))
                self.act = F.gelu if config.exact else nn.SiLU()

            def forward(self, x):
                return self.act(self.up(x)) * self.scale * self.weight
        """,
    ),
    "table_of_activations": (
        "Mlp",
        """
        from activations import ACT2FN

        class Mlp(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.act = ACT2FN[config.hidden_act]
                self.known = {"relu": F.relu, "silu": F.silu}["silu"]

            def forward(self, x):
                return self.known(self.act(x))
        """,
    ),
    "inheritance_and_super": (
        "Child",
        """
        class Base(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.first = nn.Linear(d, d)

            def forward(self, x):
                return self.first(x)

        class Child(Base):
            def __init__(self, d):
                super().__init__(d)
                self.second = nn.Linear(d, d)

            def forward(self, x):
                return self.second(super().forward(x))
        """,
    ),
    "helpers": (
        "Net",
        """
        def rotate(x):
            a, b = x.chunk(2, dim=-1)
            return torch.cat((-b, a), dim=-1)

        class Net(nn.Module):
            def _scaled(self, x, by=2.0):
                return x * by

            def forward(self, x):
                twice = lambda y: y + y
                return rotate(self._scaled(x, by=3.0)) + twice(x)
        """,
    ),
    "containers": (
        "Net",
        """
        class Net(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.stem = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())
                self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(n)])
                self.heads = nn.ModuleDict({"a": nn.Linear(8, 2), "b": nn.Linear(8, 3)})

            def forward(self, x):
                x = self.stem(x).mean((2, 3))
                for layer in self.layers:
                    x = x + layer(x)
                return self.heads["a"](x)
        """,
    ),
    "branches": (
        "f",
        """
        def f(x, mask=None, causal=False):
            if mask is not None:
                x = x + mask
            y = x * 2 if causal else x
            if x.dim() == 3:
                return y.unsqueeze(1)
            return y
        """,
    ),
    "slices_and_items": (
        "f",
        """
        def f(x, q):
            half = x.shape[-1] // 2
            a, b = x[..., :half], x[..., half:]
            c = x[:, None, 0]
            values, places = q.max(dim=-1)
            x[:, 0] = a
            return a, b, c, values, x
        """,
    ),
    "modules_of_the_project": (
        "Outer",
        """
        class Plain(nn.Module):
            def forward(self, x):
                return x * torch.sigmoid(x)

        class Inner(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.proj = nn.Linear(d, d)

            def forward(self, x):
                return self.proj(x)

        class Padded(nn.Conv2d):
            def forward(self, x):
                return super().forward(F.pad(x, (1, 1)))

        class Outer(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.plain = Plain()
                self.inner = Inner(d)
                self.conv = Padded(3, 3, 3)

            def forward(self, x):
                return self.inner(self.plain(self.conv(x)))
        """,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_architecture(tmp_path, case):
    name, source = CASES[case]
    golden(f"adopt/{case}", understood(tmp_path, source, name))


def test_a_name_that_is_not_there(tmp_path):
    from strop.core.problem import Problem

    with pytest.raises(Problem, match="no class or function `Blok`") as problem:
        understood(tmp_path, "class Block(nn.Module):\n    pass\n", "Blok")
    assert problem.value.help == "did you mean `Block`?"


@pytest.mark.parametrize(
    "source",
    [
        "def f(x):\n    while x.sum() > 0:\n        x = x - 1\n    else:\n        x = -x\n    return x\n",
        "def f(x):\n    try:\n        y = x + 1\n    except ValueError as e:\n        raise e\n    finally:\n        pass\n    return y\n",
        "def f(x):\n    match x.dim():\n        case 2:\n            return x\n        case _:\n            y = x * 2\n    return y\n",
        "def f(*xs, **kw):\n    a, *rest = xs\n    return f(*rest, **kw) + kw['b'] + kw.get('c', 1)\n",
        "def f(x):\n    return [y + 1 for y in x if y is not None], {k: v for k, v in x.items()}, (a := x) + a\n",
        "async def f(x):\n    async with x as y:\n        async for z in y:\n            yield z\n",
        "def f(x):\n    global G\n    del x\n    assert G, 'no'\n    G = 1\n    return G\n",
        "def f(n):\n    return f(n - 1) if n else g(n)\ndef g(n):\n    return f(n)\n",
        "class C(C):\n    x: int\n    def f(self):\n        return self.y.z[0](self)(1)\n",
        "def f(x):\n    x.y.z[1] = 2\n    x.a, (b, c) = 1, (2, 3)\n    x[0], x[1] = x[1], x[0]\n    return f'{x}' + x'' if False else b\n".replace(
            "x''", "''"
        ),
    ],
)
def test_anything_that_python_allows_is_understood_somehow(tmp_path, source):
    understood(tmp_path, source, "f" if "class" not in source else "C")

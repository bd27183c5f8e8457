"""Models that only look as if one graph could hold them, each a kind that was found in a package and proposed wrongly."""

from __future__ import annotations

from pathlib import Path

import pytest

from strop.source.facts import Finding
from strop.source.hybridize.torch_worth import layer_of
from strop.source.interpret.values import Unknown, unknown
from strop.source.scan import scan

HEAD = "import numpy as np\nimport torch\nfrom torch import nn\nimport torch.nn.functional as F\n\n\n"
#: a dozen element-wise operations: worth a graph by any estimate
FUSING = """
        y = torch.exp(-x * x) - torch.tanh(x) * torch.sigmoid(x)
        y = y / (1 + y.abs()) + torch.sin(x) * torch.cos(y)
        y = (y - y.mean(-1, keepdim=True)) * torch.rsqrt(y.var(-1, keepdim=True) + 1e-5)
"""


def _found(folder: Path, text: str) -> list[Finding]:
    (folder / "program.py").write_text(HEAD + text, encoding="utf-8")
    return scan([str(folder)]).findings


def _proposed(folder: Path, text: str) -> list[str]:
    return [finding.function for finding in _found(folder, text) if finding.code == "STR150"]


CELL = """class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.u = nn.Linear(width, 2 * width)
        self.register_buffer("start", torch.zeros(1, width))

    def forward(self, x, hx=None):
        {call}

    def cell(self, w, ht):
        steps = []
        for k in range(w.shape[1]):
            at, zt = (w[:, k] + self.u(ht)).chunk(2, 1)
            ht = torch.sigmoid(zt) * ht + (1 - torch.sigmoid(zt)) * torch.relu(at)
            steps.append(ht)
        return torch.stack(steps, dim=1)


class Net(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = nn.ModuleList([Layer(width) for _ in range(depth)])

    def forward(self, x, hx=None):
        for i, layer in enumerate(self.layers):
            if hx is not None:
                x = layer(x, hx[i])
            else:
                x = layer(x)
        return x
"""
BOTH = "if hx is not None:\n            return self.cell(x, hx)\n        else:\n            return self.cell(x, self.start)"
RETURNED = "if hx is not None:\n            return self.cell(x, hx)\n        return self.cell(x, self.start)"
CHOSEN = "return self.cell(x, hx) if hx is not None else self.cell(x, self.start)"


@pytest.mark.parametrize("call", [BOTH, RETURNED, CHOSEN])
def test_a_cell_that_every_branch_runs_over_time_is_not_unrolled_into_a_graph(call: str, tmp_path: Path) -> None:
    assert not _proposed(tmp_path, CELL.format(call=call))


def test_a_loop_over_time_that_an_option_asks_for_leaves_the_rest_of_the_model(tmp_path: Path) -> None:
    call = f"if hx is not None:\n            return self.cell(x, hx){FUSING}        return y"
    assert _proposed(tmp_path, CELL.format(call=call)) == ["Net.forward"]


HARD_MASK = f"""class Explainer:
    def train(self, model, x):
        self.mask, self.hard = nn.Parameter(torch.ones(3, 3)), None
        for i in range(100):
            self.loss(model(x)).backward()
            if i == 0:
                self.hard = self.mask.grad != 0.0

    def loss(self, x):
        {FUSING}
        if self.hard is not None:
            y = y + self.mask[self.hard].sigmoid().mean()
        return y.mean()
"""


def test_a_loss_that_a_mask_of_gradients_selects_from_is_not_proposed(tmp_path: Path) -> None:
    assert not _proposed(tmp_path, HARD_MASK)


MODEL = """class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, width)

    def forward(self, x, {parameter}):
        x = self.up(x)
{body}
        return y
"""
DECLINED = {
    "a list of texts": ("texts: list[str]", "        x = x + len(texts)" + FUSING),
    "texts by what is done with them": (
        "texts",
        "        words = [text.strip() for text in texts]\n        x = x + len(words)" + FUSING,
    ),
    "captions": ("captions", "        x = x + len(captions)" + FUSING),
    "a shape from data where an argument is left out": (
        "mask=None",
        "        if mask is None:\n            x = x[x.sum(-1) > 0]" + FUSING,
    ),
    "a context that Dynamo does not follow, in one branch": (
        "flash",
        "        if flash:\n            with torch.backends.cuda.sdp_kernel(enable_flash=True):\n"
        "                x = F.scaled_dot_product_attention(x, x, x)" + FUSING,
    ),
    "a question to the data unless a flag is given": (
        "diag=False",
        "        if not diag:\n            x = x * 2 if torch.equal(x, x.flip(0)) else x" + FUSING,
    ),
}


@pytest.mark.parametrize("name", DECLINED)
def test_a_model_is_not_proposed_for_what_it_does_by_default(name: str, tmp_path: Path) -> None:
    parameter, body = DECLINED[name]
    assert not _proposed(tmp_path, MODEL.format(parameter=parameter, body=body))


def test_a_model_with_an_option_is_proposed(tmp_path: Path) -> None:
    body = "        if mode == 'mean':\n            x = x - x.mean()" + FUSING
    assert _proposed(tmp_path, MODEL.format(parameter="mode: str = 'mean'", body=body)) == ["Net.forward"]


LOSS = f"class Loss(nn.Module):\n    def forward(self, x):\n{FUSING}        return y.mean()\n"


def test_a_loss_of_a_few_operations_is_not_proposed(tmp_path: Path) -> None:
    assert not _proposed(tmp_path, LOSS.replace("torch.sin(x) * torch.cos(y)", "x"))


def test_a_break_under_a_condition_is_not_reported_in_what_is_compiled(tmp_path: Path) -> None:
    text = "@torch.compile\ndef step(x, check):\n{body}        return x\n"
    certain = text.format(body="    if x.sum() > 0:\n        x = x + 1\n    if True:\n")
    guarded = text.format(body="    if check:\n        if x.sum() > 0:\n            x = x + 1\n    if True:\n")
    call = "\n\nstep(torch.ones(3), bool(input()))\n"
    assert any(f.code == "STR155" for f in _found(tmp_path, certain + call))
    assert not any(f.code == "STR155" for f in _found(tmp_path, guarded + call))


def test_the_assumption_of_an_other_branch_is_negated(tmp_path: Path) -> None:
    body = "        if mode:\n            x = x + 1\n        else:\n            x = x * x.sum().item()\n" + FUSING
    (tmp_path / "program.py").write_text(HEAD + MODEL.format(parameter="mode", body=body), encoding="utf-8")
    (facts,) = [one for one in scan([str(tmp_path)]).functions if one.function == "Net.forward"]
    assert any("not (`not mode`)" in text for text in facts.assumptions)


MASK = """
def refine(z):
    for _ in range(20):
        z = torch.exp(-z * z) - torch.tanh(z) * torch.sigmoid(z) * int(z[-1].sum())
    return z


class Net(nn.Module):
    def __init__(self, rounds):
        super().__init__()
        self.rounds = rounds

    def forward(self, x):{work}
        if self.rounds < 0:
            return x
        else:
            return refine(x)
"""


def test_what_an_assumption_excludes_is_no_gain(tmp_path: Path) -> None:
    assert not _proposed(tmp_path, MASK.format(work=""))


def test_the_estimate_counts_what_an_assumption_leaves(tmp_path: Path) -> None:
    (with_branch,) = [f for f in _found(tmp_path, MASK.format(work=FUSING * 2)) if f.code == "STR150"]
    plain = MASK.format(work=FUSING * 2).replace("refine(x)", "x")
    (without,) = [f for f in _found(tmp_path, plain) if f.code == "STR150"]
    assert any("self.rounds < 0" in text for text in with_branch.assumptions)
    assert with_branch.estimated_gain == without.estimated_gain


def test_what_the_standard_library_makes_is_no_layer() -> None:
    """A variable of a context was taken for a layer of the package `contextvars`, that can be traced."""
    made = {name: unknown(f"result of `{name}`").atoms[0] for name in ("contextvars.ContextVar", "strange.layers.Mlp")}
    assert [layer_of(atom) for atom in made.values() if isinstance(atom, Unknown)] == ["", "strange.layers.Mlp"]


OPTIMIZERS = {
    "torch.optim.Adam(net.parameters())": {"STR775"},
    "torch.optim.Adam([temperature])": set(),
    "nn.utils.clip_grad_norm_(net.parameters(), 1.0, foreach=False)": set(),
}


@pytest.mark.parametrize("call", OPTIMIZERS)
def test_an_optimizer_of_single_tensors_and_what_is_none_get_no_kernel(call: str, tmp_path: Path) -> None:
    net = "nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))"
    text = f"net, temperature = {net}, nn.Parameter(torch.ones(1))\nresult = {call}\n"
    assert {f.code for f in _found(tmp_path, text) if f.code.startswith("STR77")} == OPTIMIZERS[call]


FORGET = """class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 2 * width)

    def forward(self, x):
        z, f = self.up(x).chunk(2, -1)
        z, f, kept, steps = torch.tanh(z), torch.sigmoid(f), None, []
        for i, h in enumerate((f * z).split(1, dim=0)):
            if kept is not None:
                h = h + (1 - f[i]) * kept
            kept = h
            steps.append(h)
        y = torch.cat(steps) * torch.sigmoid(z)
        return y / (1 + y.abs()) + torch.sin(y) * torch.cos(y) + torch.exp(-y) * torch.rsqrt(y.var(-1, keepdim=True))
"""


def test_a_small_cell_over_time_is_not_unrolled_either(tmp_path: Path) -> None:
    assert not _proposed(tmp_path, FORGET)


ROTATED = """def corners(distances, angle):
    x, y = torch.split(distances, 2, -1)
    cos, sin = torch.cos(angle), torch.sin(angle)
    return torch.cat([x * cos - y * sin, x * sin + y * cos], -1)
"""


def test_a_rotation_in_a_plane_is_no_rotary_embedding(tmp_path: Path) -> None:
    assert not any(f.code.startswith("STR74") and not f.fixable for f in _found(tmp_path, ROTATED))


ASKED = f"""def distance(x, square):
    same = torch.equal(x, x.flip(0))
    return x * 2 if square and same else x


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, width)

    def forward(self, x, square):
        x = self.up(x)
        if square:
            x = distance(x, True)
        else:
            x = distance(x, False)
{FUSING}        return y
"""


def test_a_question_to_the_data_in_every_branch_is_a_break(tmp_path: Path) -> None:
    assert not _proposed(tmp_path, ASKED)


WARNED = """import warnings


def _warn():
    warnings.warn("deprecated")


@torch.compile
def step(x: torch.Tensor, old=None):
    if old is not None:
        _warn()
    return x * 2
"""


def test_a_warning_that_only_an_old_argument_brings_is_not_reported(tmp_path: Path) -> None:
    text = f"{WARNED}\n\ndef run(x: torch.Tensor, old):\n    return step(x, old)\n"
    assert not any(f.code == "STR158" for f in _found(tmp_path, text))
    assert any(f.code == "STR158" for f in _found(tmp_path, text.replace("    if old is not None:\n    ", "")))


WRAPPER = f"""class Denoiser(nn.Module):
    def __init__(self, inner_model):
        super().__init__()
        self.inner_model = inner_model

    def forward(self, x: torch.Tensor, sigma: torch.Tensor):
        y = x{3 * FUSING.replace("-x * x", "-y * y")}        return {{call}}(y, sigma) + y
"""


@pytest.mark.parametrize("call", ["self.inner_model", "self.inner_model.apply_model", "self.inner_model.net"])
def test_what_stands_around_a_model_that_is_passed_in_is_small_beside_it(tmp_path: Path, call: str) -> None:
    assert _proposed(tmp_path, WRAPPER.format(call=call)) == []
    assert _proposed(tmp_path, WRAPPER.format(call="torch.add")) == ["Denoiser.forward"]


def test_a_copy_of_a_model_is_not_where_it_is_made(tmp_path: Path) -> None:
    text = f"""class Net(nn.Module):
    def forward(self, x):{4 * FUSING}        return y


def train(loader):
    net = Net()
    average = copy.deepcopy(net)
    for x in loader:
        loss = average(x).sum()
        loss.backward()
"""
    found = _found(tmp_path, "import copy\n\n" + text)
    assert not [finding for finding in found if "`average`" in finding.message]
    made = _found(tmp_path, text.replace("copy.deepcopy(net)", "Net()"))
    assert [finding for finding in made if "`average`" in finding.message]


SPECTRUM = f"""from audiotools import AudioSignal


class Spectrum(nn.Module):
    def forward(self, x: {{kind}}):
        a = x.{{method}}
        y = a.exp(){3 * FUSING.replace("-x * x", "-y * y").replace("(x)", "(a)")}        return y
"""


def test_methods_of_an_object_that_nobody_knows_may_do_anything(tmp_path: Path) -> None:
    assert _proposed(tmp_path, SPECTRUM.format(kind="AudioSignal", method="stft(512)")) == []
    assert _proposed(tmp_path, SPECTRUM.format(kind="torch.Tensor", method="abs()")) == ["Spectrum.forward"]


def test_a_loss_of_a_few_operations_is_small_beside_its_model(tmp_path: Path) -> None:
    text = f"""class SomeLoss(nn.Module):
    def forward(self, x: torch.Tensor):{FUSING}        return y


some = SomeLoss()
for x in torch.randn(8, 2, 4):
    some(x)
"""
    assert not [finding for finding in _found(tmp_path, text) if finding.code == "STR150"]
    assert [finding for finding in _found(tmp_path, text.replace("SomeLoss", "Some")) if finding.code == "STR150"]


def test_a_function_that_calls_what_a_parameter_holds_is_whatever_its_caller_makes_it(tmp_path: Path) -> None:
    text = f"""def eval_step(x: torch.Tensor, losses):{2 * FUSING.replace(" " * 8, " " * 4)}    for name, loss in losses.items():
        y = y + loss(y)
    return y


for x in torch.randn(8, 2, 4):
    eval_step(x, {{"a": torch.sin, "b": lambda y: y.exp() + 1}})
"""
    assert _proposed(tmp_path, text) == []
    assert _proposed(tmp_path, text.replace("y + loss(y)", "y + torch.sin(y)")) == ["eval_step"]


def test_a_buffer_that_counts_steps_decides_by_its_data(tmp_path: Path) -> None:
    text = f"""class Renorm(nn.Module):
    def __init__(self, warmup: int = 100):
        super().__init__()
        self.register_buffer("steps", torch.tensor(0, dtype=torch.long))
        self.warmup = warmup

    def forward(self, x: torch.Tensor):{3 * FUSING}        if self.training:
            if self.steps > self.warmup:
                y = y * 2
            self.steps += 1
        return y
"""
    assert _proposed(tmp_path, text) == []
    assert _proposed(tmp_path, text.replace("self.steps > self.warmup", "self.warmup > 3")) == ["Renorm.forward"]


SCRIPTED = f"""class Force(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        {FUSING}
        z = float(torch.sum(y).item())
        return torch.sin(y) * torch.cos(y) + torch.exp(y) * z


def main(args):
    wrapper = Force(args.model).eval()
    scripted = {{how}}
    scripted.save("force.pt")
"""


@pytest.mark.parametrize("how", ["torch.jit.script(wrapper)", "torch.jit.trace(wrapper, torch.ones(3))"])
def test_a_model_that_is_made_to_be_scripted_is_not_told_of_breaks(how: str, tmp_path: Path) -> None:
    """What is scripted counted as compiled, and what ends a graph of Dynamo's was told of it."""
    assert not _found(tmp_path, SCRIPTED.format(how=how))


FIRST_CALL = f"""class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.ready = {{start}}
        self.scale = nn.Parameter(torch.ones(3))
        self.calls = 0

    def forward(self, x):
        if {{test}}:
            self.scale.data.fill_(float(x.std().item()))
            {{after}}
        {FUSING}
        return y * self.scale


model = Normed()
for x in torch.randn(9, 4, 3):
    model(x)
"""


@pytest.mark.parametrize(
    ("start", "test", "after", "told"),
    [
        ("False", "not self.ready", "self.ready = True", False),
        ("None", "self.ready is None", "self.ready = self.scale", False),
        ("False", "self.training and not self.ready", "self.ready = True", False),
        ("False", "self.training", "pass", True),
    ],
)
def test_what_only_the_first_call_does_ends_no_graph(
    start: str, test: str, after: str, told: bool, tmp_path: Path
) -> None:
    codes = {finding.code for finding in _found(tmp_path, FIRST_CALL.format(start=start, test=test, after=after))}
    assert ("STR156" in codes) is told


EXCHANGES = """def average(grads, world):
    packed = torch.cat([g.view(-1) for g in grads])
    {}
    packed = packed / world
    for g in grads:
        g.copy_(torch.tanh(packed[: g.numel()]).view_as(g) * torch.sigmoid(g) + torch.exp(-g * g) - torch.sin(g))


class Algorithm:
    def average_step(self):
        average([p.grad for p in self.model.parameters()], 2)

    def update(self):
        for batch in self.storage:
            self.loss(batch).backward()
            self.average_step()
"""


def test_a_function_in_which_processes_wait_for_each_other_is_not_proposed(tmp_path: Path) -> None:
    assert not _proposed(tmp_path, EXCHANGES.format("torch.distributed.all_reduce(packed)"))


FORCES = f"""class Potential(nn.Module):
    def forward(self, data: dict[str, torch.Tensor]):
        data["positions"].requires_grad_(True)
        x = data["positions"]
        {FUSING}
        return y.sum(-1)


model = Potential()
for x in torch.randn(9, 4, 3):
    model({{"positions": x}})
"""


def test_a_model_that_asks_for_gradients_of_its_inputs_is_not_told_to_be_mended(tmp_path: Path) -> None:
    assert not _found(tmp_path, FORCES)

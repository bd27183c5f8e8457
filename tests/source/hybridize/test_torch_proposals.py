"""What is proposed to be compiled: the outermost model or step, once, where it pays; and what never is."""

from __future__ import annotations

from pathlib import Path

import pytest

from strop.source.facts import Finding
from strop.source.fix import fixing
from strop.source.scan import Defaults, scan

HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n\n\n"
#: a dozen element-wise operations: worth a graph by any estimate
BODY = """    y = x * 2 + 1
    y = torch.exp(-y * y) - torch.tanh(y) * torch.sigmoid(x)
    y = y / (1 + y.abs()) + torch.sin(x) * torch.cos(y)
    return (y - y.mean(-1, keepdim=True)) * torch.rsqrt(y.var(-1, keepdim=True) + 1e-5)
"""
MODEL = """class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, width)

    def forward(self, x):
        x = self.up(x)
        y = x * torch.sigmoid(x) + x / (1 + x.abs())
        return (y - y.mean(-1, keepdim=True)) * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5) + x * 0.5


class Net(nn.Module):
    def __init__(self, width=2048, depth=4):
        super().__init__()
        self.blocks = nn.ModuleList([Block(width) for _ in range(depth)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
"""


class Cuda(Defaults):
    target = "cuda"


def _write(folder: Path, text: str, name: str = "program.py") -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(HEAD + text, encoding="utf-8")
    return file


def _proposed(folder: Path, text: str = "", name: str = "program.py") -> list[Finding]:
    if text:
        _write(folder, text, name)
    return [f for f in scan([str(folder)]).findings if f.code == "STR150"]


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" if line else "\n" for line in text.split("\n")[:-1])


LOOPED = f"def step(x):\n{BODY}\n\nfor _ in range(100):\n    step(torch.randn(8, 8))\n"


def test_a_function_that_a_loop_calls_is_proposed(tmp_path: Path) -> None:
    (found,) = _proposed(tmp_path, LOOPED)
    assert (found.function, found.safety, found.fixable) == ("step", "safe", True)
    assert found.estimated_gain is not None and found.estimated_gain > 1.5 and "fuse" in found.gain_reason


NEVER = {
    "what module-level code calls once": f"def step(x):\n{BODY}\n\nstep(torch.randn(8, 8))\n",
    "what only such a function calls": f"def step(x):\n{BODY}\n\ndef main():\n    return step(torch.randn(8, 8))\n\n\nmain()\n",
    "a factory": f"def make_table(x: torch.Tensor):\n{BODY}",
    "an initialiser in a loop over layers": (
        f"def fill(x):\n{BODY}\n\ndef init_weights(model):\n    for p in model.parameters():\n        p.data = fill(p.data)\n"
    ),
    "five operations": "def step(x):\n    return torch.sin(x) * 2 + x.abs() - 1\n\n\nfor _ in range(9):\n    step(torch.ones(2))\n",
    "a loader": (
        "class Data(torch.utils.data.Dataset):\n    def __getitem__(self, i):\n        return self.change(torch.randn(8, 8))\n\n"
        f"    def change(self, x):\n{_indented(BODY)}"
    ),
    "a collate function": f"def collate_rows(x: torch.Tensor):\n{BODY}\n\nfor _ in range(9):\n    collate_rows(torch.ones(2))\n",
    "a constructor": f"class Net(nn.Module):\n    def __init__(self, x: torch.Tensor):\n        super().__init__()\n        self.table = self.fill(x)\n\n    def fill(self, x):\n{_indented(BODY)}",
}


@pytest.mark.parametrize("name", NEVER)
def test_what_runs_once_is_tiny_or_loads_data_is_not_proposed(name: str, tmp_path: Path) -> None:
    assert not _proposed(tmp_path, NEVER[name])


@pytest.mark.parametrize("name", ["tests/test_step.py", "test_step.py", "package/tests/helpers.py", "conftest.py"])
def test_tests_are_not_proposed(name: str, tmp_path: Path) -> None:
    assert not _proposed(tmp_path, LOOPED, name)


def test_methods_of_test_cases_are_not_proposed(tmp_path: Path) -> None:
    case = f"class Checks(unittest.TestCase):\n    def step(self, x):\n{_indented(BODY)}\n    def test_it(self):\n        for _ in range(9):\n            self.step(torch.ones(2, 2))\n"
    assert not _proposed(tmp_path, f"import unittest\n\n\n{case}")


EXPORTS = {
    "trace": "torch.jit.trace(net, torch.randn(1, 2048))",
    "script": "torch.jit.script(net)",
    "onnx": "torch.onnx.export(net, torch.randn(1, 2048), 'net.onnx')",
    "export": "torch.export.export(net, (torch.randn(1, 2048),))",
    "fx": "torch.fx.symbolic_trace(net)",
}
USED = "net = Net()\nfor _ in range(100):\n    net(torch.randn(2, 2048))\n"


@pytest.mark.parametrize("name", EXPORTS)
def test_a_model_that_is_exported_and_its_parts_are_not_proposed(name: str, tmp_path: Path) -> None:
    assert _proposed(tmp_path, f"{MODEL}\n\n{USED}")
    assert not _proposed(tmp_path, f"{MODEL}\n\n{USED}{EXPORTS[name]}\n")


def test_a_class_that_is_written_for_torchscript_is_not_decorated(tmp_path: Path) -> None:
    scripted = MODEL.replace(
        "        for block in", "        if torch.jit.is_scripting():\n            return x\n        for block in"
    )
    assert not _proposed(tmp_path, scripted)


def test_a_library_model_gets_one_proposal_on_its_outermost_forward(tmp_path: Path) -> None:
    (found,) = _proposed(tmp_path, MODEL)
    assert found.function == "Net.forward"
    assert fixing.fix(lambda: scan([str(tmp_path)]), unsafe=True).plan.diff().count("+    @torch.compile") == 1


def test_a_model_that_a_script_makes_is_compiled_there(tmp_path: Path) -> None:
    (found,) = _proposed(tmp_path, f"{MODEL}\n\n{USED}")
    assert "net.compile()" in found.message and found.function == "<module>" and found.safety == "safe-if"


def test_a_script_in_another_file_makes_the_model(tmp_path: Path) -> None:
    _write(tmp_path, MODEL, "nets.py")
    train = "from nets import Net\n\n\ndef train(data):\n    model = Net(64).cuda()\n    for x in data:\n        model(x).sum().backward()\n"
    (found,) = _proposed(tmp_path, train, "train.py")
    assert found.place.file.endswith("train.py") and "model.compile()" in found.message


def test_the_step_that_calls_the_model_covers_it(tmp_path: Path) -> None:
    step = f"def step(net, x):\n    x = net(x)\n{BODY}\n\nnet = Net()\nfor _ in range(9):\n    step(net, torch.randn(2, 2048))\n"
    (found,) = _proposed(tmp_path, f"{MODEL}\n\n{step}")
    assert found.function == "step"


DIT = """from timm.models.vision_transformer import Attention, Mlp


def modulate(x, shift, scale):
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, elementwise_affine=False)
        self.attn = Attention(width)
        self.norm2 = nn.LayerNorm(width, elementwise_affine=False)
        self.mlp = Mlp(width)
        self.modulation = nn.Sequential(nn.SiLU(), nn.Linear(width, 6 * width))

    def forward(self, x, c):
        a, b, g, d, e, h = self.modulation(c).chunk(6, dim=1)
        x = x + g.unsqueeze(1) * self.attn(modulate(self.norm1(x), a, b))
        return x + h.unsqueeze(1) * self.mlp(modulate(self.norm2(x), d, e))


class Final(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.linear = nn.Linear(width, width)
        self.modulation = nn.Sequential(nn.SiLU(), nn.Linear(width, 2 * width))

    def forward(self, x, c):
        shift, scale = self.modulation(c).chunk(2, dim=1)
        return self.linear(modulate(self.norm(x), shift, scale))


class DiT(nn.Module):
    def __init__(self, width=384, depth=12):
        super().__init__()
        self.blocks = nn.ModuleList([Block(width) for _ in range(depth)])
        self.final = Final(width)

    def forward(self, x, c):
        for block in self.blocks:
            x = block(x, c)
        return self.final(x, c)
"""


def test_layers_of_another_package_are_an_assumption_and_the_model_is_one_proposal(tmp_path: Path) -> None:
    (found,) = _proposed(tmp_path, DIT)
    assert (found.function, found.safety) == ("DiT.forward", "safe-if")
    assert "layers of `timm` can be traced" in found.assumptions


CONVOLUTIONS = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([nn.Sequential(nn.Conv2d(64, 64, 3), nn.BatchNorm2d(64), nn.ReLU()) for _ in range(8)])

    def forward(self, x):
        for part in self.parts:
            x = x + part(x)
        return x


net = Net()
for _ in range(100):
    net(torch.randn(2, 64, 32, 32)).sum().backward()
"""


def test_convolutions_are_left_alone_on_a_cpu_and_compiled_for_a_gpu(tmp_path: Path) -> None:
    assert not _proposed(tmp_path, CONVOLUTIONS)
    found = [f for f in scan([str(tmp_path)], Cuda()).findings if f.code == "STR150"]
    assert len(found) == 1 and "8" not in found[0].message


def test_a_plain_transformer_is_left_alone_on_a_cpu(tmp_path: Path) -> None:
    block = """class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).chunk(3, -1)
        x = x + self.drop(self.out(F.scaled_dot_product_attention(q, k, v)))
        return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))
"""
    rest = MODEL[MODEL.index("class Net") :]
    assert not _proposed(tmp_path, f"{block}\n\n{rest}")


def test_a_model_behind_a_flag_that_compiles_it_is_left_alone(tmp_path: Path) -> None:
    used = USED.replace("for _", "import sys\nif '--compile' in sys.argv:\n    net = torch.compile(net)\nfor _")
    assert not _proposed(tmp_path, f"{MODEL}\n\n{used}")


def test_a_smoke_test_below_a_model_says_nothing_of_how_often_it_runs(tmp_path: Path) -> None:
    (found,) = _proposed(
        tmp_path, f'{MODEL}\n\nif __name__ == "__main__":\n    print(Net()(torch.randn(1, 2048)).shape)\n'
    )
    assert found.function == "Net.forward"


# -- graph breaks ------------------------------------------------------------------------------------------------------


def _breaks(folder: Path, text: str) -> list[Finding]:
    _write(folder, text)
    return [f for f in scan([str(folder)]).findings if "STR155" <= f.code <= "STR178" and f.code != "STR172"]


def test_a_break_that_keeps_a_model_from_being_one_graph_is_reported_in_its_part(tmp_path: Path) -> None:
    (found,) = _breaks(tmp_path, MODEL.replace("        y = x *", "        print(x.shape)\n        y = x *"))
    assert found.function == "Block.forward" and "`Net.forward`" in found.message
    assert found.estimated_gain is not None and found.estimated_gain >= 1.15


def test_breaks_of_one_kind_in_one_function_are_one_finding(tmp_path: Path) -> None:
    text = MODEL.replace(
        "        y = x *", "        a = x.sum().item()\n        b = x.mean().item() + a\n        y = b * x *"
    )
    (found,) = _breaks(tmp_path, text)
    assert found.code == "STR156" and f"also in line {found.place.line + 1}" in found.message


def test_a_break_in_what_nobody_would_compile_is_not_reported(tmp_path: Path) -> None:
    assert not _breaks(tmp_path, "def report(x: torch.Tensor):\n    print(x.sum().item())\n    return x * 2\n")


def test_a_break_in_what_a_compiled_function_calls_is_reported(tmp_path: Path) -> None:
    text = "def part(x):\n    print(x.shape)\n    return x * 2\n\n\n@torch.compile\ndef f(x):\n    return part(x) + 1\n\n\nf(torch.ones(2))\n"
    (found,) = _breaks(tmp_path, text)
    assert found.function == "part" and "`f`" in found.message


def test_a_metric_of_a_library_saves_too_little(tmp_path: Path) -> None:
    metric = """def precision(pr, gt, eps=1e-7, threshold=0.5):
    pr = (pr > threshold).type(pr.dtype)
    tp = torch.sum(gt * pr)
    fp = torch.sum(pr) - tp
    return (tp + eps) / (tp + fp + eps)


class Precision(nn.Module):
    def forward(self, pr, gt):
        return precision(pr, gt)
"""
    assert _proposed(tmp_path, metric) == []


def test_compiling_in_a_loop_is_found_in_a_file_without_functions(tmp_path: Path) -> None:
    _write(tmp_path, "net = nn.Linear(2, 2)\nfor _ in range(3):\n    torch.compile(net)(torch.ones(2))\n")
    assert [f.code for f in scan([str(tmp_path)]).findings if f.code == "STR172"] == ["STR172"]


TRANSFORM = f"class Jitter(nn.Module):\n    def __init__(self, strength=0.5):\n        super().__init__()\n        self.strength = strength\n\n    def forward(self, x):\n{_indented(BODY)}"


def test_a_transform_of_data_without_parameters_is_not_proposed(tmp_path: Path) -> None:
    assert not _proposed(tmp_path, TRANSFORM, "package/transforms/jitter.py")


def test_a_model_with_layers_in_a_folder_of_transforms_is_proposed(tmp_path: Path) -> None:
    assert [f.function for f in _proposed(tmp_path, MODEL, "package/transforms/flow.py")] == ["Net.forward"]


def test_what_lies_in_a_folder_of_metrics_is_not_proposed(tmp_path: Path) -> None:
    assert not _proposed(tmp_path, MODEL, "package/metrics/calibration.py")


def test_a_function_that_decodes_texts_is_not_proposed(tmp_path: Path) -> None:
    text = """def decoded(text):
    found = {}
    for word in text.split("_"):
        key, value = word[0], word[1:]
        found[key] = 1 if value == "re" else 2 if value == "sw" else 3 if value == "hs" else 4 if value == "r6" else value
    return found


def every(x: torch.Tensor):
    options = {"first": "ir_re", "second": "ds_sw", "weight": x}
    return [decoded(options[name]) for name in ("first", "second")]
"""
    assert not _proposed(tmp_path, text)


def test_a_model_that_selects_by_a_mask_is_not_told_to_be_mended(tmp_path: Path) -> None:
    text = MODEL.replace("        return x\n", "        return x[x > 0]\n")
    _write(tmp_path, text)
    assert not [f for f in scan([str(tmp_path)]).findings if f.code == "STR157"]


def test_a_flag_that_reaches_a_compiled_function_through_a_wrapper_makes_two_graphs_at_most(tmp_path: Path) -> None:
    text = """@torch.compile
def pooled(x, aligned):
    if aligned:
        return x - 0.5
    return x * 2


def wrapper(*args, **kwargs):
    return pooled(*args, **kwargs)


def run(x: torch.Tensor):
    return pooled(x, aligned=bool(x.dim() > 2))
"""
    _write(tmp_path, text)
    assert not [f for f in scan([str(tmp_path)]).findings if f.code == "STR171"]


PASSED = """@torch.compile
def f(x: torch.Tensor, size):
    {}
    return x * 2


def run(x: torch.Tensor, size):
    f(x, size)
    f(x, x.sum())
"""


@pytest.mark.parametrize(
    "statement",
    [
        "x = x + torch.arange(size, device=x.device)",
        "x = x[:, :size]",
        "if size > 1: x = x * 2",
        "x = x[f'{size}_index']",
    ],
    ids=["size", "bound", "branch", "text"],
)
def test_a_break_that_rests_on_what_is_passed_in_is_not_reported(statement: str, tmp_path: Path) -> None:
    assert not _breaks(tmp_path, PASSED.format(statement))
    assert _breaks(tmp_path, PASSED.format(statement).replace("f(x, size)\n", "f(x, x.sum())\n"))


def test_a_check_behind_a_question_whether_it_is_compiled_is_not_reported(tmp_path: Path) -> None:
    asks = (
        "_asked = getattr(torch.compiler, 'is_compiling', None) or getattr(torch._dynamo, 'is_compiling', None)\n\n\n"
        "def is_compiling():\n    return bool(_asked()) if _asked is not None else False\n\n\n"
    )
    check = "    if not is_compiling():\n        if bool((x > 0).all()):\n            print('positive')\n"
    compiled = f"@torch.compile\ndef f(x: torch.Tensor):\n{check}    return x * 2\n"
    assert not _breaks(tmp_path, asks + compiled)
    assert _breaks(tmp_path, asks + compiled.replace("not is_compiling()", "is_compiling()"))


def test_a_loop_over_the_length_of_a_tensor_is_left_to_its_body(tmp_path: Path) -> None:
    loop = """

class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = Net()

    def forward(self, x):
        batch, steps = x.shape[:2]
        found = []
        for step in range(steps):
            found.append(self.cell(x[:, step]))
        return torch.stack(found, 1)
"""
    assert [f.function for f in _proposed(tmp_path, MODEL + loop)] == ["Net.forward"]


def test_a_function_that_visits_every_parameter_is_not_proposed(tmp_path: Path) -> None:
    text = f"def mix(x):\n{BODY}\n\ndef update(model):\n    for p in model.parameters():\n        p.copy_(mix(p))\n"
    assert not _proposed(tmp_path, text)


_AVERAGES = """
def average(target: nn.Module, source: nn.Module, tau: float):
    for p, q in zip(target.parameters(), source.parameters()):
        p.data.copy_(tau * q.data + (1 - tau) * p.data)


class Pairs:
    def __init__(self):
        self.pairs = [(nn.Linear(2, 2), nn.Linear(2, 2))]

    def update(self, tau: float):
        for target, source in self.pairs:
            average(target, source, tau)


class Learner:
    def __init__(self):
        self.pairs = Pairs()

    def follow(self, x: torch.Tensor):
        self.pairs.update(0.1)


learner = Learner()
for _ in range(100):
    learner.follow(torch.ones(4))
"""


def test_a_function_that_hands_every_parameter_on_is_not_proposed(tmp_path: Path) -> None:
    call = "        self.pairs.update(0.1)\n"
    assert not _proposed(tmp_path, _AVERAGES)
    assert not _proposed(tmp_path, _AVERAGES.replace(call, call + call))


def test_a_function_that_visits_parameters_beside_other_work_is_proposed(tmp_path: Path) -> None:
    call = "        self.pairs.update(0.1)\n"
    beside = _AVERAGES.replace(call, call + _indented(BODY))
    assert [f.function for f in _proposed(tmp_path, beside)] == ["Learner.follow"]


def test_a_word_that_chooses_a_layer_is_no_operation(tmp_path: Path) -> None:
    text = """LAYERS = {"relu": nn.ReLU, "silu": nn.SiLU}


def layer_of(name):
    if isinstance(name, str):
        return LAYERS[name.lower()]
    return name


def decode(words):
    found = []
    for word in words.split("_"):
        layer = layer_of(word)
        found.append(layer_of(layer))
        found.append(int(layer_of(layer).strip()) if layer else layer_of(layer_of("silu")).lower().upper().strip())
    return found


for line in open("names"):
    decode(line)
"""
    assert not _proposed(tmp_path, text)


def test_a_function_that_reads_files_in_one_branch_is_not_proposed(tmp_path: Path) -> None:
    reads = "    if isinstance(x, str):\n        x = torch.frombuffer(open(x, 'rb').read(), dtype=torch.uint8)\n"
    assert not _proposed(tmp_path, LOOPED.replace("def step(x):\n", "def step(x):\n" + reads))


BESIDE = f"""def overlap(x):
{BODY}

def chosen(boxes):
    return overlap(boxes).argmax(-1).tolist()


def main():
    net = nn.Sequential({", ".join(["nn.Conv2d(8, 8, 3)"] * 40)})
    for _ in range(100):
        chosen(net(torch.randn(1, 8, 99, 99)))


main()
"""


def test_a_function_that_saves_nothing_beside_a_model_in_the_same_loop_is_not_proposed(tmp_path: Path) -> None:
    assert not _proposed(tmp_path, BESIDE)
    alone = BESIDE.replace("net(torch.randn(1, 8, 99, 99))", "torch.randn(50, 8)")
    assert [found.function for found in _proposed(tmp_path, alone)] == ["overlap"]

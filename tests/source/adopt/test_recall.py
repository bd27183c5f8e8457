"""Kinds of code that were missed: attention by bmm, smoothed labels, `normalize` as RMSNorm, averages, scripts."""

import textwrap

import pytest
import torch

from source.adopt.programs import HEADER
from strop.source import adopt
from strop.source.adopt.names import QuickProject
from strop.source.facts import Scan
from strop.source.fix.fixing import fix


@pytest.fixture
def both(tmp_path):
    """A program and what all edits make of it, as dictionaries of names; and the findings."""

    def run(source):
        file = tmp_path / "model.py"
        file.write_text(HEADER + textwrap.dedent(source))
        found = adopt.findings(QuickProject([str(file)], [str(file)]))
        done = fix(lambda: Scan(findings=adopt.findings(QuickProject([str(file)], [str(file)]))), unsafe=True)
        names = []
        for text in (file.read_text(), done.plan.after.get(str(file), file.read_text())):
            names.append({"__text__": text})
            exec(text, names[-1])
        return *names, {finding.code: finding for finding in found}

    return run


def same(before, after, *arguments, **close):
    results = []
    for function in (before, after):
        given = [one.clone().requires_grad_(one.is_floating_point()) for one in arguments]
        result = function(*given)
        (result * torch.linspace(0.5, 1.5, result.numel()).view(result.shape)).sum().backward()
        results.append([result, *(one.grad for one in given if one.grad is not None)])
    torch.testing.assert_close(*results, **close)


BMM = """
    def attend(q, k, v):
        scores = torch.bmm(q, k.permute(0, 2, 1)) / math.sqrt(8)
        weights = F.softmax(scores, dim=2)
        return torch.bmm(weights, v)
"""
BADDBMM = """
    def attend(q, k, v):
        empty = torch.empty(q.shape[0], q.shape[1], k.shape[1])
        scores = torch.baddbmm(empty, q, k.transpose(-1, -2), beta=0, alpha=0.35)
        return torch.bmm(scores.softmax(dim=-1), v)
"""


@pytest.mark.parametrize("source", [BMM, BADDBMM], ids=["bmm", "baddbmm"])
def test_attention_by_batched_products(both, source):
    before, after, found = both(source)
    assert "scaled_dot_product_attention" in after["__text__"] and found["STR701"].safety == "safe"
    same(before["attend"], after["attend"], *(torch.randn(2, 5, 8) for _ in range(3)))


GATHER = """
    class Smoothed(nn.Module):
        def __init__(self, smoothing=0.1):
            super().__init__()
            self.smoothing = smoothing
            self.confidence = {rest}

        def forward(self, x, target):
            logs = F.log_softmax(x, dim=-1)
            nll = -logs.gather(dim=-1, index=target.unsqueeze(1))
            nll = nll.squeeze(1)
            smooth = -logs.mean(dim=-1)
            loss = self.confidence * nll + self.smoothing * smooth
            return loss.mean()

    def loss(x, target):
        return Smoothed()(x, target)
"""
NLL = """
    def loss(x, target, eps=0.2):
        logs = x.log_softmax(dim=1)
        nll = F.nll_loss(logs, target)
        return (1 - eps) * nll - eps * logs.mean()
"""
NLL_NEGATIVE = NLL.replace("- eps * logs.mean()", "+ eps * -logs.mean(dim=-1).mean()")


@pytest.mark.parametrize(
    ("source", "safety"),
    [
        (GATHER.format(rest="1.0 - smoothing"), "safe"),
        (NLL_NEGATIVE, "safe-if"),
        (NLL_NEGATIVE.replace("(logs, target)", "(logs, target, reduction='mean')"), "safe-if"),
    ],
)
def test_smoothed_labels(both, source, safety):
    before, after, found = both(source)
    assert "label_smoothing=" in after["__text__"] and found["STR774"].safety == safety
    same(before["loss"], after["loss"], torch.randn(6, 5), torch.randint(0, 5, (6,)))


@pytest.mark.parametrize(
    "source", [GATHER.format(rest="0.8"), GATHER.replace("logs.mean", "logs.sum").format(rest="1 - smoothing")]
)
def test_what_is_no_smoothing(both, source):
    assert "STR774" not in both(source)[2]


NORMALIZE = """
    class Norm(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.scale = {scale}
            self.g = nn.Parameter(torch.rand(dim))

        def forward(self, x):
            return F.normalize(x, dim={dim}) * self.scale * {weight}
"""


@pytest.mark.parametrize("weight", ["self.g", "(self.g + 1)"])
def test_normalize_as_rms_norm(both, weight):
    before, after, found = both(NORMALIZE.format(scale="dim ** 0.5", dim=-1, weight=weight))
    assert "rms_norm" in after["__text__"] and found["STR720"].assumptions == ("no row is shorter than 1e-6",)
    one, two = before["Norm"](24), after["Norm"](24)
    two.load_state_dict(one.state_dict())
    same(one, two, torch.randn(3, 24))


@pytest.mark.parametrize(("scale", "dim"), [("dim ** -0.5", -1), ("2.0", -1), ("dim ** 0.5", 1)])
def test_normalize_that_is_no_rms_norm(both, scale, dim):
    assert "STR720" not in both(NORMALIZE.format(scale=scale, dim=dim, weight="self.g"))[2]


UPDATES = [
    "q.mul_(d).add_(p, alpha=1 - d)",
    "q.data.mul_(d).add_((1 - d) * p.data)",
    "q.data = d * q.data + (1 - d) * p.data",
    "q.copy_(q * d + p * (1 - d))",
    "q.mul_(d)\n            q.add_(p, alpha=1 - d)",
    "q.data.mul_(d)\n            q.data.add_((1 - d) * p.data)",
    "q.data.mul_(d)\n            q.data.add_(p.data, alpha=1 - d)",
]
AVERAGE = """
    @torch.no_grad()
    def update(model, ema, d):
        for p, q in zip(model.parameters(), ema.parameters()):
            {body}
"""


@pytest.mark.parametrize("body", UPDATES)
def test_averages_of_parameters(both, body):
    before, after, found = both(AVERAGE.format(body=body))
    assert "_foreach_mul_" in after["__text__"] and found["STR782"].safety == "safe"
    model, ema = torch.nn.Linear(3, 4), [torch.nn.Linear(3, 4) for _ in range(2)]
    ema[1].load_state_dict(ema[0].state_dict())
    before["update"](model, ema[0], 0.9)
    after["update"](model, ema[1], 0.9)
    torch.testing.assert_close(list(ema[0].parameters()), list(ema[1].parameters()))


@pytest.mark.parametrize(
    ("body", "loop"),
    [
        ("q.mul_(d).add_(p, alpha=1 - d)\n            print(q)", "zip(model.parameters(), ema.parameters())"),
        ("q.mul_(d).add_(p, alpha=1 - d)", "zip(model.state_dict().values(), ema.state_dict().values())"),
        ("q.mul_(d).add_(p, alpha=1 - d)", "pairs"),
    ],
)
def test_averages_that_do_more_are_reported_only(both, body, loop):
    source = AVERAGE.format(body=body).replace("zip(model.parameters(), ema.parameters())", loop)
    before, after, _ = both(source)
    assert after["__text__"] == before["__text__"]


def test_optimizers_of_scripts_are_found(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(
        "import torch\nfrom torch import nn, optim\n\nmodel = nn.Linear(3, 3)\n"
        "first = torch.optim.AdamW(model.parameters(), lr=1e-3)\n"
        "second = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)\n"
        "if True:\n    third = optim.Adam(model.parameters())\n"
        "for epoch in range(2):\n    fourth = optim.Adam(model.parameters(), foreach=True)\n"
    )
    found = [f for f in adopt.findings(QuickProject([str(file)], [str(file)])) if f.code == "STR775"]
    assert [finding.place.line for finding in found] == [5, 6, 8] and all(finding.fixable for finding in found)
    done = fix(lambda: Scan(findings=adopt.findings(QuickProject([str(file)], [str(file)]))), unsafe=False)
    exec(done.plan.after[str(file)], names := {})
    assert names["first"].defaults["fused"] and names["second"].defaults["fused"]


def test_scripts_with_sparse_embeddings_keep_their_optimizers(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(
        "import torch\nmodel = torch.nn.Embedding(9, 3, sparse=True)\nopt = torch.optim.Adagrad(model.parameters())\n"
    )
    (found,) = [f for f in adopt.findings(QuickProject([str(file)], [str(file)])) if f.code == "STR775"]
    assert not found.fixable and "sparse" in found.message


OPTIMIZERS = (
    "import torch\n\nmodel = torch.nn.Linear(3, 3)\n"
    "first = torch.optim.AdamW(model.parameters(), lr=1e-3)\n"
    "second = torch.optim.Adam(model.parameters(), amsgrad=True)\n"
    "third = torch.optim.SGD(model.parameters(), lr=0.1)\n"
    "third = strop.fuse_optimizer(third)\n"
)


def test_optimizers_are_wrapped_once_where_strop_may_be_imported(tmp_path):
    file = tmp_path / "train.py"
    file.write_text("import strop\n" + OPTIMIZERS)

    def look():
        return Scan(findings=adopt.findings(QuickProject([str(file)], [str(file)]), strop=True))

    assert [(f.code, f.place.line) for f in look().findings] == [("STR764", 5), ("STR775", 6)]
    text = fix(look, unsafe=False).plan.after[str(file)]
    assert "first = strop.fuse_optimizer(torch.optim.AdamW(model.parameters(), lr=1e-3))\n" in text
    assert text.count("fuse_optimizer") == 2
    exec(text, names := {})
    assert isinstance(names["first"], torch.optim.AdamW)
    assert not [f for f in adopt.findings(QuickProject([str(file)], [str(file)])) if f.code == "STR764"]

"""Every network of the zoo builds, answers with numbers of order one, and hides nothing behind neutral values."""

import subprocess
import sys

import pytest
import torch

from strop import zoo
from strop.core.problem import Problem
from strop.verify.numeric import max_rel_error
from strop.zoo import weights


@pytest.fixture(scope="module", params=zoo.NAMES)
def network(request):
    return zoo.load(request.param)


def test_outputs_are_finite_and_of_order_one(network):
    model, inputs = network
    with torch.no_grad():
        output = model(*inputs)
    assert output.dtype == torch.float32
    assert output.isfinite().all()
    assert 0.05 < output.square().mean().sqrt() < 50


def test_no_parameter_is_left_at_a_neutral_value(network):
    model, _ = network
    assert not model.training
    for name, parameter in model.named_parameters():
        assert parameter.numel() == 1 or parameter.std() > 1e-3, name
        assert not parameter.requires_grad, name


def test_batch_norm_statistics_differ_per_channel(network):
    model, _ = network
    for name, buffer in model.named_buffers():
        if name.endswith(("running_mean", "running_var")):
            assert buffer.std() > 0, name


@pytest.mark.parametrize("name", ["resnet50", "yolo", "unet"])
def test_rounding_errors_do_not_grow(name):
    """Otherwise a comparison with eager measures the network's own chaos instead of the compiler's exactness."""
    model, inputs = zoo.load(name)
    with torch.no_grad():
        single = model(*inputs)
        exact = model.double()(*(tensor.double() for tensor in inputs))
    assert max_rel_error(single, exact) < 5e-6


@pytest.mark.parametrize("name", ["mobilenet_v2", "dlrm", "tcn"])
def test_two_loads_are_the_same_network(name):
    first, inputs = zoo.load(name)
    torch.manual_seed(99)
    second, again = zoo.load(name)
    assert all(torch.equal(a, b) for a, b in zip(inputs, again, strict=True))
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def test_parameter_counts_are_those_of_the_papers():
    counts = {"resnet18": 11.69, "resnet50": 25.56, "mobilenet_v2": 3.50, "efficientnet_b0": 5.29, "vit_small": 22.05}
    for name, millions in counts.items():
        model, _ = zoo.load(name)
        assert sum(p.numel() for p in model.parameters()) / 1e6 == pytest.approx(millions, abs=0.01), name


def test_factories_can_be_named_like_any_other():
    model, _ = zoo.lstm()
    assert isinstance(model, torch.nn.Module)


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(Problem, match="resnet18"):
        zoo.load("resnet-81")


def test_listing_the_zoo_does_not_import_torch():
    code = "import sys; from strop import zoo; assert len(zoo.NAMES) == 14; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_stored_weights_are_taken_instead_of_made_up_ones(tmp_path, monkeypatch):
    file = tmp_path / "weights.pt"
    first, _ = zoo.load("unet")
    torch.save(first.state_dict(), file)
    monkeypatch.setattr(weights, "_calibrate", lambda *_: pytest.fail("the network was run"))
    with weights.stored(file):
        second, _ = zoo.load("unet")
    assert not second.training and not any(p.requires_grad for p in second.parameters())
    assert all(torch.equal(a, b) for a, b in zip(first.state_dict().values(), second.state_dict().values()))


def test_without_a_file_weights_are_made_up(tmp_path):
    with weights.stored(tmp_path / "none.pt"):
        model, _ = zoo.load("dlrm")
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), zoo.load("dlrm")[0].parameters()))

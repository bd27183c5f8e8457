"""Calls like the last one skip most checks; whatever differs must still be seen."""

import numpy as np
import pytest
import torch
from onnx import helper

import strop
from onnx_models import FLOAT, INT64, expected_of_mlp, mlp, model, node, random
from strop import Problem


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.fixture
def run():
    made = strop.compile(mlp("batch"))
    for seed in (0, 1):
        made.run({"x": random(2, 8, seed=seed)})
    assert made._arrays is not None
    return made


def test_new_values_give_new_results_in_memory_of_their_own(run):
    x, z = random(2, 8, seed=5), random(2, 8, seed=6)
    first, second = run({"x": x})["y"], run({"x": z})["y"]
    close(first, expected_of_mlp(x))
    close(second, expected_of_mlp(z))


@pytest.mark.parametrize("change", [
    lambda x: x[:1], lambda x: np.asfortranarray(x), lambda x: np.concatenate([x, x], 1)[:, ::2][:, :8],
    lambda x: x[::-1], lambda x: np.concatenate([x] * 3),
], ids=["shape", "order", "strides", "backwards", "batch"])  # fmt: skip
def test_other_shapes_and_strides_are_seen(run, change):
    x = change(random(2, 8, seed=7))
    close(run({"x": x})["y"], expected_of_mlp(x))


def test_an_array_that_must_not_be_written_is_read(run):
    x = random(2, 8, seed=8)
    x.flags.writeable = False
    close(run({"x": x})["y"], expected_of_mlp(x))


@pytest.mark.parametrize("feeds", [{}, {"z": random(2, 8)}, {"x": random(2, 8), "z": random(1)},
                                   {"x": random(2, 8).astype(np.float64)}, {"x": random(2, 9)}])  # fmt: skip
def test_wrong_inputs_are_refused_as_ever(run, feeds):
    with pytest.raises(Problem):
        run(feeds)


def test_tensors_after_arrays_give_tensors(run):
    assert isinstance(run({"x": torch.from_numpy(random(2, 8))})["y"], torch.Tensor)


def test_changed_weights_are_seen(run):
    with torch.no_grad():
        run.original.fc2.weight.zero_()
    assert not run({"x": random(2, 8)})["y"].any()


def test_hooks_are_called(run):
    called = []
    run.register_forward_hook(lambda *given: called.append(given))
    run({"x": random(2, 8)})
    assert called


def test_a_bound_input_with_another_value_is_another_program():
    made = model([node("Reshape", ["x", "target"], ["y"])], {"x": (FLOAT, [6]), "target": (INT64, [2])}, ["y"])
    made.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", FLOAT, None))
    run = strop.compile(made)
    x = random(6)
    for target in ([2, 3], [2, 3], [2, 3], [3, 2], [3, 2], [2, 3]):
        assert run({"x": x, "target": np.array(target)})["y"].shape == tuple(target)


@pytest.mark.filterwarnings("ignore:OnnxModule")
def test_shapes_past_the_limit_are_not_traced_again(monkeypatch):
    made = strop.compile(mlp("batch"), max_variants=1)
    close(made.run({"x": random(2, 8)})["y"], expected_of_mlp(random(2, 8)))
    monkeypatch.setattr("strop.runtime.onnx.model.capture", None)
    for batch in (3, 3, 4):
        x = random(batch, 8)
        close(made.run({"x": x})["y"], expected_of_mlp(x))

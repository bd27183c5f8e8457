"""One extension of each kind that Strop knows: importing this package registers all of them."""

from strop_example import onnx_operator, operator, passes, rule, step, target

__all__ = ["onnx_operator", "operator", "passes", "rule", "step", "target"]

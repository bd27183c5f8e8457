"""Tensors of a run that are worth comparing: what models return, losses, what tests compare.

`verify_child.py` loads this file by its path when it runs tests, whose outcomes say little of the numbers. Recorded are
the results of outermost calls of modules (PyTorch's and Keras's), the losses that `backward` is called on, and the
first argument of comparisons such as `torch.testing.assert_close`. Inside of compiled functions nothing is recorded:
there are no numbers while they are traced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

_MOST = 300  #: tensors of one test
_ELEMENTS = 4096  #: of a tensor; of larger ones that many, evenly spaced
_DEPTH = 6  #: of tuples inside dicts inside tuples


class Recorder:
    """What was seen, test by test; `array` gives the numbers of a tensor, or None."""

    def __init__(self, array: Callable[[Any], Any]) -> None:
        self.array = array
        self.arrays: dict[str, Any] = {}
        self.seen: dict[str, list[dict[str, Any]]] = {}
        self.test = ""
        self.inside = 0  #: calls of modules around the current one

    def begin(self, test: str) -> None:
        self.test, self.inside = test, 0

    def keep(self, what: str, value: Any) -> None:
        seen = self.seen.setdefault(self.test, [])
        for path, tensor in _tensors(value, "", 0):
            if len(seen) >= _MOST:
                return
            try:
                found = self.array(tensor)
            except Exception:  # a tensor that is being traced has no numbers
                continue
            if found is None:
                continue
            at = f"recorded.{len(self.arrays)}"
            step = max(1, -(-found.size // _ELEMENTS))
            self.arrays[at] = found if step == 1 else found.reshape(-1)[::step].copy()
            seen.append({"what": f"{what}{path}", "shape": list(found.shape), "at": at})

    # -- frameworks ------------------------------------------------------------------------------------------------

    def torch(self, torch: Any) -> None:
        self._outermost(torch.nn.Module, torch.compiler.is_compiling)
        backward = torch.Tensor.backward

        def recorded(tensor: Any, *arguments: Any, **named: Any) -> Any:
            if not torch.compiler.is_compiling():
                self.keep("loss", tensor)
            return backward(tensor, *arguments, **named)

        torch.Tensor.backward = recorded
        self._compared(torch.testing, "assert_close")
        self._compared(torch, "allclose")

    def numpy_testing(self, testing: Any) -> None:
        self._compared(testing, "assert_allclose")

    def keras_layer(self, module: Any) -> None:
        self._outermost(module.Layer, lambda: False)

    def _outermost(self, kind: Any, is_traced: Callable[[], bool]) -> None:
        call = kind.__call__

        def recorded(module: Any, *arguments: Any, **named: Any) -> Any:
            if is_traced():
                return call(module, *arguments, **named)
            self.inside += 1
            try:
                result = call(module, *arguments, **named)
            finally:
                self.inside -= 1
            if not self.inside:
                self.keep(type(getattr(module, "_orig_mod", module)).__name__, result)
            return result

        kind.__call__ = recorded

    def _compared(self, owner: Any, name: str) -> None:
        compare = getattr(owner, name)

        def recorded(*arguments: Any, **named: Any) -> Any:
            given = arguments[0] if arguments else named.get("actual", named.get("input"))
            self.keep(f"what {name} compares", given)
            return compare(*arguments, **named)

        setattr(owner, name, recorded)


def _tensors(value: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > _DEPTH:
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _tensors(item, f"{path}.{key}", depth + 1)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _tensors(item, f"{path}[{index}]", depth + 1)
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from _tensors(getattr(value, name, None), f"{path}.{name}", depth + 1)
    else:
        yield path, value

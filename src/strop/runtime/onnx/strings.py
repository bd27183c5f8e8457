"""Calls with texts: they become positions in a list, and the compiled program computes with these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
import torch

from strop.core.problem import Problem
from strop.frontend.onnx.module import OnnxModule
from strop.frontend.onnx.strings import Coded, is_text


class CompiledModel(Protocol):
    """What a model on positions is compiled to."""

    def prepare(self, *args: Any) -> None: ...

    def arguments(self, feeds: Mapping[str, Any]) -> list[Any]: ...

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]: ...


class Strings:
    """A model with texts as inputs; those that do more than look them up are left to others."""

    def __init__(self, model: OnnxModule, compile: Callable[[Coded], CompiledModel]) -> None:
        self.names = [port.name for port in model.inputs if is_text(port)]
        self.fits = bool(self.names) and model.required == len(model.inputs)
        self.compiled: CompiledModel | None = None
        self.reason = ""  # why texts are not positions, or were not in the last call
        if not self.fits:
            self.reason = "some inputs may be left out" if self.names else ""
            return
        self.compile = compile
        self.coded = Coded(model)
        self.numbers = {text: i for i, text in enumerate(self.coded.texts)}
        self.other = len(self.coded.texts) - 1

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any] | None:
        """The outputs; None where the texts themselves are needed, or something is wrong with the inputs."""
        self.reason = ""
        given = [feeds.get(name) for name in self.names]
        if not all(isinstance(texts, np.ndarray) and texts.dtype.kind in "OU" for texts in given):
            self.reason = "they did not come as arrays of texts"
            return None
        coded = {**feeds, **{name: self._coded(texts) for name, texts in zip(self.names, given)}}
        try:
            return self.compiled.run(coded) if self.compiled is not None else self._first(coded)
        except Problem as problem:
            self.reason = problem.message
            return None

    def _first(self, feeds: Mapping[str, Any]) -> dict[str, Any] | None:
        """Compile for inputs like these. What stands against it is no error: the model runs on texts then."""
        self.fits = False
        try:
            compiled = self.compile(self.coded)
            with torch.no_grad():
                compiled.prepare(*compiled.arguments(feeds))
            found = compiled.run(feeds)
        except Exception as error:
            self.reason = getattr(error, "message", "") or f"{type(error).__name__}: {error}"
            return None
        self.compiled, self.fits = compiled, True
        return found

    def _coded(self, texts: Any) -> Any:
        number, other = self.numbers.get, self.other
        found = [number(text if type(text) is str else str(text), other) for text in texts.ravel().tolist()]
        return np.array(found, np.int64).reshape(texts.shape)

"""Object code in memory, whose functions can be called."""

from __future__ import annotations

from collections.abc import Sequence

import llvmlite.binding as llvm

from strop.core.problem import Problem
from strop.target.description import Target
from strop.target.host import described_host, host
from strop.target.llvm import give_pages_back, lock


def forget_host() -> None:
    """Describe this machine anew when it is asked for: there may be a nearer description by then."""
    for known in _DESCRIPTIONS:
        known.cache_clear()


_DESCRIPTIONS = (described_host, host)


_LIBRARY = "program"


class LoadedCode:
    """Object code made callable. Keep it alive as long as its functions are."""

    def __init__(self, objects: Sequence[bytes], target: Target) -> None:
        with lock:
            machine = llvm.Target.from_triple(target.triple).create_target_machine(
                cpu=target.cpu, features=target.code_features, opt=3, reloc="pic", codemodel="default"
            )
            # each module's code and constants come to lie side by side: they reach each other within 2 GB
            self._jit = llvm.create_lljit_compiler(machine, use_jit_link=True)
            builder = llvm.JITLibraryBuilder().add_current_process()
            for data in objects:
                builder.add_object_img(data)
            try:
                self._held = [builder.link(self._jit, _LIBRARY)]
            except RuntimeError as error:
                raise _not_loadable(str(error)) from error
            give_pages_back()

    def address(self, name: str) -> int:
        try:
            with lock:
                self._held.append(self._jit.lookup(_LIBRARY, name))
        except RuntimeError as error:
            raise _not_loadable(f"it has no function `{name}`") from error
        return int(self._held[-1][name])


def _not_loadable(why: str) -> Problem:
    return Problem("STR501", f"object code cannot be loaded: {why}", help="clear the cache: strop cache clear")

"""What an unpacked package imports and is not installed is replaced; what installed libraries try is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from source.hybridize.tf_stand_ins import StandIn, imported, standing_in


def _write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_a_missing_module_does_nothing(tmp_path: Path) -> None:
    text = "import nowhere.at_all as n\nfrom nowhere import thing\nclass Part(n.Base):\n    size = n.SIZE + 1\n"
    with standing_in(_write(tmp_path, {"odd_package/part.py": text, "odd_package/__init__.py": ""})):
        part = imported("odd_package.part")
    assert issubclass(part.Part, StandIn) and isinstance(part.thing(3) @ part.Part.size, StandIn)


def test_a_library_that_tries_an_import_goes_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = "try:\n    import nowhere\nexcept ImportError:\n    nowhere = None\n"
    monkeypatch.syspath_prepend(str(_write(tmp_path / "installed", {"odd_library.py": library})))
    with standing_in(_write(tmp_path / "unpacked", {"odd_user.py": "import odd_library\n"})):
        assert imported("odd_user").odd_library.nowhere is None


def test_a_module_comes_up_without_a_package_around_it_that_does_not(tmp_path: Path) -> None:
    files = {
        "odd_root/__init__.py": "raise RuntimeError\n",
        "odd_root/inner/__init__.py": "from odd_root import gone\n",
    }
    leaf = "from odd_root.inner import other\n\ndef twice(x):\n    return 2 * x + other.ONE\n"
    with standing_in(
        _write(tmp_path, {**files, "odd_root/inner/leaf.py": leaf, "odd_root/inner/other.py": "ONE = 1\n"})
    ):
        assert imported("odd_root.inner.leaf").twice(2) == 5

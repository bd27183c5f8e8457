"""How a person names an ONNX file, with shapes where it leaves them open. Neither torch nor onnx is needed for that."""

from __future__ import annotations

from importlib.util import find_spec

from strop.core.problem import Problem


def require_onnx() -> None:
    """A Problem where the packages that read ONNX files are missing."""
    missing = [name for name in ("onnx", "ml_dtypes") if find_spec(name) is None]
    if missing:
        raise Problem("STR004", f"`{missing[0]}` is not installed, which ONNX files need",
                      help="pip install strop[onnx]")  # fmt: skip


def onnx_file(spec: str) -> tuple[str, dict[str, tuple[int, ...]]]:
    """The path of an ONNX file and the shapes given with it; an empty path where `spec` names no such file."""
    path, bracket, rest = spec.partition(".onnx[")
    if not bracket:
        return (spec, {}) if spec.endswith(".onnx") else ("", {})
    shapes = {}
    for part in rest.rstrip("]").split(";"):
        name, equals, extents = part.strip().rpartition("=")
        try:
            shapes[name] = tuple(int(extent) for extent in extents.split(",") if extent.strip())
        except ValueError:
            equals = ""
        if not equals or not name or any(extent < 0 for extent in shapes.get(name, ())):
            raise Problem("STR001", f"`{part}` is not the shape of an input", help="write name=1,3,224,224") from None
    return f"{path}.onnx", shapes


def with_shapes(spec: str, shapes: list[str]) -> str:
    """A model's spec together with the shapes of its inputs."""
    if not shapes:
        return spec
    if not spec.endswith(".onnx"):
        raise Problem("STR001", f"`{spec}` is no ONNX file, so its inputs have shapes already",
                      help="--shape goes with the path of an .onnx file")  # fmt: skip
    return f"{spec}[{';'.join(shapes)}]"

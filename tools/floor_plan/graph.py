import ast, sys, pathlib

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
src = root / "src"
mods = {}
for p in sorted((src / "strop").rglob("*.py")):
    parts = list(p.relative_to(src).with_suffix("").parts)
    if parts[-1] == "__init__":
        parts.pop()
    mods[".".join(parts)] = p


def imports(p, me):
    tree = ast.parse(p.read_text())
    out = set()

    def walk(n, flag):
        for c in ast.iter_child_nodes(n):
            f = flag
            if isinstance(c, (ast.FunctionDef, ast.AsyncFunctionDef)):
                f = flag or "F"
            if isinstance(c, ast.If) and "TYPE_CHECKING" in ast.dump(c.test):
                f = "T"
            if isinstance(c, ast.Import):
                for a in c.names:
                    out.add((a.name, f))
            elif isinstance(c, ast.ImportFrom):
                base = c.module or ""
                if c.level:
                    pk = me.split(".")
                    if p.name != "__init__.py":
                        pk = pk[:-1]
                    pk = pk[: len(pk) - (c.level - 1)]
                    base = ".".join(pk + ([c.module] if c.module else []))
                for a in c.names:
                    full = base + "." + a.name
                    out.add((full if full in mods else base, f))
            else:
                walk(c, f)

    walk(tree, "")
    return out


if __name__ == "__main__":
    for m, p in mods.items():
        im = imports(p, m)
        doc = (ast.get_docstring(ast.parse(p.read_text())) or "").split("\n")[0][:110]
        inn = sorted(x[6:] + ("~" if f == "F" else "?" if f == "T" else "") for x, f in im if x.startswith("strop"))
        ext = sorted(
            {
                x.split(".")[0] + ("~" if f == "F" else "?" if f == "T" else "")
                for x, f in im
                if x.split(".")[0] in ("torch", "llvmlite", "numpy", "onnx", "tensorflow", "transformers")
            }
        )
        print(f"{m[6:]}: [{doc}]\n    {' '.join(inn)} {'  EXT ' + ' '.join(ext) if ext else ''}")

"""Classes that share a name in one half of src/strop (source half = source/ and verify/; the rest is the compile half).

    python same_names.py [ROOT]      exit 1 when there are any

A class that implements another of the same name (has it as a base, under whatever alias) is allowed.
"""

import ast, sys, pathlib, collections

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "src/strop"
found = collections.defaultdict(list)
for path in sorted(root.rglob("*.py")):
    rel = path.relative_to(root)
    half = (
        "source"
        if rel.parts[0] in ("source", "verify")
        or rel.name in ("prove.py", "prove_guess.py", "verify_child.py", "verify_record.py")
        else "compile"
    )
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef):
            bases = [ast.unparse(b) for b in node.bases]
            found[half, node.name].append((str(rel), node.lineno, bases, len(node.body)))
bad = 0
for (half, name), places in sorted(found.items()):
    if len(places) > 1:
        bad += 1
        print(half, name, "; ".join(f"{p}:{l}({','.join(b)})" for p, l, b, _ in places))
print(bad, "names")
sys.exit(bad > 0)

"""The page's own files: nothing in them is evaluated or fetched from elsewhere, and they make one script."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter

import pytest

from strop.studio.application import page_files
from strop.studio.report import bundled

MODULES = sorted(name for name in page_files() if name.endswith(".js"))
DECLARED = re.compile(r"^(?:export )?(?:async )?(?:class|function|const|let) (\w+)", re.MULTILINE)
EVALUATED = (
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "eval(",
    "new Function",
    "import(",
    ".html(",
)


def test_the_page_has_its_files():
    assert {"index.html", "studio.css", "main.js"} <= page_files().keys()


@pytest.mark.parametrize("name", sorted(page_files()))
def test_nothing_is_evaluated_and_nothing_comes_from_elsewhere(name):
    text = page_files()[name]
    assert [word for word in EVALUATED if word in text] == []
    addresses = re.findall(r"https?://[\w./]+", text)
    assert set(addresses) <= {"http://www.w3.org/2000/svg"}  # the name of SVG's namespace


def test_the_html_has_neither_inline_scripts_nor_handlers():
    text = page_files()["index.html"]
    assert re.findall(r"<script(?![^>]*src=)", text) == []
    assert re.findall(r"\son\w+=|style=", text) == []


def test_top_level_names_are_unique_among_modules():
    names = Counter(name for module in MODULES for name in DECLARED.findall(page_files()[module]))
    assert [name for name, count in names.items() if count > 1] == []


def test_no_module_is_longer_than_500_lines():
    assert [name for name in MODULES if page_files()[name].count("\n") > 500] == []


def test_the_bundle_holds_every_module_and_no_import():
    text = bundled("main.js")
    assert re.findall(r"^(import|export)\b", text, re.MULTILINE) == []
    for module in MODULES:
        for name in DECLARED.findall(page_files()[module]):
            assert re.search(rf"(class|function|const|let) {name}\b", text), (module, name)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed: nothing else parses JavaScript here")
def test_every_module_and_the_bundle_parse(tmp_path):
    texts = {**{name: page_files()[name] for name in MODULES}, "bundle.js": bundled("main.js")}
    for name, text in texts.items():
        path = tmp_path / name.replace(".js", ".mjs")
        path.write_text(text, encoding="utf-8")
        done = subprocess.run(["node", "--check", path], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr


def test_text_on_every_surface_has_contrast():
    """WCAG's 4.5 : 1, for every colour of text on every background that it may stand on, light and dark."""
    for theme in themes(page_files()["studio.css"]):
        texts = [name for name in theme if name.startswith("w-") or name in ("text", "muted", "accent", "bad", "good")]
        for text in texts:
            for behind in ("surface", "panel", "raised"):
                assert contrast(theme[text], theme[behind]) >= 4.5, (text, behind, theme[text], theme[behind])
        assert contrast(theme["accent-text"], theme["accent"]) >= 4.5


def test_colours_of_memories_differ_for_every_kind_of_colour_vision():
    """The least distance in CIE Lab between two that are drawn beside each other, as seen without one kind of cone."""
    names = ["registers", "L1", "L2", "L3", "DRAM"]
    for theme in themes(page_files()["studio.css"]):
        colours = [theme[f"memory-{name}"] for name in names]
        for matrix in CONES.values():
            seen = [lab(tuple(sum(m * c for m, c in zip(row, linear(one))) for row in matrix)) for one in colours]
            pairs = [(i, j) for i in range(len(seen)) for j in range(i)]
            closest = min(sum((a - b) ** 2 for a, b in zip(seen[i], seen[j])) ** 0.5 for i, j in pairs)
            assert closest > 10, (closest, colours)


#: linear RGB as people see it who have all cones, or lack one kind (Machado, Oliveira and Fernandes 2009)
CONES = {
    "all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}


def themes(css):
    blocks = re.findall(r"color-scheme: (?:light|dark);([^}]*)}", css)
    light, *dark = [dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for block in blocks]
    assert len(dark) == 2 and dark[0] == dark[1]  # chosen by the system, and by the button
    return light, {**light, **dark[0]}


def linear(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return tuple(p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)


def contrast(one, other):
    a, b = sorted((sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear(x))) for x in (one, other)), reverse=True)
    return (a + 0.05) / (b + 0.05)


def lab(rgb):
    r, g, b = (min(max(c, 0.0), 1.0) for c in rgb)
    xyz = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
    )
    x, y, z = (c ** (1 / 3) if c > 0.008856 else 7.787 * c + 16 / 116 for c in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)

"""Drawings for notebooks: HTML and SVG as text, without scripts, so that a saved notebook still shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape

from strop.draw.layout import Arrow, Box, Drawing, Item, Line, layout, paths_of, short

MOST_BOXES = 120  # a larger graph is drawn with its modules closed, as far as that is needed
WIDEST = 18.0  # of an edge: the largest tensor
_STYLE = "font-family:system-ui,sans-serif;color:#17202b;background:#fff;padding:8px;max-width:1000px"
_BAR = "display:inline-block;height:10px;background:#3d7fb8"
_CELL = "padding:2px 10px 2px 0;text-align:left;border-bottom:1px solid #dbe0e7"


def graph_html(title: str, items: Sequence[Item], links: Sequence[Arrow], below: Mapping[str, str]) -> str:
    """A graph under a title: boxes by module, edges as wide as what they carry. `below` is a second line per node."""
    drawing = layout(items, links, _opened(items))
    hidden = len(items) - sum(not box.is_group for box in drawing.boxes)
    said = f"; {hidden} nodes are in closed modules" if hidden else ""
    return page(title, f"{len(items)} nodes, {len(links)} edges{said}", graph_svg(drawing, below))


def _opened(items: Sequence[Item]) -> Callable[[str], bool]:
    """Modules to open, outer ones first, while what is drawn stays readable."""
    opened: set[str] = set()
    inside: dict[str, int] = {}
    for path in paths_of(items):
        outer = path.rpartition(".")[0]
        inside[outer] = inside.get(outer, 0) + 1
    for item in items:
        inside[item.path] = inside.get(item.path, 0) + 1
    drawn = inside.get("", 0)
    for path in sorted(paths_of(items), key=lambda path: path.count(".")):
        outer = path.rpartition(".")[0]
        if (not outer or outer in opened) and drawn + inside.get(path, 0) <= MOST_BOXES:
            opened.add(path)
            drawn += inside.get(path, 0)
    return opened.__contains__


def graph_svg(drawing: Drawing, below: Mapping[str, str]) -> str:
    """A laid out graph as an SVG element."""
    most = max((line.weight for line in drawing.lines), default=0.0) or 1.0
    boxes = sorted(drawing.boxes, key=lambda box: not (box.is_group and box.is_open))
    inner = [
        *(_box_svg(box, below) for box in boxes if box.is_group and box.is_open),
        *(_line_svg(line, most) for line in drawing.lines),
        *(_box_svg(box, below) for box in boxes if not (box.is_group and box.is_open)),
    ]
    width, height = drawing.width, drawing.height
    shown = min(width, 980.0)
    return (
        f'<div style="overflow:auto;max-height:600px"><svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'aria-label="graph" viewBox="0 0 {width:.0f} {height:.0f}" width="{shown:.0f}" '
        f'font-family="system-ui,sans-serif">{"".join(inner)}</svg></div>'
    )


def _box_svg(box: Box, below: Mapping[str, str]) -> str:
    fill = ("#f8f9fb" if box.depth % 2 else "#ffffff") if box.is_open else "#e8f1fa" if not box.is_group else "#f3e9d8"
    frame = (
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="3" '
        f'fill="{fill}" stroke="#66758a"/>'
    )
    if box.is_open:
        return frame + _text_svg(box.x + 12, box.y + 17, box.name.rpartition(".")[2], "start", 13)
    name = f"▸ {box.name.rpartition('.')[2]}" if box.is_group else short(box.name)
    second = f"{box.count} nodes" if box.is_group else below.get(box.name, "")
    middle = box.x + box.width / 2
    return (
        frame + _text_svg(middle, box.y + 17, name, "middle", 13) + _text_svg(middle, box.y + 32, second, "middle", 11)
    )


def _text_svg(x: float, y: float, text: str, anchor: str, size: int) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="#17202b">{escape(text)}</text>'
    )


def _line_svg(line: Line, most: float) -> str:
    (x, y), *others = line.points
    path = f"M{x:.1f} {y:.1f}"
    for to_x, to_y in others:
        middle = (y + to_y) / 2
        path += f"C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}"
        x, y = to_x, to_y
    width = max(1.0, line.weight / most * WIDEST)
    told = escape(f"{line.start} → {line.end}: {line.weight / 1e3:,.1f} kB")
    look = f'fill="none" stroke="#3d7fb8" stroke-opacity=".6" stroke-width="{width:.1f}"'
    return f'<path d="{path}" {look}><title>{told}</title></path>'


def text_html(text: str) -> str:
    """Text as it is printed."""
    return f'<pre style="{_STYLE};font-family:ui-monospace,monospace;font-size:12px;overflow:auto">{escape(text)}</pre>'


def facts_html(facts: Mapping[str, object]) -> str:
    """Names and values as a table."""
    rows = (
        f'<tr><th style="{_CELL}">{escape(str(k))}</th><td style="{_CELL}">{escape(str(v))}</td></tr>'
        for k, v in facts.items()
    )
    return f'<table style="border-collapse:collapse">{"".join(rows)}</table>'


def bars_html(title: str, said: str, rows: Sequence[tuple[str, str, float]], unit: str) -> str:
    """Rows of a name, what it is, and a number that is drawn as a bar."""
    most = max((value for _, _, value in rows), default=0.0) or 1.0
    lines = (
        f'<tr><th style="{_CELL}">{escape(name)}</th><td style="{_CELL}">{escape(what)}</td>'
        f'<td style="{_CELL};text-align:right">{value:,.1f} {unit}</td><td style="{_CELL}">'
        f'<span style="{_BAR};width:{value / most * 220:.0f}px"></span></td></tr>'
        for name, what, value in rows
    )
    return page(title, said, f'<table style="border-collapse:collapse">{"".join(lines)}</table>')


def page(title: str, said: str, *parts: str) -> str:
    """Parts under a title, as one element."""
    head = f'<b>{escape(title)}</b><div style="color:#4a5666">{escape(said)}</div>'
    return f'<div style="{_STYLE}">{head}{"".join(parts)}</div>'

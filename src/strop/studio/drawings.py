"""Programs as the page draws them: boxes and edges with their places, from what a session says of a level."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from strop.draw.layout import Arrow, Drawing, Item, Line, around, homes, labelled, layout, paths_of, short
from strop.session.views import Edge, ProgramNode, ProgramView

MOST_LINKS = 40  # of one drawn edge that are listed one by one
#: what is left out of drawings: parameters are as many as operators, and each is read where it is named
UNDRAWN = ("parameter", "constant")
#: the group of what runs when parameters change, and not at every call
PREPARED = "when parameters change"


def outline(view: ProgramView, prepared: Collection[str] = ()) -> dict[str, Any]:
    """The nodes of a level in order, for the tree beside the drawing and for search."""
    inside = _homes(view, prepared)
    return {"level": view.level, "nodes": [_outlined(node, inside.get(node.name, node.module)) for node in view.nodes]}


def _outlined(node: ProgramNode, home: str) -> dict[str, Any]:
    return {**node.to_json(), "home": home, "origins": [str(origin) for origin in node.origins]}


def _homes(view: ProgramView, prepared: Collection[str]) -> dict[str, str]:
    """The group that each node is drawn in; those that are `prepared` when parameters change have one of their own."""
    drawn = [node for node in view.nodes if node.kind not in UNDRAWN]
    found = homes({node.name: node.module for node in drawn if node.name not in prepared})
    return {node.name: found.get(node.name, PREPARED) for node in drawn}


def drawn(view: ProgramView, opened: Iterable[str], prepared: Collection[str] = ()) -> dict[str, Any]:
    """A level with these groups open. Groups within closed ones are not drawn."""
    nodes = {node.name: node for node in view.nodes if node.kind not in UNDRAWN}
    inside = _homes(view, prepared)
    items = [labelled(name, inside[name], node.what) for name, node in nodes.items()]
    known = set(paths_of(items))
    shown = {path for path in opened if path in known}
    edges = [edge for edge in view.edges if edge.producer in nodes and edge.consumer in nodes]
    made: dict[int, Edge] = {}
    links = []
    for edge in edges:
        link = Arrow(edge.producer, edge.consumer, float(edge.bytes))
        made[id(link)] = edge
        links.append(link)
    drawing = layout(items, links, shown.__contains__)
    return {
        "level": view.level,
        "open": sorted(shown),
        "width": drawing.width,
        "height": drawing.height,
        "boxes": _boxes(drawing, nodes, view),
        "lines": [_line(line, made) for line in drawing.lines],
    }


def groups(view: ProgramView, prepared: Collection[str] = ()) -> list[str]:
    """The module paths of a level, outer ones first."""
    return paths_of(Item(name, path) for name, path in _homes(view, prepared).items())


def _boxes(drawing: Drawing, nodes: dict[str, ProgramNode], view: ProgramView) -> list[dict[str, Any]]:
    found = []
    spent = _cycles_by_group(nodes.values())
    total = sum(node.cycles or 0.0 for node in nodes.values())
    for box in drawing.boxes:
        place = [round(box.x, 1), round(box.y, 1), round(box.width, 1), round(box.height, 1)]
        if box.is_group:
            label, below = box.name.rpartition(".")[2], f"{box.count} nodes"
            kind, cycles = "group", spent.get(box.name, 0.0)
        else:
            node = nodes[box.name]
            label, below, kind, cycles = short(box.name), node.what, node.kind, node.cycles or 0.0
        share = cycles / total if total else None
        found.append({"name": box.name, "at": place, "kind": kind, "open": box.is_open, "depth": box.depth,
                      "label": label, "below": below, "share": share})  # fmt: skip
    return found


def _cycles_by_group(nodes: Iterable[ProgramNode]) -> dict[str, float]:
    found: dict[str, float] = {}
    for node in nodes:
        for path in around(node.module):
            found[path] = found.get(path, 0.0) + (node.cycles or 0.0)
    return found


def _line(line: Line, made: dict[int, Edge]) -> dict[str, Any]:
    edges = sorted((made[id(link)] for link in line.links), key=lambda edge: -edge.bytes)
    traffic: dict[str, int] = {}
    for edge in edges:
        for level, count in edge.traffic.items():
            traffic[level] = traffic.get(level, 0) + count
    farthest = next((level for level in reversed(traffic) if traffic[level]), "registers")
    return {
        "from": line.start,
        "to": line.end,
        "points": [round(number, 1) for point in line.points for number in point],
        "bytes": int(line.weight),
        "traffic": traffic,
        "comes_from": farthest,
        "fused": all(edge.fused for edge in edges),
        "count": len(edges),
        "edges": [edge.to_json() for edge in edges[:MOST_LINKS]],
    }

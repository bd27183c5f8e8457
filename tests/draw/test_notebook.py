"""What notebooks show: HTML without scripts, in which every text is escaped."""

from __future__ import annotations

from xml.etree import ElementTree

from strop.draw.layout import Arrow, Item, layout
from strop.draw.notebook import MOST_BOXES, bars_html, facts_html, graph_html, graph_svg, text_html

SVG = "{http://www.w3.org/2000/svg}"


def parsed(html):
    return ElementTree.fromstring(html)


def test_a_graph_is_an_svg_with_a_box_per_node_and_a_path_per_edge():
    items = [Item("a"), Item("b"), Item("c")]
    svg = parsed(graph_svg(layout(items, [Arrow("a", "b", 8.0), Arrow("b", "c", 4.0)]), {"a": "conv"}))
    texts = {node.text for node in svg.iter(f"{SVG}text")}
    assert {"a", "b", "c", "conv"} <= texts
    widths = [float(path.get("stroke-width")) for path in svg.iter(f"{SVG}path")]
    assert len(widths) == 2 and widths[0] == 2 * widths[1]


def test_names_are_text_and_nothing_else():
    name = '<script>alert("x")</script>&'
    for html in (
        graph_html(name, [Item(name, name)], [], {name: name}),
        text_html(name),
        facts_html({name: name}),
        bars_html(name, name, [(name, name, 1.0)], "µs"),
    ):
        assert "<script" not in html
        assert name in "".join(parsed(html).itertext())


def test_a_large_graph_is_drawn_with_modules_closed():
    items = [Item(f"n{i}", f"block{i // 20}.part{i % 2}") for i in range(1000)]
    svg = parsed(graph_html("large", items, [], {}))
    assert len(list(svg.iter(f"{SVG}rect"))) <= 2 * MOST_BOXES
    assert "1000 nodes" in "".join(svg.itertext())


def test_a_small_graph_is_drawn_whole():
    items = [Item(f"n{i}", f"block{i // 5}") for i in range(20)]
    texts = {node.text for node in parsed(graph_html("small", items, [], {})).iter(f"{SVG}text")}
    assert {item.name for item in items} <= texts


def test_nothing_has_a_drawing():
    parsed(graph_html("nothing", [], [], {}))
    parsed(bars_html("nothing", "", [], "µs"))

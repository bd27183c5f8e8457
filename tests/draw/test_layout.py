"""Where nodes and groups are put: inside their group, apart from each other, readers below what they read."""

from __future__ import annotations

import time

import pytest

from strop.draw.layout import Arrow, Item, layout, paths_of


def overlap(a, b):
    return a.x < b.x + b.width and b.x < a.x + a.width and a.y < b.y + b.height and b.y < a.y + a.height


def within(inner, outer):
    return (
        outer.x <= inner.x
        and outer.y <= inner.y
        and inner.x + inner.width <= outer.x + outer.width
        and inner.y + inner.height <= outer.y + outer.height
    )


def unet(count):
    """Blocks of ten operators in five stages, with skips between stages that are far apart."""
    blocks = max(count // 10, 1)
    items, links = [], []
    for i in range(blocks * 10):
        block = i // 10
        items.append(Item(f"n{i}", f"stage{block * 5 // blocks}.block{block}.{'conv' if i % 10 < 6 else 'attention'}"))
        if i:
            links.append(Arrow(f"n{i - 1}", f"n{i}", 1024.0))
        if i % 10 == 9:
            links.append(Arrow(f"n{i - 9}", f"n{i}", 512.0))
    links += [Arrow(f"n{b * 10}", f"n{(blocks - 1 - b) * 10 + 5}", 2048.0) for b in range(blocks // 2)]
    return items, links


def test_a_reader_stands_below_what_it_reads():
    found = {b.name: b for b in layout([Item("a"), Item("b"), Item("c")], [Arrow("a", "b"), Arrow("b", "c")]).boxes}
    assert found["a"].y + found["a"].height < found["b"].y
    assert found["b"].y + found["b"].height < found["c"].y


def test_boxes_of_one_group_do_not_overlap():
    items, links = unet(300)
    drawn = layout(items, links)
    leaves = [box for box in drawn.boxes if not box.is_group]
    assert len(leaves) == len(items)
    assert not any(overlap(a, b) for i, a in enumerate(leaves) for b in leaves[i + 1 :])


def test_what_is_in_a_group_lies_inside_its_box():
    items, links = unet(100)
    drawn = layout(items, links)
    boxes = {box.name: box for box in drawn.boxes}
    for item in items:
        assert within(boxes[item.name], boxes[item.path])
    for box in drawn.boxes:
        assert box.x >= 0 and box.x + box.width <= drawn.width and box.y >= 0 and box.y + box.height <= drawn.height


def test_a_closed_group_is_one_box_and_carries_the_edges_of_all_its_nodes():
    items = [Item("a", "g"), Item("b", "g"), Item("c")]
    drawn = layout(items, [Arrow("a", "c", 3.0), Arrow("b", "c", 4.0), Arrow("a", "b", 9.0)], lambda path: False)
    assert [(box.name, box.is_group, box.count) for box in drawn.boxes] == [("g", True, 2), ("c", False, 1)]
    (line,) = drawn.lines
    assert (line.start, line.end, line.weight, len(line.links)) == ("g", "c", 7.0, 2)


def test_an_edge_between_groups_both_ways_is_drawn_in_its_own_direction():
    items = [Item("a", "g"), Item("b", "h"), Item("c", "g")]
    drawn = layout(items, [Arrow("a", "b"), Arrow("b", "c")], lambda path: False)
    points = {(line.start, line.end): line.points for line in drawn.lines}
    assert points["h", "g"][0][1] < points["h", "g"][-1][1]  # g ends last, so that it is below
    assert points["g", "h"][0][1] > points["g", "h"][-1][1]


def test_a_long_edge_passes_between_the_boxes_it_skips():
    drawn = layout([Item("a"), Item("b"), Item("c")], [Arrow("a", "b"), Arrow("b", "c"), Arrow("a", "c")])
    middle = next(box for box in drawn.boxes if box.name == "b")
    skip = next(line for line in drawn.lines if (line.start, line.end) == ("a", "c"))
    (x, upper), (same, lower) = skip.points[1:3]
    assert x == same and upper <= middle.y and lower >= middle.y + middle.height
    assert not middle.x <= x <= middle.x + middle.width


@pytest.mark.parametrize("links", [[Arrow("a", "a")], [Arrow("a", "elsewhere")], []])
def test_an_edge_to_itself_or_to_nowhere_is_left_out(links):
    assert layout([Item("a")], links).lines == ()


def test_nothing_has_a_drawing():
    drawn = layout([], [])
    assert drawn.boxes == () and drawn.lines == ()


def test_groups_are_listed_from_the_outside():
    assert paths_of([Item("a", "x.y"), Item("b", "x"), Item("c", "z")]) == ["x", "x.y", "z"]


def test_five_thousand_operators_are_laid_out_within_half_a_second_of_cpu():
    items, links = unet(5000)
    taken = []
    for _ in range(3):  # the least of three: others may share the core's caches
        start = time.process_time()
        drawn = layout(items, links)
        taken.append(time.process_time() - start)
    assert len([box for box in drawn.boxes if not box.is_group]) == 5000
    assert min(taken) < 0.5

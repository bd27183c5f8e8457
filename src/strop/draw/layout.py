"""A layered layout of a graph whose nodes lie in nested groups.

Each group is laid out by itself, from the inside out: its nodes and its subgroups are boxes on layers, an edge goes
from a layer to a later one, and an edge that skips layers runs through thin placeholders. An edge between two groups
is drawn once, between the boxes of the smallest groups that hold only one of its ends. The cost is therefore that of
many small layouts: 5,000 operators of a U-Net take a quarter of a second.

    placed = layout([Item("a", "encoder"), Item("b", "decoder")], [Arrow("a", "b", 4096)], is_open=lambda path: True)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

GAP_X, GAP_Y = 26.0, 42.0  # between boxes of a layer, and between layers
PAD, TITLE = 14.0, 24.0  # inside a group, and for its name
CLOSED = (160.0, 40.0)  # a group that is drawn as one box
THIN = 10.0  # width of a placeholder
SWEEPS = 6  # of ordering and of placing, down and up by turns
LETTER = 7.2  # width of a letter of a label
NARROWEST, WIDEST = 110.0, 260.0  # boxes of nodes
ABREAST = 6  # boxes that nothing joins to others, per layer
STRAIGHT = 8.0  # weight of a placeholder's wish for its place: long edges should be straight


@dataclass(frozen=True)
class Item:
    """A node to be drawn. `path` is the dotted name of the group that it lies in; empty for none."""

    name: str
    path: str = ""
    width: float = 150.0
    height: float = 40.0


def labelled(name: str, path: str, below: str) -> Item:
    """A node whose box holds its name and a smaller line below it."""
    letters = max(len(short(name)), len(below) * 0.85)
    return Item(name, path, min(max(letters * LETTER + 24.0, NARROWEST), WIDEST))


def short(name: str) -> str:
    """The end of a long name: its module is written on the box around it."""
    return name if len(name) <= 30 else f"…{name[-29:]}"


@dataclass(frozen=True)
class Arrow:
    """An edge to be drawn, with what it carries."""

    start: str
    end: str
    weight: float = 0.0


@dataclass(frozen=True)
class Box:
    """Where a node or a group was put: the upper left corner and the size."""

    name: str  # of the node, or the path of the group
    x: float
    y: float
    width: float
    height: float
    is_group: bool = False
    is_open: bool = False
    depth: int = 0
    count: int = 1  # nodes inside


@dataclass(frozen=True)
class Line:
    """An edge as drawn: the names of the boxes that it joins, its points, the links that it stands for."""

    start: str
    end: str
    points: tuple[tuple[float, float], ...]
    links: tuple[Arrow, ...]

    @property
    def weight(self) -> float:
        return sum(link.weight for link in self.links)


@dataclass(frozen=True)
class Drawing:
    """A whole graph: outer boxes before those inside them."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]


@dataclass(eq=False)
class _Cluster:
    path: str
    depth: int
    last: int  # the position of its last node: groups follow each other as what they end with does
    members: list[_Cluster | int] = field(default_factory=list)  # subgroups, and positions of nodes
    groups: dict[str, _Cluster] = field(default_factory=dict)
    links: dict[tuple[_Cluster | int, _Cluster | int], list[Arrow]] = field(default_factory=dict)
    count: int = 0
    size: tuple[float, float] = CLOSED
    inside: _Layers | None = None


@dataclass(frozen=True)
class _Layers:
    """The layout of one group: centres of its members, and points between the ends of its edges."""

    xs: list[float]
    ys: list[float]
    sizes: list[tuple[float, float]]
    bends: dict[tuple[int, int], list[tuple[float, float]]]
    width: float
    height: float


def layout(
    items: Sequence[Item], links: Iterable[Arrow], is_open: Callable[[str], bool] = lambda path: True
) -> Drawing:
    """Place nodes and groups. A group that is not open is one box, and its nodes are not drawn."""
    root, homes = _grouped(items)
    position = {item.name: i for i, item in enumerate(items)}
    for link in links:
        if link.start in position and link.end in position and link.start != link.end:
            _lift(link, position[link.start], position[link.end], homes)
    _place_inside(root, items, is_open)
    boxes: list[Box] = []
    lines: list[Line] = []
    _collect(root, items, 0.0, 0.0, boxes, lines)
    return Drawing(*root.size, tuple(boxes), tuple(lines))


def homes(modules: Mapping[str, str]) -> dict[str, str]:
    """For nodes by their modules: the innermost module around each that holds something else as well. A box around a
    single box says nothing."""
    count: dict[str, int] = {}
    for module in modules.values():
        for path in around(module):
            count[path] = count.get(path, 0) + 1
    shared = {name: [path for path in around(module) if count[path] > 1] for name, module in modules.items()}
    return {name: paths[-1] if paths else "" for name, paths in shared.items()}


def around(module: str) -> list[str]:
    """A module and those that hold it, the outermost first."""
    return list(accumulate(module.split("."), "{}.{}".format)) if module else []


def paths_of(items: Iterable[Item]) -> list[str]:
    """Every group that these nodes lie in, outer ones first."""
    found: dict[str, None] = {}
    for item in items:
        found |= dict.fromkeys(around(item.path))
    return list(found)


def _grouped(items: Sequence[Item]) -> tuple[_Cluster, list[tuple[_Cluster, ...]]]:
    """The tree of groups, and for each node the groups outside it, the outermost first."""
    root = _Cluster("", 0, 0)
    homes: list[tuple[_Cluster, ...]] = []
    for i, item in enumerate(items):
        outside = [root]
        for part in item.path.split(".") if item.path else ():
            outer = outside[-1]
            if part not in outer.groups:
                outer.groups[part] = _Cluster(f"{outer.path}.{part}".strip("."), outer.depth + 1, i)
                outer.members.append(outer.groups[part])
            outside.append(outer.groups[part])
        for group in outside:
            group.count += 1
            group.last = i
        outside[-1].members.append(i)
        homes.append(tuple(outside))
    return root, homes


def _lift(link: Arrow, a: int, b: int, homes: Sequence[tuple[_Cluster, ...]]) -> None:
    """Give an edge to the smallest group that holds both ends, as an edge between two of its members."""
    around_a, around_b = homes[a], homes[b]
    shared = 0
    while shared < min(len(around_a), len(around_b)) and around_a[shared] is around_b[shared]:
        shared += 1
    start = around_a[shared] if shared < len(around_a) else a
    end = around_b[shared] if shared < len(around_b) else b
    around_a[shared - 1].links.setdefault((start, end), []).append(link)


def _place_inside(group: _Cluster, items: Sequence[Item], is_open: Callable[[str], bool]) -> None:
    if group.path and not is_open(group.path):
        return
    sizes, order = [], []
    for member in group.members:
        if isinstance(member, _Cluster):
            _place_inside(member, items, is_open)
            sizes.append(member.size)
            order.append(member.last)
        else:
            sizes.append((items[member].width, items[member].height))
            order.append(member)
    number: dict[Hashable, int] = {member: i for i, member in enumerate(group.members)}
    edges = [(number[a], number[b]) for a, b in group.links]
    group.inside = _layered(sizes, edges, order)
    title = TITLE if group.path else 0.0
    group.size = max(group.inside.width + 2 * PAD, CLOSED[0]), group.inside.height + 2 * PAD + title


def _collect(
    group: _Cluster, items: Sequence[Item], left: float, top: float, boxes: list[Box], lines: list[Line]
) -> None:
    inside = group.inside
    if inside is None:
        return
    left += PAD + max(0.0, (group.size[0] - 2 * PAD - inside.width) / 2)
    top += PAD + (TITLE if group.path else 0.0)
    names: list[str] = []
    for member, x, y, (width, height) in zip(group.members, inside.xs, inside.ys, inside.sizes):
        corner = left + x - width / 2, top + y - height / 2
        if isinstance(member, _Cluster):
            names.append(member.path)
            opened = member.inside is not None
            boxes.append(Box(member.path, *corner, width, height, True, opened, member.depth, member.count))
            _collect(member, items, *corner, boxes, lines)
        else:
            names.append(items[member].name)
            boxes.append(Box(items[member].name, *corner, width, height, depth=group.depth + 1))
    number: dict[Hashable, int] = {member: i for i, member in enumerate(group.members)}
    for (start, end), links in group.links.items():
        a, b = number[start], number[end]
        forward = (a, b) in inside.bends
        upper, lower = (a, b) if forward else (b, a)
        ends = [(inside.xs[upper], inside.ys[upper] + inside.sizes[upper][1] / 2)]
        ends += inside.bends[upper, lower]
        ends.append((inside.xs[lower], inside.ys[lower] - inside.sizes[lower][1] / 2))
        points = [(left + x, top + y) for x, y in ends]
        lines.append(Line(names[a], names[b], tuple(points if forward else points[::-1]), tuple(links)))


# ---- one group -------------------------------------------------------------------------------------------------------


def _layered(sizes: Sequence[tuple[float, float]], edges: Iterable[tuple[int, int]], order: Sequence[int]) -> _Layers:
    """Boxes on layers. An edge against the order of its ends (between groups there may be some) is turned round."""
    downward = sorted({(a, b) if order[a] <= order[b] else (b, a) for a, b in edges})
    layer = _longest_paths(len(sizes), downward)
    widths, heights = [w for w, _ in sizes], [h for _, h in sizes]
    above: list[list[int]] = [[] for _ in sizes]
    below: list[list[int]] = [[] for _ in sizes]
    chains: dict[tuple[int, int], list[int]] = {}
    for a, b in downward:
        last, chain = a, []
        for level in range(layer[a] + 1, layer[b]):
            thin = len(widths)
            widths.append(THIN)
            heights.append(0.0)
            layer.append(level)
            above.append([last])
            below.append([])
            below[last].append(thin)
            chain.append(thin)
            last = thin
        below[last].append(b)
        above[b].append(last)
        chains[a, b] = chain
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for box, level in enumerate(layer):
        rows[level].append(box)
    _order(rows, above, below)
    xs = _columns(rows, above, below, widths)
    ys = [0.0] * len(widths)
    bottom = 0.0
    half = []  # of the height of each layer
    for row in rows:
        half.append(max(heights[box] for box in row) / 2)
        for box in row:
            ys[box] = bottom + half[-1]
        bottom += 2 * half[-1] + GAP_Y
    left = min((x - w / 2 for x, w in zip(xs, widths)), default=0.0)
    right = max((x + w / 2 for x, w in zip(xs, widths)), default=0.0)
    xs = [x - left for x in xs]
    # a long edge runs straight down beside the boxes of a layer, and turns between layers
    bends = {
        ends: [(xs[box], ys[box] + side * half[layer[box]]) for box in chain for side in (-1, 1)]
        for ends, chain in chains.items()
    }
    return _Layers(xs[: len(sizes)], ys[: len(sizes)], list(sizes), bends, right - left, max(bottom - GAP_Y, 0.0))


def _longest_paths(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Each box one layer below the lowest that it depends on; what depends on nothing stands right above its reader."""
    after: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for a, b in edges:
        after[a].append(b)
        waiting[b] += 1
    sources = [box for box in range(count) if not waiting[box]]
    ready, layer = list(sources), [0] * count
    for box in ready:
        for reader in after[box]:
            layer[reader] = max(layer[reader], layer[box] + 1)
            waiting[reader] -= 1
            if not waiting[reader]:
                ready.append(reader)
    alone = 0
    for box in sources:
        if after[box]:
            layer[box] = min(layer[reader] for reader in after[box]) - 1
        else:
            layer[box] = alone // ABREAST
            alone += 1
    return layer


def _order(rows: Sequence[list[int]], above: Sequence[list[int]], below: Sequence[list[int]]) -> None:
    """Fewer crossings: each box goes to the median of its neighbours on the layer before."""
    place = {box: i for row in rows for i, box in enumerate(row)}
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        near = above if down else below
        for row in rows[1:] if down else rows[-2::-1]:
            if len(row) < 2:
                continue
            wish = {box: _median([place[other] for other in near[box]], place[box]) for box in row}
            row.sort(key=wish.__getitem__)
            for i, box in enumerate(row):
                place[box] = i


def _columns(
    rows: Sequence[list[int]], above: Sequence[list[int]], below: Sequence[list[int]], widths: Sequence[float]
) -> list[float]:
    """Centres of boxes: each as near to its neighbours as the order and the gaps of its layer allow."""
    xs = [0.0] * len(widths)
    for row in rows:
        total = sum(widths[box] + GAP_X for box in row)
        right = -total / 2
        for box in row:
            xs[box] = right + widths[box] / 2
            right += widths[box] + GAP_X
    for sweep in range(SWEEPS):
        near = above if sweep % 2 == 0 else below
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            _settle(row, [_median([xs[other] for other in near[box]], xs[box]) for box in row], widths, xs)
    return xs


def _settle(row: Sequence[int], wishes: Sequence[float], widths: Sequence[float], xs: list[float]) -> None:
    """Least squares under an order with gaps: boxes that would overlap move together (pool adjacent violators)."""
    offset, offsets = 0.0, []
    pools: list[tuple[float, float, int]] = []  # weighted sum of wishes, weight, boxes
    for i, box in enumerate(row):
        if i:
            offset += (widths[row[i - 1]] + widths[box]) / 2 + GAP_X
        offsets.append(offset)
        weight = STRAIGHT if widths[box] == THIN else 1.0
        total, count = weight * (wishes[i] - offset), 1
        while pools and pools[-1][0] * weight > total * pools[-1][1]:
            before, more, boxes = pools.pop()
            total, weight, count = total + before, weight + more, count + boxes
        pools.append((total, weight, count))
    i = 0
    for total, weight, count in pools:
        for _ in range(count):
            xs[row[i]] = total / weight + offsets[i]
            i += 1


def _median(values: list[float] | list[int], otherwise: float) -> float:
    if not values:
        return otherwise
    values.sort()
    return (values[len(values) // 2] + values[(len(values) - 1) // 2]) / 2

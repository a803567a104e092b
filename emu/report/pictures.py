"""The chip as a floor plan, and contexts and operators as graphs: SVG of our own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup
from msgspec import Struct

_CELL, _GAP = 13, 2
_ACROSS = 16  # units a row of the floor plan
UNIT_NAMES = {
    "lcus": "LCUs",
    "sub_clusters": "sub-clusters",
    "input_aligners": "input aligners",
    "apus": "APUs",
    "l3_blocks": "L3 blocks",
}
_BOX, _BOX_HEIGHT, _LAYER = 150, 30, 56


def floor_plan(cluster: Mapping[str, Any], units: Mapping[str, int]) -> Markup:
    """One cluster (`chip_report`): a cell a unit, filled where it is in use; L3 blocks by what they hold.

    `units` are how many of each kind there are.
    """
    parts, y = [], 0
    for key, names in UNIT_NAMES.items():
        if key == "l3_blocks":
            continue
        used = set(cluster[key])
        cells = [(f"{names[:-1]} {unit}", "on" if unit in used else "") for unit in range(units[key])]
        parts.append(_bank(f"{names}: {len(used)} of {len(cells)}", cells, y))
        y += _height(len(cells))
    blocks = {block["index"]: block for block in cluster["l3_blocks"]}
    cells = [_block(index, blocks.get(index)) for index in range(units["l3_blocks"])]
    parts.append(_bank(f"L3 blocks: {len(blocks)} of {len(cells)}", cells, y))
    y += _height(len(cells))
    width = _ACROSS * (_CELL + _GAP)
    return Markup(
        '<svg class="plan" viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="img" aria-label="{t}">{b}</svg>'
    ).format(w=width, h=y, t=f"floor plan of cluster {cluster['index']}", b=Markup("").join(parts))


def _height(cells: int) -> int:
    return 18 + -(-cells // _ACROSS) * (_CELL + _GAP) + 6


def _block(index: int, block: Mapping[str, Any] | None) -> tuple[str, str]:
    if block is None:
        return f"L3 block {index}: not written", ""
    size, packed = block["bytes"], block["compressed_bytes"]
    return f"L3 block {index}: {block['kind']}, {size:,} bytes ({packed:,} as they come)", str(block["kind"])


def _bank(title: str, cells: Sequence[tuple[str, str]], y: int) -> Markup:
    drawn = [Markup('<text x="0" y="{}">{}</text>').format(y + 12, title)]
    for number, (text, kind) in enumerate(cells):
        row, column = divmod(number, _ACROSS)
        step = _CELL + _GAP
        drawn.append(
            Markup('<rect class="cell {}" x="{}" y="{}" width="{c}" height="{c}"><title>{}</title></rect>').format(
                kind, column * step, y + 18 + row * step, text, c=_CELL
            )
        )
    return Markup("").join(drawn)


class Node(Struct, frozen=True):
    """A box of a graph: what stands in it, what it says on hover, and how it is filled."""

    name: str
    text: str = ""
    kind: str = ""


def layered(nodes: Mapping[str, Node], edges: Sequence[tuple[str, str, str]], title: str) -> Markup:
    """A graph in layers, each node below all that lead to it; edges are (from, to, text). Cycles are cut where met."""
    layer = _layers(list(nodes), edges)
    rows: dict[int, list[str]] = {}
    for key in nodes:
        rows.setdefault(layer[key], []).append(key)
    widest = max((len(row) for row in rows.values()), default=1)
    width, height = widest * (_BOX + 16), (max(rows, default=0) + 1) * _LAYER
    place = {
        key: (round((at + 0.5) * width / len(row)), depth * _LAYER + 8)
        for depth, row in rows.items()
        for at, key in enumerate(row)
    }
    body = [_edge(place[source], place[sink], text) for source, sink, text in edges]
    body += [_box(node, *place[key]) for key, node in nodes.items()]
    return Markup(
        '<svg class="graph walk" viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="group" aria-label="{t}">{b}</svg>'
    ).format(w=width, h=height, t=title, b=Markup("").join(body))


def _layers(keys: Sequence[str], edges: Sequence[tuple[str, str, str]]) -> dict[str, int]:
    """The length of the longest way to each node, found in the order of the nodes (producers come first in a plan)."""
    before: dict[str, list[str]] = {}
    for source, sink, _ in edges:
        before.setdefault(sink, []).append(source)
    depth: dict[str, int] = {}
    for key in keys:
        depth[key] = 1 + max((depth[one] for one in before.get(key, ()) if one in depth), default=-1)
    return depth


def _edge(source: tuple[int, int], sink: tuple[int, int], text: str) -> Markup:
    (x1, y1), (x2, y2) = source, sink
    y1 += _BOX_HEIGHT
    if y2 <= y1 - _BOX_HEIGHT:  # back or beside: around the boxes
        d = f"M{x1 + _BOX // 2} {y1 - 15}C{x1 + _BOX} {y1},{x2 + _BOX} {y2},{x2 + _BOX // 2} {y2 + 15}"
    else:
        middle = (y1 + y2) // 2
        d = f"M{x1} {y1}C{x1} {middle},{x2} {middle},{x2} {y2}"
    return Markup('<path class="edge" d="{}"><title>{}</title></path>').format(d, text)


def _box(node: Node, x: int, y: int) -> Markup:
    shown = node.name if len(node.name) < 22 else f"…{node.name[-20:]}"
    return Markup(
        '<g class="node {k}" tabindex="0" role="img" aria-label="{n}: {t}"><title>{t}</title>'
        '<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="4"/>'
        '<text x="{m}" y="{ty}" text-anchor="middle">{n}</text></g>'
    ).format(
        k=node.kind, t=node.text or node.name, x=x - _BOX // 2, y=y, w=_BOX, h=_BOX_HEIGHT, m=x, ty=y + 19, n=shown
    )

"""Throughput as curves: SVG of our own, with colours that the page's style gives."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup
from msgspec import Struct

_WIDTH, _HEIGHT = 640, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 74, 150, 14, 40
_LABEL_GAP = 15  # between the names at the ends of the lines


class Series(Struct, frozen=True):
    """One line: (x, y) points, and where known the interval (low, high) of each."""

    name: str
    points: Sequence[tuple[float, float]]
    interval: Sequence[tuple[float, float]] = ()


def curves(series: Sequence[Series], x_title: str, y_title: str) -> Markup:
    """An SVG with both axes logarithmic; each line is named at its end, each point says its numbers when pointed at or
    focused."""
    drawn = [one for one in series if any(y > 0 for _, y in one.points)]
    if not drawn:
        return Markup("")
    xs = sorted({x for one in drawn for x, _ in one.points})
    ys = [y for one in drawn for _, y in one.points if y > 0]
    ys += [y for one in drawn for interval in one.interval for y in interval if y > 0]
    x_axis = _Axis(xs[0], xs[-1], _LEFT, _WIDTH - _RIGHT)
    y_axis = _Axis(min(ys) / 1.15, max(ys) * 1.15, _HEIGHT - _BOTTOM, _TOP)
    body = [_grid(xs, x_axis, y_axis)]
    ends = _spread([y_axis.place(one.points[-1][1]) for one in drawn])
    for number, (one, end) in enumerate(zip(drawn, ends, strict=True)):
        body.append(_line(one, number, x_axis, y_axis, end))
    title = f"{y_title} over {x_title}"
    return Markup(
        '<svg class="curves walk" viewBox="0 0 {w} {h}" role="group" aria-label="{title}">{body}'
        '<text class="title" x="{xt}" y="{yt}" text-anchor="middle">{x}</text>'
        '<text class="title" transform="translate(14 {ym}) rotate(-90)" text-anchor="middle">{y}</text></svg>'
    ).format(
        w=_WIDTH,
        h=_HEIGHT,
        title=title,
        body=Markup("").join(body),
        xt=(_LEFT + _WIDTH - _RIGHT) // 2,
        yt=_HEIGHT - 6,
        x=x_title,
        ym=(_TOP + _HEIGHT - _BOTTOM) // 2,
        y=y_title,
    )


class _Axis(Struct, frozen=True):
    low: float
    high: float
    start: float
    end: float

    def place(self, value: float) -> float:
        """The pixel of a value; a range of one value lies in the middle."""
        if value <= 0 or self.high <= self.low:
            return (self.start + self.end) / 2
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self) -> list[float]:
        """1, 2, 5 of each power of ten that lie on the axis; where they are few, more."""
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        for steps in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9), tuple(n / 10 for n in range(10, 100))):
            found = [step * 10.0**power for power in range(first, last + 1) for step in steps]
            found = [value for value in found if self.low <= value <= self.high]
            if len(found) >= 3:
                break
        return found[:: max(1, len(found) // 7)]


def _grid(xs: Sequence[float], x_axis: _Axis, y_axis: _Axis) -> Markup:
    lines = []
    for value in y_axis.ticks():
        y = y_axis.place(value)
        lines.append(
            Markup('<path class="grid" d="M{} {}H{}"/><text x="{}" y="{}" text-anchor="end">{}</text>').format(
                _LEFT, y, _WIDTH - _RIGHT, _LEFT - 6, y + 4, f"{value:,.4g}" if value < 1e4 else f"{value:,.0f}"
            )
        )
    for x in xs:
        at = x_axis.place(x)
        lines.append(
            Markup('<path class="grid" d="M{} {}V{}"/><text x="{}" y="{}" text-anchor="middle">{}</text>').format(
                at, _TOP, _HEIGHT - _BOTTOM, at, _HEIGHT - _BOTTOM + 15, f"{x:,.4g}"
            )
        )
    return Markup("").join(lines)


def _line(one: Series, number: int, x_axis: _Axis, y_axis: _Axis, label_y: float) -> Markup:
    colour = f"s{number % 8}"
    places = {at: (x_axis.place(x), y_axis.place(y)) for at, (x, y) in enumerate(one.points) if y > 0}
    band = Markup("")
    if one.interval:
        upper = [
            (x_axis.place(x), y_axis.place(high)) for (x, _), (_, high) in zip(one.points, one.interval, strict=True)
        ]
        lower = [
            (x_axis.place(x), y_axis.place(low)) for (x, _), (low, _) in zip(one.points, one.interval, strict=True)
        ]
        band = Markup('<path class="band {}" d="{}Z"/>').format(colour, _path([*upper, *reversed(lower)]))
    dots = Markup("").join(_point(one, at, place, colour) for at, place in places.items())
    name = Markup('<text class="name {}" x="{}" y="{}">{}</text>').format(
        colour, _WIDTH - _RIGHT + 8, label_y + 4, one.name if len(one.name) < 24 else f"{one.name[:22]}…"
    )
    return band + Markup('<path class="line {}" d="{}"/>').format(colour, _path(list(places.values()))) + dots + name


def _point(one: Series, at: int, place: tuple[float, float], colour: str) -> Markup:
    x, y = place
    before_middle = x < (_LEFT + _WIDTH - _RIGHT) / 2
    return Markup(
        '<g class="point" tabindex="0" role="img" aria-label="{says}"><circle class="{c}" cx="{x}" cy="{y}" r="3.5"/>'
        '<text class="says" x="{tx}" y="{ty}" text-anchor="{anchor}">{says}</text></g>'
    ).format(
        says=_says(one, at),
        c=colour,
        x=x,
        y=y,
        tx=x + 8 if before_middle else x - 8,
        ty=max(y - 8, _TOP + 8),
        anchor="start" if before_middle else "end",
    )


def _says(one: Series, at: int) -> str:
    x, y = one.points[at]
    between = ""
    if one.interval:
        low, high = one.interval[at]
        between = f" ({low:,.2f} to {high:,.2f})"
    return f"{one.name}, {x:,.4g}: {y:,.2f}{between}"


def _path(places: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x} {y}" for x, y in places)


def _spread(wanted: Sequence[float]) -> list[float]:
    """Heights of the names, near the wanted ones and far enough from each other."""
    out = list(wanted)
    above = -math.inf
    for at in sorted(range(len(out)), key=lambda at: wanted[at]):
        out[at] = max(out[at], above + _LABEL_GAP)
        above = out[at]
    excess = above - (_HEIGHT - 8)
    return [y - excess for y in out] if excess > 0 else out

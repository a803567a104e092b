"""What came out of a run, for people: detections as tables, JSON and drawings, best classes, maps of classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from emu.arrays import output_file_name
from emu.dataflow.detections import Detection, detections, is_classification, is_map, top_classes
from emu.dataflow.frames import FrameBridge
from emu.dataflow.quantize import dequantize
from emu.dataflow.vstreams import OutputVStream
from emu.errors import CommandLineError
from emu.hef.formats import FormatType
from emu.hef.plausibility import picture_sizes
from emu.images.draw import source_box

if TYPE_CHECKING:
    from emu.images.fit import Placement
    from emu.images.frames import PictureFrames

_TABLE_ROWS = 20  # of a frame; JSON has all
_TABLE_FRAMES = 8


@dataclass(slots=True)
class Output:
    """One output vstream over all frames of a run. `found` has the boxes, `best` the classes of each frame."""

    vstream: OutputVStream
    bridge: FrameBridge
    found: list[list[dict[str, Any]]] | None = None
    best: list[list[dict[str, Any]]] | None = None

    @property
    def name(self) -> str:
        return self.vstream.info.name

    def document(self) -> dict[str, Any]:
        """The JSON form (cli.md)."""
        document: dict[str, Any] = {
            "name": self.name,
            "shape": list(self.vstream.array_shape),
            "dtype": str(self.vstream.dtype),
            "order": self.vstream.user.order.name,
            "source": self.bridge.origin_of(self.name),
            "detections": None,
        }
        if self.found is not None:
            document["detections"] = [
                {"frame": frame, **one} for frame, boxes in enumerate(self.found) for one in boxes
            ]
        if self.best is not None:
            document["top"] = [{"frame": frame, **one} for frame, best in enumerate(self.best) for one in best]
        return document

    def text(self) -> Iterator[str]:
        for frame, boxes in enumerate((self.found or [])[:_TABLE_FRAMES]):
            yield f"{self.name}, frame {frame}: {len(boxes)} detection{'s' * (len(boxes) != 1)}"
            if boxes:
                yield f"  {'class':<24} {'score':>7}   {'x0':>8} {'y0':>8} {'x1':>8} {'y1':>8}"
            for one in boxes[:_TABLE_ROWS]:
                edges = " ".join(f"{edge:>8.1f}" for edge in one["box"])
                yield f"  {_class_text(one):<24} {one['score']:>7.4f}   {edges}"
            if len(boxes) > _TABLE_ROWS:
                yield f"  … {len(boxes) - _TABLE_ROWS} more (--json has all)"
        for frame, best in enumerate((self.best or [])[:_TABLE_FRAMES]):
            classes = ", ".join(f"{_class_text(one)} {one['value']:.4g}" for one in best)
            yield f"{self.name}, frame {frame}: {classes}"
        frames = max(len(self.found or ()), len(self.best or ()))
        if frames > _TABLE_FRAMES:
            yield f"{self.name}: {frames - _TABLE_FRAMES} more frames (--json has all)"


def _class_text(one: dict[str, Any]) -> str:
    return str(one["class"]) if one["label"] is None else f"{one['class']} {one['label']}"


@dataclass(slots=True)
class Results:
    """Collects the outputs of a group's frames. `pictures` are those of its inputs by vstream, `draw` a folder."""

    bridge: FrameBridge
    labels: Sequence[str] = ()
    draw: Path | None = None
    pictures: PictureFrames | None = None
    outputs: list[Output] = field(default_factory=list)

    def __post_init__(self) -> None:
        for vstream in self.bridge.output_vstreams:
            output = Output(vstream, self.bridge)
            if vstream.is_nms:
                output.found = []
            elif is_classification(vstream):
                output.best = []
            self.outputs.append(output)

    def add(self, frame: int, arrays: dict[str, NDArray[Any]]) -> None:
        """The outputs of frame number `frame`, in order."""
        for position, output in enumerate(self.outputs):
            array = arrays[output.name]
            found: list[Detection] = []
            if output.found is not None:
                found = detections(output.vstream, array)
                output.found.append([self._detection(one, frame) for one in found])
            if output.best is not None:
                output.best.append([self._class(at, value) for at, value in top_classes(_real(output, array))])
            if self.draw is not None:
                self._draw(position, output, frame, array, found)

    def _detection(self, one: Detection, frame: int) -> dict[str, Any]:
        box = source_box(one, self._placement(frame))
        return {**self._class(one.class_id, one.score, "score"), "box": list(box)}

    def _class(self, class_id: int, value: float, key: str = "value") -> dict[str, Any]:
        label = self.labels[class_id] if class_id < len(self.labels) else None
        return {"class": class_id, "label": label, key: value}

    def _placement(self, frame: int) -> Placement:
        from emu.images.fit import Placement

        if self.pictures is not None:
            return self.pictures.placement(frame % len(self.pictures))
        sizes = picture_sizes(self.bridge.group) or [(1, 1)]
        return Placement(sizes[0], sizes[0], sizes[0])

    def _draw(self, position: int, output: Output, frame: int, array: NDArray[Any], found: Sequence[Detection]) -> None:
        from emu.images.draw import Canvas, class_map

        assert self.draw is not None
        placement = self._placement(frame)
        if is_map(output.vstream):
            Canvas(class_map(array)).save(self._file(position, output, frame))
            return
        if output.found is None and output.best is None:
            return
        canvas = Canvas(self._picture(frame, placement))
        if output.found is not None:
            canvas.masks(found, placement)
            boxes = [(tuple(one["box"]), one["class"], _caption(one, "score")) for one in output.found[-1]]
            canvas.boxes(boxes[::-1])  # the best on top
        if output.best is not None:
            canvas.lines([_caption(one, "value") for one in output.best[-1]])
        canvas.save(self._file(position, output, frame))

    def _file(self, position: int, output: Output, frame: int) -> Path:
        assert self.draw is not None
        return self.draw / f"{frame:06d}_{output_file_name(position, output.name).removesuffix('.npy')}.png"

    def _picture(self, frame: int, placement: Placement) -> NDArray[np.uint8]:
        """What the frame shows: the picture as it was given, else the input's own bytes, else black."""
        if self.pictures is not None:
            return self.pictures.picture(frame % len(self.pictures))
        for info in self.bridge.group.input_vstreams:
            if info.shape is not None and (info.shape.height, info.shape.width) == placement.target:
                pixels = self.bridge.input_pixels(info.name, frame)
                if pixels is not None:
                    return pixels
        return np.zeros((*placement.source, 3), np.uint8)


def _caption(one: dict[str, Any], key: str) -> str:
    name = one["label"] if one["label"] is not None else str(one["class"])
    return f"{name} {one[key]:.2f}"


def _real(output: Output, array: NDArray[Any]) -> NDArray[Any]:
    """De-quantised where the output is codes with one quantisation."""
    info = output.vstream.info
    if output.vstream.user.type is FormatType.FLOAT32 or not info.quant_info.scale:
        return array
    return dequantize(array, info.quant_info)


def require_drawable(results: Sequence[Results], labels: bool, draw: bool) -> None:
    """UsageError where `--labels` or `--draw` would have nothing to do."""
    outputs = [output for one in results for output in one.outputs]
    named = any(output.found is not None or output.best is not None for output in outputs)
    if labels and not named:
        raise CommandLineError("--labels: no output has classes, neither detections nor scores of classes")
    if draw and not named and not any(is_map(output.vstream) for output in outputs):
        raise CommandLineError("--draw: no output can be drawn, there are no detections, scores of classes or maps")

"""The InferModel API (pyhailort-api.md 8): what a model is asked for, before it is configured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from emu.errors import HailoError, HailoStatus
from emu.hailo_platform.configured_model import ConfiguredInferModel, named
from emu.hailo_platform.conversion import InputFrames, OutputFrames
from emu.hailo_platform.enums import FormatOrder, FormatType, PowerMode
from emu.hailo_platform.exceptions import HailoRTNotImplemented, raising_as_hailort
from emu.hailo_platform.hef import HEF, HefSource
from emu.hailo_platform.infos import HailoFormat, QuantInfo, image_shape
from emu.hailo_platform.outputs import OutputShape
from emu.hailo_platform.session import Session

if TYPE_CHECKING:
    from emu.dataflow.vstreams import OutputVStream
    from emu.hef import infos as inside


class InferModel:
    """A HEF with the formats, batch size and limits that `configure` will ask for."""

    class InferStream:
        """One input or output."""

        def __init__(self, model: InferModel, info: inside.VStreamInfo) -> None:
            self._model = model
            self._info = info
            self._is_input = info in model._group.input_vstreams
            self._format = HailoFormat.of(info.format)
            self._limits: dict[str, Any] = {}

        @property
        def name(self) -> str:
            return self._info.name

        @property
        def shape(self) -> list[int]:
            """[F], [H, W] or [H, W, F]; NMS by class: the floats of a frame, other NMS orders: its bytes."""
            with raising_as_hailort():
                if self.is_nms:
                    return list(OutputShape(self._built(), self._model._group).shape)
            assert self._info.shape is not None
            return list(image_shape(self._format.order, tuple(self._info.shape)))

        @property
        def format(self) -> HailoFormat:
            return HailoFormat(self._format.type, self._format.order, self._format.flags)

        def set_format_type(self, type: FormatType) -> None:
            """AUTO: back to the model's own."""
            self._format.type = HailoFormat.of(self._info.format).type if type is FormatType.AUTO else type

        def set_format_order(self, order: FormatOrder) -> None:
            """As `set_format_type`; an order that is not possible is refused by `configure`."""
            own = HailoFormat.of(self._info.format).order
            self._format.order = own if order is FormatOrder.AUTO else order

        @property
        def quant_infos(self) -> list[QuantInfo]:
            """One, or one a feature."""
            streams = {stream.name: stream for stream in self._model._group.streams}
            layers = [streams[name] for name in self._info.streams]
            own = [stream for stream in layers if stream.name == self._info.name]
            return [QuantInfo.of(one) for one in (own[0].quant_infos if own else (self._info.quant_info,))]

        @property
        def is_nms(self) -> bool:
            return self._info.nms_shape is not None

        def set_nms_score_threshold(self, threshold: float) -> None:
            self._limits["score_threshold"] = threshold

        def set_nms_iou_threshold(self, threshold: float) -> None:
            self._limits["iou_threshold"] = threshold

        def set_nms_max_proposals_per_class(self, max_proposals: int) -> None:
            self._limits["max_proposals_per_class"] = max_proposals

        def set_nms_max_proposals_total(self, max_proposals: int) -> None:
            self._limits["max_proposals_total"] = max_proposals

        def set_nms_max_accumulated_mask_size(self, max_accumulated_mask_size: int) -> None:
            self._limits["max_accumulated_mask_size"] = max_accumulated_mask_size

        def _built(self) -> OutputVStream:
            """The output vstream as it would be configured."""
            from emu.dataflow.vstreams import OutputVStream

            model = self._model
            made = OutputVStream(model._group, self._info, self._format.inside(), runtime=model._session.runtime)
            if self._limits:
                made.configure(**self._limits)
            return made

    def __init__(self, session: Session, hef_source: HefSource, name: str) -> None:
        self._session = session
        self._hef = HEF(hef_source)
        with raising_as_hailort():
            if name and name not in self._hef._groups:
                raise HailoError(HailoStatus.HAILO_NOT_FOUND, f"the HEF has no network group {name!r}")
            self._group = self._hef._group(name)
        self._batch_size = 0
        self._inputs = {info.name: self.InferStream(self, info) for info in self._group.input_vstreams}
        self._outputs = {info.name: self.InferStream(self, info) for info in self._group.output_vstreams}
        self._configured: WeakSet[ConfiguredInferModel] = WeakSet()

    @property
    def hef(self) -> HEF:
        return self._hef

    def set_batch_size(self, batch_size: int) -> None:
        """0: HailoRT chooses."""
        self._batch_size = batch_size

    def set_power_mode(self, power_mode: PowerMode) -> None:
        """The simulated device is no slower in either."""

    def _set_enable_kv_cache(self, enable_kv_cache: bool) -> None:
        raise HailoRTNotImplemented("KV caches through hailo_platform")

    @property
    def input_names(self) -> list[str]:
        return list(self._inputs)

    @property
    def output_names(self) -> list[str]:
        return list(self._outputs)

    @property
    def inputs(self) -> list[InferStream]:
        return list(self._inputs.values())

    @property
    def outputs(self) -> list[InferStream]:
        return list(self._outputs.values())

    def input(self, name: str = "") -> InferStream:
        """HailoRTInvalidOperationException without a name where there are several, HailoRTNotFoundException."""
        return named(self._inputs, name, "input")

    def output(self, name: str = "") -> InferStream:
        """As `input`."""
        return named(self._outputs, name, "output")

    def configure(self) -> ConfiguredInferModel:
        """Onto the device. HailoRTException for a format or a limit that is not possible."""
        with raising_as_hailort():
            for stream in self._inputs.values():
                if stream._limits:
                    raise HailoError(HailoStatus.HAILO_INVALID_OPERATION, f"{stream.name} is an input, no NMS output")
            inputs = InputFrames(self._group, {name: one._format for name, one in self._inputs.items()})
            formats = {name: one._format for name, one in self._outputs.items()}
            outputs = OutputFrames(self._group, formats, self._session.runtime)
            for name, stream in self._outputs.items():
                if stream._limits:
                    outputs.vstreams[name].configure(**stream._limits)
            application = self._session.configure(self._hef._opened, self._batch_size, self._group.name, {})
        made = ConfiguredInferModel(self._session, self._group, application, inputs, outputs)
        self._configured.add(made)
        return made

    def _release(self) -> None:
        for one in list(self._configured):
            one._release()

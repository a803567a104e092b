"""The table of a sweep: one row a combination of file, device, link and batch."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict, fields

from emu.errors import EmuError, printable

if TYPE_CHECKING:
    from emu.timing.estimate import Estimate


class Row(Struct, frozen=True):
    """One estimate, or the reason why there is none. Times of the contexts are sums over them, for one batch."""

    file: str
    network_group: str | None
    runtime: str | None
    device: str | None
    link: str | None
    batch: int
    host_profile: str | None = None
    fps: float | None = None
    sync_fps: float | None = None
    first_frame_latency_ms: float | None = None
    batch_wait_ms: float | None = None
    activation_ms: float | None = None
    deactivation_ms: float | None = None
    bound_by: str | None = None
    batch_for_90_percent: int | None = None
    contexts: int | None = None
    config_ms: float | None = None
    compute_ms: float | None = None
    dma_ms: float | None = None
    switch_ms: float | None = None
    unexplained_ms: float | None = None
    error_status: int | None = None
    error_name: str | None = None
    error: str | None = None

    @classmethod
    def of_estimate(cls, file: str, result: Estimate) -> Row:
        """The row of an estimate at one batch size."""
        (figures,) = result.batches
        contexts = figures.contexts
        return cls(
            file=file,
            network_group=result.network_group,
            runtime=result.runtime,
            device=result.device,
            link=result.link,
            batch=figures.batch,
            host_profile=result.host,
            fps=figures.fps,
            sync_fps=figures.sync_fps,
            first_frame_latency_ms=figures.first_frame_latency_ms,
            batch_wait_ms=figures.batch_wait_ms,
            activation_ms=figures.activation_ms,
            deactivation_ms=figures.deactivation_ms,
            bound_by=figures.bound_by,
            batch_for_90_percent=result.batch_for_90_percent,
            contexts=len(contexts),
            config_ms=sum(context.config_ms for context in contexts),
            compute_ms=sum(context.compute_ms for context in contexts),
            dma_ms=sum(context.dma_ms for context in contexts),
            switch_ms=sum(context.switch_ms for context in contexts),
            unexplained_ms=sum(context.unexplained_ms for context in contexts),
        )

    @classmethod
    def of_error(cls, file: str, device: str | None, link: str | None, batch: int, error: EmuError) -> Row:
        """The row of a combination that cannot be estimated."""
        return cls(
            file=file,
            network_group=None,
            runtime=None,
            device=device,
            link=link,
            batch=batch,
            error_status=error.number,
            error_name=error.name,
            error=error.message,
        )


COLUMNS = tuple(field.name for field in fields(Row))


def to_csv(rows: Iterable[Row]) -> str:
    """The rows as CSV with a header line; absent figures are empty."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        # a table is opened in terminals too, and names come out of files
        writer.writerow({k: printable(v) if isinstance(v, str) else v for k, v in asdict(row).items()})
    return out.getvalue()


def document(rows: Iterable[Row]) -> dict[str, Any]:
    """The rows as one JSON document."""
    return {"kind": "sweep", "rows": [asdict(row) for row in rows]}

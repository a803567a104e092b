"""What a device answers: the constants of GET_HW_CONSTS, a flag of IDENTIFY."""

from __future__ import annotations

from msgspec import Struct

EXTENDED_CONTEXT_SWITCH_BUFFER = (
    1 << 29
)  # of the firmware flags that IDENTIFY and CORE_IDENTIFY tell (silicon-facts.md a)


class HwConsts(Struct, frozen=True):
    """The answer to GET_HW_CONSTS, in the order of cli.md."""

    fifo_word_granularity: int
    max_periph_buffers_per_frame: int
    max_periph_bytes_per_buffer: int
    max_acceptable_bytes_per_buffer: int
    outbound_data_stream_size: int
    should_optimize_credits: int
    default_initial_credit_size: int

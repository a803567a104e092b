"""`hailo_platform.common.logger.logger`."""

from __future__ import annotations

from emu.hailo_platform.logger import default_logger

__all__ = ["default_logger"]

"""`hailo_platform.common.logger`."""

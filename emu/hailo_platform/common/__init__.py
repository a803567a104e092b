"""`hailo_platform.common`."""

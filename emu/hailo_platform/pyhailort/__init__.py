"""`hailo_platform.pyhailort`."""

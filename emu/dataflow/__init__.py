"""What frames look like on each side of a stream: quantisation, format orders, NMS, post-processing."""

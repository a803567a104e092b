"""The host: an open device, and what is built on it."""

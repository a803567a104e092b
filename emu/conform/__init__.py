"""Another implementation of the firmware against ours: a protocol, vectors, and recordings sent to it."""

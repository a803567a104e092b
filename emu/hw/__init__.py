"""The simulated device: a discrete-event model of the chip that executes control messages and action lists."""

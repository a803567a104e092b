"""What the runtime sends: contexts as queues of firmware actions, channels, buffers, control messages."""

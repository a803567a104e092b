"""What crosses the border between host and chip: actions, control messages, headers, notifications, statuses."""

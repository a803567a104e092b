"""The invariants of a trace, a class each: `order` of records, `causes` of what happens, `channels` and counters."""

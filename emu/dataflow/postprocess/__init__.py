"""Host post-processing operations, one file an op."""

"""How long things take: the model that the simulated device shares, and the estimate without a run."""

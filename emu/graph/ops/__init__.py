"""Graph operators: one file a family, a registry."""

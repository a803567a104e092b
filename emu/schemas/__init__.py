"""Wire schemas and what is generated from them; only readers and writers import this package."""

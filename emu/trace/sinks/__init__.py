"""Where traces go: one module a format."""

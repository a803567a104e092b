"""The command line: one module a subcommand; parses arguments, calls the library, prints."""

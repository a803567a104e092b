"""The server: protocol, conversations recorded from real clients, and a client of our own."""

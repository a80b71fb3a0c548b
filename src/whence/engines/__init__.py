"""The engines: one small protocol, and the ways to keep its promise."""

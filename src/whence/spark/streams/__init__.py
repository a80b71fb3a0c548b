"""Streams as the source of tables: each micro-batch is one commit, and happens once."""

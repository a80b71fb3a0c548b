"""What a database is made of, one idea per file; `whence.database` puts it together."""

"""What a database is made of, one idea per file; `whence.database.database` puts it together."""

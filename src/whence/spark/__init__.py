"""A database on Spark: its session, its storage, its streams."""

"""What is kept: SQLite in a directory, Parquet and manifests where Spark reads."""

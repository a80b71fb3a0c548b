"""Window functions kept up to date: ordered partitions, what each function makes of them, and what a change touches."""

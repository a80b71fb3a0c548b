"""What annotations mean: one small algebra, and an instance for every kind of answer."""

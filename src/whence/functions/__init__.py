"""Built-in functions: their types, their meaning, and how terms made of them are evaluated."""

"""How views are maintained, in words: the plan behind `db.explain`."""

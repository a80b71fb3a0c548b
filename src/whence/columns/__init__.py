"""Relations as typed columns: how values lie in arrays, hash tables over them, and terms computed in batches."""

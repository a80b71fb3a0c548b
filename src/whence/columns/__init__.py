"""Relations as typed columns: how values lie in arrays, hash tables over them, and terms computed in batches."""


class NotInColumnsError(Exception):
    """A value, or a rule, that columns cannot hold; the message says which."""

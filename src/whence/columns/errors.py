"""What columns cannot hold. Who only wants to know this need not load them."""


class NotInColumnsError(Exception):
    """A value, or a rule, that columns cannot hold; the message says which."""

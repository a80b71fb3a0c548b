"""The public face of whence: a database, its questions, and the door to it."""

"""A recursive view: nodes send each other derivations of its rows until nothing is new."""

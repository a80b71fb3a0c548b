"""What a node knows of the derivations of a row: nothing, which tuples led to it, or which it cannot do without."""

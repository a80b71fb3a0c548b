"""A laboratory: a network of nodes, the papers' experiments, and data to try views on."""

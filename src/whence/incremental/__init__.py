"""What to do when input changes, independent of where it runs: delta rules, and plans to evaluate them."""

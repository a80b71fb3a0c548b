"""What maintaining a view costs, against what people would do instead. `python -m benchmarks` runs everything."""

"""Changes of thousands of rows and more, followed in the driver by the local engine's kernels over Arrow columns."""

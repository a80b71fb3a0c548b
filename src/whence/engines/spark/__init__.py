"""The engine for data that lives in Spark: state in DataFrames, small changes closed in process."""

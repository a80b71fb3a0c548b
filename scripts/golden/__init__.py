"""Reading Spark's golden SQL tests, and running them in whence beside a live Spark."""

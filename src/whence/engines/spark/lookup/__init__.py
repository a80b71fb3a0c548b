"""Finding rows by key without a scan: segments decoded into files that this process maps, with hashes to find them."""

"""Where rows come from: Python objects, Arrow tables, CSV files. What leaves here fits its relation."""

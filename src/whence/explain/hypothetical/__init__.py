"""Questions about changes: what would follow from one, what depends on a row, what a row lacks, what a commit did."""

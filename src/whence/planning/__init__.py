"""What is known of the rows of relations, what joins cost by that, and the order that costs least."""

"""What can be known of a program before its data comes: names, binding order, types, strata, components."""

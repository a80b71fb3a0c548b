"""What a row rests on, weighed: minimal supports, critical rows, cuts, probabilities, annotations."""

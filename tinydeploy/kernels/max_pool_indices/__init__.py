"""The schedule of MaxPoolIndices."""

"""The schedule of every operator that only moves elements."""

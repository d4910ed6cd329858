"""The schedule of every reduction."""

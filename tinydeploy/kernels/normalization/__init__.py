"""The schedule of Normalization."""

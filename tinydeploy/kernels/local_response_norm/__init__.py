"""The schedule of LocalResponseNorm."""

"""The schedule of Svdf."""

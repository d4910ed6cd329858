"""The schedule of operators that users define."""

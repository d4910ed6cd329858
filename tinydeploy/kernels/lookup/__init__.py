"""The schedule of every int8 function of one element."""

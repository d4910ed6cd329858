"""The schedule of every elementwise operator of two operands."""

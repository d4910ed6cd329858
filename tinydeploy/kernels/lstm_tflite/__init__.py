"""The schedule of LstmTflite."""

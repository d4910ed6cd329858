"""Tests of the C headers that generated models include."""

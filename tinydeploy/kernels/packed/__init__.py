"""Schedules for int8 weights that lie on a grid of 4 bits: half a byte per weight, a factor per group."""

"""Schedules for every kind of integer steps: int8 or int16 data, int4 weights, zero points of weights."""

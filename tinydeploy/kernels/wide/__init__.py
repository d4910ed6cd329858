"""Schedules of functions of int16 steps, with tables of lines."""

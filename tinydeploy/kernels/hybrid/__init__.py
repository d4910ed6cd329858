"""Schedules of float data times integer weights."""

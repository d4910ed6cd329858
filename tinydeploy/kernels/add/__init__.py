"""Schedules of Add."""

"""Schedules of GridSample."""

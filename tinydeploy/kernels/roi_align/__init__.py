"""Schedules of RoiAlign."""

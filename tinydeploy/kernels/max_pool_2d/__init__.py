"""Schedules of MaxPool2D."""

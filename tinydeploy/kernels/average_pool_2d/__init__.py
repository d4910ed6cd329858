"""Schedules of AveragePool2D."""

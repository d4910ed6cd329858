"""Schedules of Conv2D."""

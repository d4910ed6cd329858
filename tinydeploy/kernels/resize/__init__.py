"""Schedules of Resize between pixels; by the nearest pixel it is a move."""

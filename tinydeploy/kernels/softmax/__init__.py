"""Schedules of Softmax."""

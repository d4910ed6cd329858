"""Schedules of FullyConnected."""

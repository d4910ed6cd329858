"""Schedules of GroupedConv2D."""

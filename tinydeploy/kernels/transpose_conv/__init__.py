"""Schedules of TransposeConv."""

"""Schedules of DepthwiseConv2D."""

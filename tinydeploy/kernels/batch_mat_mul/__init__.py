"""Schedules of BatchMatMul."""

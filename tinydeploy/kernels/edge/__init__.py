"""The schedules at the edges of a model: real numbers to steps and back."""

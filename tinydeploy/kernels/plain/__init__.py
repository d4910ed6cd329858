"""The schedules of operators on plain numbers: one element at a time, in a loop nest."""

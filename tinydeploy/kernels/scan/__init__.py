"""The schedules of operators that walk along one axis: running sums, selections."""

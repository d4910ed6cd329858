"""The schedule of pools of plain numbers."""

"""The schedule of Conv3D."""

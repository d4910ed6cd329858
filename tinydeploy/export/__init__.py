"""A compiled model to projects of other build systems, which people open, build and run as they are."""

from tinydeploy.export.project import Exporter, Project, TestVector, Tree, make_project
from tinydeploy.export.write import write_tree

__all__ = ["Exporter", "Project", "TestVector", "Tree", "make_project", "write_tree"]

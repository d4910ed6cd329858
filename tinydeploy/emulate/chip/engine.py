"""Unicorn for typed code: its package claims types and has none, and the C library is needed as such too."""

from __future__ import annotations

import importlib
from typing import Any

unicorn: Any = importlib.import_module("unicorn")
arm: Any = importlib.import_module("unicorn.arm_const")
library: Any = importlib.import_module("unicorn.unicorn_py3.unicorn").uclib

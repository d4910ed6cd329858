"""docs/SUPPORTED_OPS.md says what the operators say."""

from __future__ import annotations

from tests.conftest import TESTS, Golden
from tinydeploy.frontends.tflite.rules import RULES
from tinydeploy.kernels import SCHEDULES
from tinydeploy.ops import OPS
from tinydeploy.report.supported_ops import supported_ops


def test_the_document_is_current(golden: Golden) -> None:
    golden(supported_ops(), path=TESTS.parent / "docs" / "SUPPORTED_OPS.md")


def test_it_names_every_operator_limit_and_schedule() -> None:
    text = supported_ops()
    for operator in OPS.values():
        assert f"\n## {operator.name}\n" in text
        assert all(constraint.doc in text for constraint in operator.constraints)
    assert all(f"`{schedule.name}`" in text for schedule in SCHEDULES)
    assert all(f"`{name}`" in text for name in RULES)

"""ONNX's node tests in generated C: nothing that passed fails, and most pass."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.onnx_nodes.coverage import evaluate
from tests.onnx_nodes.nodes import NodeTest, node_tests
from tests.onnx_nodes.support import DOCUMENT, FAILING, Result, document, summary

pytestmark = pytest.mark.slow

SHARE = 0.9


def test_what_passed_still_passes(tmp_path: Path) -> None:
    results = list(evaluate(node_tests(), tmp_path))
    known = set(FAILING.read_text().split())
    broken = {r.test.name: r.failure for r in results if r.failure and r.test.name not in known}
    assert broken == {}
    assert sum(not result.failure for result in results) >= SHARE * len(results)


def test_the_document_counts_as_the_list_does() -> None:
    known = set(FAILING.read_text().split())
    eligible = [test for test in node_tests() if not test.excluded]
    results = [Result(test, "fails" if test.name in known else "") for test in eligible]
    assert summary(node_tests(), results) in DOCUMENT.read_text()
    assert known <= {test.name for test in eligible}


def test_exclusions_are_of_kinds_and_not_of_failures() -> None:
    excluded = Counter(test.excluded for test in node_tests() if test.excluded)
    assert sum(excluded.values()) < 0.3 * len(node_tests())
    ops = {test.op for test in node_tests() if not test.excluded}
    assert {"NonZero", "Unique", "NonMaxSuppression", "Loop", "Scan", "If", "DeformConv"} <= ops


def test_the_document_in_small() -> None:
    test = next(test for test in node_tests() if test.name == "test_abs")
    other = NodeTest("test_x", "my.Op", test.model, (), "strings")
    text = document([test, other], [Result(test, ""), Result(test, "Abs: the operator Abs is not supported")])
    assert "**1 of 2 eligible tests pass (50.0%); 1 of 2 are excluded.**" in text
    assert "| Abs | 1 | 2 | the operator Abs is not supported |" in text
    assert "| 1 | strings |" in text

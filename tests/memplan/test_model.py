"""A malformed buffer does not exist."""

from __future__ import annotations

import pytest

from tinydeploy.errors import TinyDeployError
from tinydeploy.memplan import Buffer, Kind, PlanError


@pytest.mark.parametrize(
    ("size", "first", "last", "pool", "message"),
    [
        (0, 0, 0, 0, "buffer 7: size is 0 bytes, at least 1 is allowed"),
        (-4, 0, 0, 0, "buffer 7: size is -4 bytes, at least 1 is allowed"),
        (4, -1, 0, 0, "buffer 7: first step is -1, steps count from 0"),
        (4, 3, 2, 0, "buffer 7: last step 2 is before first step 3"),
        (4, 0, 0, -1, "buffer 7: pool is -1, pools count from 0"),
    ],
)
def test_a_malformed_buffer_is_refused(size: int, first: int, last: int, pool: int, message: str) -> None:
    with pytest.raises(PlanError, match=f"^{message}$"):
        Buffer(7, size, first, last, Kind.TENSOR, pool)


def test_a_plan_error_is_ours_not_the_users() -> None:
    assert issubclass(PlanError, TinyDeployError)
    assert PlanError.exit_code not in {0, 1, 2, 3}

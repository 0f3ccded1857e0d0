"""The actors' own tests wait in virtual time, on asyncio and trio."""

from typing import Any

import pytest
from virtual_time import VIRTUAL_BACKENDS, virtual_backend


@pytest.fixture(params=VIRTUAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return virtual_backend(request.param)

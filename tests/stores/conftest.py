"""aiosqlite runs on asyncio alone, so its tests skip trio."""

import pytest


@pytest.fixture(scope="module", params=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    if request.param == "uvloop":
        pytest.importorskip("uvloop")
    return "asyncio", {"use_uvloop": request.param == "uvloop"}

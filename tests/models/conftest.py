"""The vendors' SDKs run on asyncio alone, so their tests skip trio. Every test is run per vendor."""

import pytest
from vendors import VENDORS, Vendor


@pytest.fixture(scope="module", params=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    if request.param == "uvloop":
        pytest.importorskip("uvloop")
    return "asyncio", {"use_uvloop": request.param == "uvloop"}


@pytest.fixture(params=VENDORS, ids=lambda vendor: vendor.id)
def vendor(request: pytest.FixtureRequest) -> Vendor:
    chosen: Vendor = request.param
    return chosen

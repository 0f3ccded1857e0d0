"""Virtual time as it is shipped; see `ukemi.testing.clock`."""

from ukemi.testing import VIRTUAL_BACKENDS, VirtualTimeLoop, run_virtual, virtual_backend

__all__ = ["VIRTUAL_BACKENDS", "VirtualTimeLoop", "run_virtual", "virtual_backend"]

"""The environment of the peers, apart from the project's own."""

import hashlib
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_PINS = _ROOT / "benchmarks" / "peers.txt"
_FOLDER = _ROOT / ".venv-peers"


def build() -> Path | None:
    """Return the peers' interpreter, and build its environment first if it is missing or stale.

    None if they cannot be installed for this Python; why is on stderr.
    """
    python = _FOLDER / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    stamp = _FOLDER / ".stamp"
    wanted = hashlib.sha256(_PINS.read_bytes() + sys.version.encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    print("installing the peers into .venv-peers", file=sys.stderr)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(_FOLDER)], check=True)
        subprocess.run([*install, "--require-hashes", "--requirement", str(_PINS)], check=True)
    except subprocess.CalledProcessError as error:
        print(f"the peers are left out: {error}", file=sys.stderr)
        return None
    stamp.write_text(wanted)
    return python

"""The environments of the peers, apart from the project's own."""

import hashlib
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]


def build(name: str = "peers") -> Path | None:
    """Return the peers' interpreter, and build its environment first if it is missing or stale.

    None if they cannot be installed for this Python; why is on stderr.

    Args:
        name: of the pins, a file of this folder's parent.
    """
    pins = _ROOT / "benchmarks" / f"{name}.txt"
    folder = _ROOT / f".venv-{name.replace('_', '-')}"
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    stamp = folder / ".stamp"
    wanted = hashlib.sha256(pins.read_bytes() + sys.version.encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"installing the peers into {folder.name}", file=sys.stderr)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([*install, "--require-hashes", "--requirement", str(pins)], check=True)
    except subprocess.CalledProcessError as error:
        print(f"the peers are left out: {error}", file=sys.stderr)
        return None
    stamp.write_text(wanted)
    return python

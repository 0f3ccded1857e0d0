"""The option ``--json FILE`` of every benchmark that writes its figures to a file."""

import argparse
from pathlib import Path


def add_json_file(parser: argparse.ArgumentParser, help: str, default: str | None = None) -> None:
    """Add the option; its value is a file that can be written, or None."""
    parser.add_argument("--json", type=place_for, default=default, metavar="FILE", help=help)


def place_for(word: str) -> Path:
    """Return the file to write at the end, its folders made: half an hour of measuring must not be lost
    to a typing error.

    Raises:
        ArgumentTypeError: no file of this name can be written.
    """
    path = Path(word)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{word!r} is a folder; name a file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        was_there = path.exists()
        # Only opening it tells for sure; what is in it stays until there is something new to write.
        path.open("ab").close()
        if not was_there:
            path.unlink()
    except OSError as error:
        told = f"{word!r} cannot be written: {error.strerror}: {error.filename!r}"
        raise argparse.ArgumentTypeError(told) from None
    return path

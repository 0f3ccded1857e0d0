"""Entry point of the `ukemi` command."""


def main() -> int:
    """Run the command line and return its exit status."""
    from .cli.app import run  # the command line is not loaded by `import ukemi`

    return run()


if __name__ == "__main__":
    raise SystemExit(main())

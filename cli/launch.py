"""Where the command `gpubroker` begins: Ctrl-C ends it quietly from its first line on."""

import sys

_INTERRUPTED = 130


def main() -> None:
    """Load and run the command line, and end the process."""
    try:
        from cli.app import main as run  # noqa: PLC0415 - loading takes a while, in which to end it

        run()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)

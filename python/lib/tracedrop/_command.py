"""The command ``tracedrop``: the native one, ``tracedrop sql`` and ``tracedrop fleet``."""

from __future__ import annotations

import signal
import sys

from . import _tracedrop


def main() -> int:
    """Run the command with the arguments of the process; return its exit code."""
    if len(sys.argv) > 1 and sys.argv[1] == "sql":
        from ._sql import main as sql

        return sql(sys.argv[2:])
    if len(sys.argv) > 1 and sys.argv[1] == "fleet":
        from .fleet import main as fleet

        return fleet(sys.argv[2:])
    # Ctrl-C ends the native command at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _tracedrop.run_command(["tracedrop", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())

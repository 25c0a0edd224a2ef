"""The command ``tracedrop``: the native one, ``tracedrop sql`` and ``tracedrop fleet``."""

from __future__ import annotations

import os
import signal
import sys

from . import _tracedrop

#: Exit code after Ctrl-C, as shells have it.
INTERRUPTED = 128 + signal.SIGINT


def main() -> int:
    """Run the command with the arguments of the process; return its exit code."""
    if sys.argv[1:3] != ["fleet", "add"]:
        # Ctrl-C ends the command at once, also in the middle of a query. An addition to a dataset stops its threads first.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if len(sys.argv) > 1 and sys.argv[1] in ("sql", "fleet"):
        return _own(sys.argv[1], sys.argv[2:])
    return _tracedrop.run_command(["tracedrop", *sys.argv[1:]])


def _own(name: str, args: list[str]) -> int:
    try:
        if name == "sql":
            from ._sql import main as run
        else:
            from .fleet import main as run
        code = run(args)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has enough, as in `| head`. What is left to print at exit goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


if __name__ == "__main__":
    sys.exit(main())

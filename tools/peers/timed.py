"""Runs a command: python timed.py SECONDS COMMAND...

Prints JSON: milliseconds until it ended, the most memory it had at a time, and its last words. Longer than SECONDS it may
not take. Written in Python because Node.js does not tell the memory of a process that has ended.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time

limit, *command = sys.argv[1:]
with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=out, stderr=err)
    timer = threading.Timer(float(limit), process.kill)
    timer.start()
    _, status, usage = os.wait4(process.pid, 0)
    took = time.monotonic() - start
    timer.cancel()

    def last_line(file):
        file.seek(max(0, file.seek(0, os.SEEK_END) - 4096))
        lines = file.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    code = os.waitstatus_to_exitcode(status)
    result = {"ms": took * 1000, "memory": usage.ru_maxrss * 1024}
    if took >= float(limit):
        result = {"failed": f"not within {limit} s", "memory": result["memory"]}
    elif code != 0:
        result = {"failed": f"fails: {last_line(err) or f'ended with {code}'}", "memory": result["memory"]}
    print(json.dumps({**result, "said": last_line(out)}))

"""Grows a PyTorch memory snapshot: grow-snapshot.py FROM.pickle[.gz] TO.pickle MEGABYTES

Repeats the events of its devices one after the other, each time later and at other addresses. As in files of PyTorch, each frame is
written once, and each event has a list of its own.
"""

import gzip
import pickle
import struct
import sys

source, target, megabytes = sys.argv[1], sys.argv[2], int(sys.argv[3])
with (gzip.open if source.endswith(".gz") else open)(source, "rb") as file:
    snapshot = pickle.load(file)

# Opcodes of pickle protocol 4.
DICT, LIST, MARK, MEMOIZE, SETITEMS, APPENDS, NONE = b"}", b"]", b"(", b"\x94", b"u", b"e", b"N"
BATCH = 1000


class Writer:
    def __init__(self, out):
        self.out, self.n_bytes, self.n_memo, self.known = out, 0, 0, {}

    def put(self, *parts):
        for part in parts:
            self.out.write(part)
            self.n_bytes += len(part)

    def memoized(self, *parts):
        self.put(*parts, MEMOIZE)
        self.n_memo += 1
        return self.n_memo - 1

    def items(self, value):
        if value:
            self.put(MARK)
            for key, item in value.items():
                self.value(key)
                self.value(item)
            self.put(SETITEMS)

    def value(self, value):
        """Writes texts and frames once."""
        is_frame = isinstance(value, dict) and "filename" in value
        key = tuple(value.items()) if is_frame else value if isinstance(value, str) else None
        if key in self.known and key is not None:
            return self.put(b"j", struct.pack("<I", self.known[key]))
        match value:
            case None:
                self.put(NONE)
            case bool():
                self.put(b"\x88" if value else b"\x89")
            case int():
                length = value.bit_length() // 8 + 1
                self.put(b"\x8a", bytes([length]), value.to_bytes(length, "little", signed=True))
            case float():
                self.put(b"G", struct.pack(">d", value))
            case str():
                text = value.encode("utf-8", "surrogatepass")
                self.known[key] = self.memoized(b"X", struct.pack("<I", len(text)), text)
            case dict():
                slot = self.memoized(DICT)
                if is_frame:
                    self.known[key] = slot
                self.items(value)
            case list() | tuple():
                self.memoized(LIST)
                if value:
                    self.put(MARK)
                    for item in value:
                        self.value(item)
                    self.put(APPENDS)
            case _:
                sys.exit(f"{source}: a value of type {type(value).__name__} cannot be written")


traces = snapshot["device_traces"]
times = [event["time_us"] for events in traces for event in events if "time_us" in event]
span_us = max(times) - min(times) + 1
blocks = [event for events in traces for event in events if event.get("addr")]
first, end = min(event["addr"] for event in blocks), max(event["addr"] + event["size"] for event in blocks)
span = -(-(end - first) // (2 << 20)) * (2 << 20)
share = megabytes * 1_000_000 / max(1, sum(map(len, traces)))
with open(target, "wb", buffering=1 << 20) as out:
    writer = Writer(out)
    writer.put(b"\x80\x04")
    writer.memoized(DICT)
    writer.put(MARK)
    for key, value in snapshot.items():
        writer.value(key)
        if key != "device_traces":
            writer.value(value)
            continue
        writer.memoized(LIST)
        writer.put(MARK)
        wanted = writer.n_bytes
        for events in traces:
            writer.memoized(LIST)
            wanted += share * len(events)
            n = 0
            while events and writer.n_bytes < wanted:
                for first in range(0, len(events), BATCH):
                    writer.put(MARK)
                    for event in events[first : first + BATCH]:
                        moved = {"time_us": span_us * n, "addr": span * n}
                        writer.value({name: value + moved[name] if value and name in moved else value for name, value in event.items()})
                    writer.put(APPENDS)
                n += 1
        writer.put(APPENDS)
    writer.put(SETITEMS, b".")

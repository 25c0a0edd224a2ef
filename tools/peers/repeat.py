"""Repeats a PyTorch profile one after the other: python repeat.py FILE TIMES OUT

Times and the ids that link events are moved, so each copy is a profile of its own; times stay whole microseconds if they are. Names
stay too, those of steps included, because HolisticTraceAnalysis leaves out the last of several steps.
"""

import gzip
import json
import sys

#: Arguments that link events of one copy.
IDS = ("External id", "correlation", "Ev Idx")


def moved(event: dict, shift: int, first_id: int) -> dict:
    event = event | {"ts": event["ts"] + shift}
    if "id" in event:
        event["id"] += first_id
    if "args" in event:
        args = event["args"]
        event["args"] = args | {name: args[name] + first_id for name in IDS if name in args}
    return event


def main(file: str, times: int, out: str) -> None:
    with gzip.open(file) as source:
        trace = json.load(source)
    events = trace["traceEvents"]
    timed = [event for event in events if event["ph"] != "M"]
    span = max(event["ts"] + event.get("dur", 0) for event in timed) - min(event["ts"] for event in timed) + 1
    ids = [event["id"] for event in timed if "id" in event]
    ids += [event["args"][name] for event in timed for name in IDS if name in event.get("args", {})]
    n_ids = max(ids) + 1
    with open(out, "w") as target:
        head = json.dumps({key: value for key, value in trace.items() if key != "traceEvents"})
        target.write(head[:-1] + ', "traceEvents": [\n')
        target.write(",\n".join(json.dumps(event) for event in events if event["ph"] == "M"))
        for copy in range(times):
            for event in timed:
                target.write(",\n" + json.dumps(moved(event, copy * span, copy * n_ids)))
        target.write("\n]}\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])

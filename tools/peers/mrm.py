"""What mrm-trace takes for a text of perf script or the trace.parquet of a run, from the file to all metrics: python mrm.py FILE

Prints seconds, accesses and the peak of memory.
"""

import resource
import sys
import time

import pandas as pd
from mrm_trace.analyser import compute_all
from mrm_trace.labeller.labeller import TraceLabeller
from mrm_trace.parser.normalizer import normalise_rows
from mrm_trace.parser.perf_script_parser import parse_perf_script

start = time.perf_counter()
if sys.argv[1].endswith(".parquet"):
    rows = pd.read_parquet(sys.argv[1])
else:
    parsed = normalise_rows(parse_perf_script(sys.argv[1], run_id="bench"))
    rows = pd.DataFrame(list(TraceLabeller().label(parsed)))
read = time.perf_counter() - start
compute_all(rows)
took = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
print(f"mrm-trace 0.1.0: {len(rows) / 1e6:.1f} million accesses in {took:.2f} s ({len(rows) / took / 1e6:.3f} million rows/s), {read:.2f} s of it for reading and labelling; peak {peak:.0f} MB")

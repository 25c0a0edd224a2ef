"""Made-up ranks of a training run, to try the examples without a cluster: ``python make_ranks.py FOLDER --ranks 64``.

PyTorch profiles as `torch.profiler` writes them, gzipped, 8 ranks per host, named as `tensorboard_trace_handler` names them. The
same arguments give the same bytes. What is wrong with the run is known: attention of rank 5 takes half as long again, so everyone
waits for it; all compute of host `node-001` takes 8% longer; with ``--slower``, GEMMs of all ranks take 15% longer.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from pathlib import Path

RANKS_PER_HOST = 8
STRAGGLER = 5
SLOW_HOST = 1
STEPS = 4
#: Bytes of JSON of a kernel with its operator, its launch and its flow.
_BYTES_PER_KERNEL = 920

#: Of one layer: operator, kernel, mean duration in ns.
_LAYER = [
    ("aten::mm", "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", 42_000),
    ("aten::native_layer_norm", "void at::native::vectorized_layer_norm_kernel<float, float>(int, float)", 9_000),
    ("aten::_scaled_dot_product_flash_attention", "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64>>()", 55_000),
    ("aten::gelu", "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl>(int)", 7_000),
    ("aten::mm", "ampere_bf16_s16816gemm_bf16_256x128_ldg8_f2f_stages_64x3_nt", 61_000),
]
_OPTIMIZER = ("aten::_fused_adamw_", "void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4>>()", 100_000)
_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*, unsigned long, ncclWork*)"
_WIRE_NS = 90_000


def _durations(rank: int, layers: int, slower: bool, seed: int) -> list[list[tuple[str, str, int]]]:
    """Kernels of each step of a rank, without communication: operator, kernel, ns."""
    dice = random.Random(seed * 1_000_003 + rank)
    factor = 1.08 if rank // RANKS_PER_HOST == SLOW_HOST else 1.0
    steps = []
    for _ in range(STEPS):
        kernels = []
        for op, name, mean in [*(_LAYER * layers), *[_OPTIMIZER] * 3]:
            ns = mean * factor * dice.uniform(0.98, 1.02)
            ns *= 1.15 if slower and "gemm" in name else 1.0
            ns *= 1.5 if rank == STRAGGLER and "flash" in name else 1.0
            kernels.append((op, name, int(ns)))
        steps.append(kernels)
    return steps


def _slice(cat: str, name: str, place: tuple[int, int], ts: int, dur: int, args: dict) -> dict:
    """A complete event; times in ns, `place` is process and thread."""
    return {"ph": "X", "cat": cat, "name": name, "pid": place[0], "tid": place[1], "ts": ts / 1000, "dur": dur / 1000, "args": args}


def _flow(phase: str, correlation: int, place: tuple[int, int], ts: int) -> dict:
    ends = {"bp": "e"} if phase == "f" else {}
    return {"ph": phase, "cat": "ac2g", "name": "ac2g", "id": correlation, "pid": place[0], "tid": place[1], "ts": ts / 1000} | ends


def _trace(rank: int, ranks: int, own: list[list[tuple[str, str, int]]], arrivals: list[int]) -> dict:
    """The profile of a rank: each step ends with an all-reduce that starts when the last rank has come."""
    device = rank % RANKS_PER_HOST
    thread, stream = (4000 + rank, 4000 + rank), (device, 7)
    shapes = {"Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}
    on_gpu = {"stream": stream[1], "device": device, "grid": [432, 1, 1], "block": [256, 1, 1]}
    message = {"Collective name": "allreduce", "dtype": "BFloat16", "In msg nelems": 4_194_304, "Out msg nelems": 4_194_304}
    group = {"Group size": ranks, "Process Group Name": "0", "Process Group Description": "default_pg"}
    events: list[dict] = []
    correlation, now = 0, 1_000_000
    for number, kernels in enumerate(own):
        start = cpu = now
        until_all_arrived = arrivals[number] - sum(ns for _, _, ns in kernels)
        for op, name, ns in [*kernels, ("c10d::allreduce_", _REDUCE, until_all_arrived + _WIRE_NS)]:
            correlation += 1
            id = {"External id": correlation}
            launch = id | {"cbid": 211, "correlation": correlation}
            kernel = id | {"correlation": correlation} | on_gpu | (message | group if name == _REDUCE else {})
            events += [
                _slice("cpu_op", op, thread, cpu, 3000, id | shapes),
                _slice("cuda_runtime", "cudaLaunchKernel", thread, cpu + 1000, 1000, launch),
                _flow("s", correlation, thread, cpu + 1000),
                _slice("kernel", name, stream, now + 5000, ns, kernel),
                _flow("f", correlation, stream, now + 5000),
            ]
            cpu += 4000
            now += ns
        events.append(_slice("user_annotation", f"ProfilerStep#{number}", thread, start, now + 20_000 - start, {}))
        events.append(_slice("gpu_user_annotation", f"ProfilerStep#{number}", stream, start + 5000, now - start, {}))
        now += 20_000
    gpu = {"id": device, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 85_198_045_184, "warpSize": 32, "numSms": 108}
    world = {"backend": "nccl", "rank": rank, "world_size": ranks}
    return {"schemaVersion": 1, "deviceProperties": [gpu], "distributedInfo": world, "traceEvents": events}


def make_ranks(folder: Path, ranks: int, megabytes: float = 0.2, slower: bool = False, seed: int = 1) -> list[Path]:
    """Write the files, of about ``megabytes`` of JSON each before compression; return their paths."""
    layers = max(1, int(megabytes * 1e6 / _BYTES_PER_KERNEL / STEPS / len(_LAYER)))
    own = [_durations(rank, layers, slower, seed) for rank in range(ranks)]
    last = [max(sum(ns for _, _, ns in own[rank][step]) for rank in range(ranks)) for step in range(STEPS)]
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for rank in range(ranks):
        path = folder / f"node-{rank // RANKS_PER_HOST:03}_{4000 + rank}.{1_790_000_000_000 + rank}.pt.trace.json.gz"
        text = json.dumps(_trace(rank, ranks, own[rank], last), separators=(", ", ": "))
        # Without a time in its header, so that the same arguments give the same bytes.
        path.write_bytes(gzip.compress(text.encode(), compresslevel=4, mtime=0))
        paths.append(path)
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--megabytes", type=float, default=0.2, help="JSON per rank before compression [default: 0.2]")
    parser.add_argument("--slower", action="store_true", help="a second run, whose GEMMs are slower")
    given = parser.parse_args()
    made = make_ranks(given.folder, given.ranks, given.megabytes, given.slower, seed=2 if given.slower else 1)
    print(f"{len(made)} ranks, {sum(path.stat().st_size for path in made) / 1e6:.1f} MB compressed")


if __name__ == "__main__":
    main()

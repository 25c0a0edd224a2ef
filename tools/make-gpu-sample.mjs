// Writes the page's sample of a PyTorch profile, deterministically:
// node tools/make-gpu-sample.mjs >www/samples/gpu-serving.json
//
// All data is invented: ten steps of a vLLM-like server with a small model (8 layers, hidden size 4096), as rank 0 of two
// with tensor parallelism. Prefill of two prompts, five decode steps, a request whose answer has to match a JSON schema,
// three decode steps. Findings: the GPU is host-bound between steps because of the scheduler, and once because of the schema;
// the other rank is late once; during prefill, half of some all-reduces overlaps compute.
import { argv } from 'node:process';

if (argv.length > 2) throw new Error('usage: node tools/make-gpu-sample.mjs >FILE');

const PID = 71;
const MAIN = 7;
const SIDE = 21;
/** Start of the trace, in nanoseconds after the base time. */
const START = 8_206_418_000;
const BASE = 1759300074000000000n;

const HIDDEN = 4096;
const N_LAYERS = 8;
const HEAD = 128;
const RANKS = 2;
const Q_HEADS = 32 / RANKS;
const KV_HEADS = 8 / RANKS;
const Q = Q_HEADS * HEAD;
const KV = KV_HEADS * HEAD;
const QKV = Q + 2 * KV;
const MIDDLE = 14336 / RANKS;
const VOCAB = 128256 / RANKS;

/** Peak bytes and operations per nanosecond, from the data sheet of the GPU. */
const MEMORY = 3350;
const MATRIX = 989_400;

/** xorshift32, so that every run writes the same bytes. */
let state = 0x5eed;
function random() {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) / 2 ** 32;
}
/** `ns` with jitter, in whole nanoseconds; GPU clocks tick every 32. */
const about = (ns, spread = 0.06) => Math.round(ns * (1 - spread / 2 + spread * random()));
const ticks = (ns) => Math.max(32, Math.round(ns / 32) * 32);

const events = { cpu: [], gpu: [], meta: [] };
/** Nanoseconds as microseconds with three decimals, without floating point. */
class Time {
  constructor(ns) {
    this.ns = ns;
  }
}
const time = (ns) => new Time(ns);
/** JSON of an event: times have trailing zeros, which JSON.stringify cannot write. */
function write(value) {
  if (value instanceof Time) return `${Math.floor(value.ns / 1000)}.${String(value.ns % 1000).padStart(3, '0')}`;
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`;
  if (value && typeof value === 'object') {
    return `{${Object.entries(value).filter(([, value]) => value !== undefined).map(([key, value]) => `${JSON.stringify(key)}:${write(value)}`).join(',')}}`;
  }
  return JSON.stringify(value);
}

// --- The CPU: one thread that runs scheduler and model --------------------------------------------------------------

/** The thread's clock. */
let now = START;
let externalId = 0;
let pythonId = 0;
let correlation = 4100;
const frames = [];
const ops = [];

function complete(cat, name, start, end, args) {
  events.cpu.push({ ph: 'X', cat, name, pid: PID, tid: PID, ts: time(start), dur: time(end - start), args });
}
/** Unrecorded time of the thread. */
const pass = (us) => void (now += about(us * 1000, 0.2));
/** Runs something between two ticks, so that nothing else begins or ends in the same nanosecond. */
const tick = (ns) => void (now += about(ns, 0.3));

function frame(name, run, module) {
  const id = (pythonId += 1);
  const start = now;
  const place = events.cpu.length;
  frames.push(id);
  tick(700);
  run();
  tick(500);
  frames.pop();
  complete('python_function', name, start, now, { 'Python parent id': frames.at(-1) ?? null, 'Python id': id, 'Python module id': module });
  // Parents before their children, as the profiler writes them.
  events.cpu.splice(place, 0, events.cpu.pop());
}
const modules = new Map();
/** A module call, named by class and number. */
function module(name, run) {
  if (!modules.has(name)) modules.set(name, modules.size);
  frame(`nn.Module: ${name}`, run, modules.get(name));
}

const BF16 = 'c10::BFloat16';
const INPUTS = { b: BF16, l: 'long int', i: 'int', f: 'float', s: 'Scalar', n: '' };
/** An operator; each letter of `types` is the type of an input. */
function op(name, types, dims, run, strides) {
  const id = (externalId += 1);
  const start = now;
  const place = events.cpu.length;
  ops.push(id);
  tick(2400);
  run();
  tick(1500);
  ops.pop();
  complete('cpu_op', name, start, now, {
    'External id': id,
    'Input Dims': dims,
    'Input type': [...types].map((letter) => INPUTS[letter]),
    'Input Strides': strides,
  });
  events.cpu.splice(place, 0, events.cpu.pop());
  // Python between operators.
  tick(1100);
}

// --- The GPU: streams that run in order -----------------------------------------------------------------------------

const free = { [MAIN]: 0, [SIDE]: 0 };
const CALLS = {
  cudaLaunchKernel: { cat: 'cuda_runtime', cbid: 211, ns: 4700 },
  cuLaunchKernelEx: { cat: 'cuda_driver', cbid: 652, ns: 5100 },
  cudaMemcpyAsync: { cat: 'cuda_runtime', cbid: 41, ns: 4900 },
  cudaStreamWaitEvent: { cat: 'cuda_runtime', cbid: 147, ns: 1100 },
};
/** Flow arrows would be a fifth of the file and repeat `correlation`: only the first step has them. */
let hasArrows = true;
/** First and last kernel or copy of the step on each stream. */
let spans = {};

function call(name, ns = CALLS[name].ns) {
  const { cat, cbid } = CALLS[name];
  const id = (correlation += 1 + Math.floor(random() * 3));
  const start = now;
  now += about(ns, 0.3);
  complete(cat, name, start, now, { cbid, correlation: id });
  tick(300);
  return { id, start };
}
/** Launches `ns` of work on a stream, once it is free and `after` has passed; returns its end. */
function launch(api, cat, name, ns, args, { stream = MAIN, after = 0 } = {}) {
  const { id, start: called } = call(api);
  // Queued work follows within a microsecond; work on an idle stream starts a little later.
  const start = ticks(Math.max(called + about(4600, 0.2), free[stream] + about(1050, 0.3), after + about(1700, 0.3)));
  const dur = ticks(ns);
  free[stream] = start + dur;
  spans[stream] = [spans[stream]?.[0] ?? start, free[stream]];
  events.gpu.push(
    {
      ph: 'X', cat, name, pid: 0, tid: stream, ts: time(start), dur: time(dur),
      args: { 'External id': ops.at(-1), device: 0, stream, correlation: id, ...(typeof args === 'function' ? args(dur) : args) },
    },
  );
  if (hasArrows) {
    events.gpu.push(
      { ph: 's', id, pid: PID, tid: PID, ts: time(called), cat: 'ac2g', name: 'ac2g' },
      { ph: 'f', id, pid: 0, tid: stream, ts: time(start), cat: 'ac2g', name: 'ac2g', bp: 'e' },
    );
  }
  return free[stream];
}
const kernel = (name, ns, grid, block, place) => launch('cudaLaunchKernel', 'kernel', name, about(ns), { grid: [grid, 1, 1], block: [block, 1, 1] }, place);
/** Makes `stream` wait for everything launched on `other` so far. */
function join(stream, other) {
  call('cudaStreamWaitEvent');
  return free[other];
}

// --- Memory ----------------------------------------------------------------------------------------------------------

/** Weights and cache, allocated when the server started. */
let allocated = 3_924_820_992;
let reserved = 4_177_526_784;
let address = 0x7f31_4000_0000;
function memory(bytes, at) {
  allocated += bytes;
  reserved = Math.max(reserved, Math.ceil(allocated / 2 ** 21 + 18) * 2 ** 21);
  events.cpu.push({
    ph: 'i', cat: 'cpu_instant_event', s: 't', name: '[memory]', pid: PID, tid: PID, ts: time(now),
    args: { 'Total Reserved': reserved, 'Total Allocated': allocated, Bytes: bytes, Addr: at, 'Device Id': 0, 'Device Type': 1 },
  });
  tick(400);
}
function allocate(size) {
  const bytes = Math.ceil(size / 512) * 512;
  const at = address;
  address += Math.ceil(bytes / 2 ** 21) * 2 ** 21;
  memory(bytes, at);
  return () => memory(-bytes, at);
}

// --- The model -------------------------------------------------------------------------------------------------------

/** Nanoseconds for these operations and bytes; nothing reaches the peaks, small kernels least of all. */
function needed(flops, bytes) {
  const best = Math.max(flops / MATRIX, bytes / MEMORY);
  return best / (0.56 + (0.24 * best) / (best + 24_000)) + 900;
}
const gemmName = (m, n) =>
  m > 256
    ? `nvjet_tst_${n > 4096 ? '256x128' : '128x256'}_64x4_2x1_v_bz_coopA_TNT`
    : `nvjet_tst_64x${m > 16 ? 32 : 8}_64x16_${n > 4096 ? '4x1' : '2x1'}_v_bz${n > 4096 ? '' : '_splitK'}_TNT`;
/** A GEMM of `m` tokens with weights; `keep` allocates the result. */
function gemm(m, n, k, keep) {
  let result;
  let end;
  op('aten::mm', 'bb', [[m, k], [k, n]], () => {
    if (keep) result = allocate(2 * m * n);
    tick(2300);
    const ns = needed(2 * m * n * k, 2 * (m * k + k * n + m * n));
    end = launch('cuLaunchKernelEx', 'kernel', gemmName(m, n), about(ns, 0.05), { grid: [Math.min(132, Math.ceil(n / 64)), 1, 1], block: [384, 1, 1] });
  }, [[k, 1], [1, k]]);
  return { result, end };
}

const collective = (name, elements, out) => ({
  'Collective name': name, 'In msg nelems': elements, 'Out msg nelems': out, 'Group size': RANKS, dtype: 'BFloat16',
  'Process Group Name': '2', 'Process Group Description': 'tp', 'Process Group Ranks': '[0, 1]',
});
const reduced = (tokens) => 9_400 + (2 * tokens * HIDDEN) / 205;
/** `late` is the time spent waiting for the other rank. */
function allReduce(tokens, late = 0, place = {}) {
  op('vllm::all_reduce', 'bn', [[tokens, HIDDEN], []], () => {
    launch(
      'cudaLaunchKernel', 'kernel', 'ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)',
      about(reduced(tokens), 0.1) + late,
      { grid: [16, 1, 1], block: [512, 1, 1], ...collective('allreduce', tokens * HIDDEN, tokens * HIDDEN) },
      place,
    );
  });
}

const perToken = (tokens, ns) => 2300 + tokens * ns;
function norm(tokens) {
  op('_C::fused_add_rms_norm', 'bbbs', [[tokens, HIDDEN], [tokens, HIDDEN], [HIDDEN], []], () =>
    kernel('void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, c10::BFloat16*, float, int)', perToken(tokens, 14), tokens, 512));
}

function attention(layer, { tokens, pairs, cached, prompts }) {
  module(`LlamaAttention_${layer}`, () => {
    gemm(tokens, QKV, HIDDEN);
    op('_C::rotary_embedding', 'lbbsbs', [[tokens], [tokens, Q], [tokens, KV], [], [131072, HEAD], []], () =>
      kernel('void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*, c10::BFloat16*, c10::BFloat16*, int)', perToken(tokens, 3.6), tokens, 512));
    const heads = (n) => [tokens, n, HEAD];
    op('vllm::unified_attention_with_output', 'bbbb', [heads(Q_HEADS), heads(KV_HEADS), heads(KV_HEADS), heads(Q_HEADS)], () => {
      op('_C_cache_ops::reshape_and_cache_flash', 'bbl', [heads(KV_HEADS), heads(KV_HEADS), [tokens]], () =>
        kernel('void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16>(__nv_bfloat16 const*, __nv_bfloat16*, long const*)', perToken(tokens, 2.4), tokens, 512));
      const ns = 4800 + (4 * Q * pairs) / (0.52 * MATRIX) + (4 * KV * cached) / (0.6 * MEMORY);
      const traits = 'Flash_fwd_kernel_traits<128, 64, 128, 4, cutlass::bfloat16_t>';
      if (prompts) kernel(`void flash::flash_fwd_kernel<${traits}, false, true, false, false, true, false>(flash::Flash_fwd_params)`, ns, 12 * Q_HEADS, 128);
      else kernel(`void flash::flash_fwd_splitkv_kernel<${traits}, false, false, false, true>(flash::Flash_fwd_params)`, ns, 32 * KV_HEADS, 128);
    });
    gemm(tokens, HIDDEN, Q);
    allReduce(tokens);
  });
}

function mlp(layer, { tokens, keeps, overlaps }) {
  module(`LlamaMLP_${layer}`, () => {
    const { result: both } = gemm(tokens, 2 * MIDDLE, HIDDEN, keeps);
    let middle;
    op('_C::silu_and_mul', 'bb', [[tokens, MIDDLE], [tokens, 2 * MIDDLE]], () => {
      if (keeps) middle = allocate(2 * tokens * MIDDLE);
      kernel('void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel<c10::BFloat16>, true>(c10::BFloat16*, c10::BFloat16 const*, int)', perToken(tokens, 17), tokens, 1024);
    });
    both?.();
    if (overlaps) {
      // Half of the tokens are reduced while the other half is computed.
      for (let half = 0; half < 2; half += 1) {
        const { end } = gemm(tokens / 2, HIDDEN, MIDDLE);
        join(SIDE, MAIN);
        allReduce(tokens / 2, 0, { stream: SIDE, after: end });
      }
      free[MAIN] = Math.max(free[MAIN], join(MAIN, SIDE));
    } else {
      gemm(tokens, HIDDEN, MIDDLE);
      allReduce(tokens);
    }
    middle?.();
  });
}

/** Copies the inputs that the host has prepared. */
function upload(bytes) {
  op('aten::copy_', 'iis', [[bytes / 4], [bytes / 4], []], () =>
    launch('cudaMemcpyAsync', 'gpu_memcpy', 'Memcpy HtoD (Pinned -> Device)', 900 + bytes / 22, (dur) => ({ bytes, 'memory bandwidth (GB/s)': Math.round((bytes / dur) * 1e6) / 1e6 })));
}

// --- Steps -----------------------------------------------------------------------------------------------------------

const RUNNER = 'vllm/v1/worker/gpu_model_runner.py';
const SCHEDULER = 'vllm/v1/core/sched/scheduler.py';

function execute(step) {
  const { context, generation, late } = step;
  const tokens = context[1] + generation[1];
  const requests = context[0] + generation[0];
  const shape = { ...step, tokens, prompts: context[0] > 0, keeps: context[0] > 0 };
  const name = `execute_context_${context[0]}(${context[1]})_generation_${generation[0]}(${generation[1]})`;
  const id = (externalId += 1);
  const place = events.cpu.length;
  const start = now;
  spans = {};
  frame(`${RUNNER}(2418): execute_model`, () => {
    frame(`${RUNNER}(561): _update_states`, () => pass(26 + 9 * context[0]));
    frame(`${RUNNER}(1104): _prepare_inputs`, () => {
      pass(58);
      for (const bytes of [4 * tokens, 8 * tokens, 8 * tokens, 4 * (requests + 1), 256 * requests]) {
        upload(bytes);
        pass(7);
      }
    });
    let hidden;
    frame(`${RUNNER}(2260): _model_forward`, () =>
      module('LlamaForCausalLM_0', () => {
        module('VocabParallelEmbedding_0', () => {
          op('aten::embedding', 'blsss', [[VOCAB, HIDDEN], [tokens], [], [], []], () => {
            hidden = allocate(2 * tokens * HIDDEN);
            kernel('void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, long, long, bool)', perToken(tokens, 8), tokens, 512);
          });
          allReduce(tokens, late);
        });
        for (let layer = 0; layer < N_LAYERS; layer += 1) {
          module(`LlamaDecoderLayer_${layer}`, () => {
            if (layer > 0) norm(tokens);
            else {
              op('_C::rms_norm', 'bbbs', [[tokens, HIDDEN], [tokens, HIDDEN], [HIDDEN], []], () =>
                kernel('void vllm::rms_norm_kernel<c10::BFloat16, 8, 2>(c10::BFloat16*, c10::BFloat16 const*, c10::BFloat16 const*, float, int, int)', perToken(tokens, 9), tokens, 512));
            }
            attention(layer, shape);
            norm(tokens);
            mlp(layer, shape);
          });
        }
        norm(tokens);
      }));
    let logits;
    frame(`${RUNNER}(2301): compute_logits`, () => {
      op('aten::index_select', 'bsl', [[tokens, HIDDEN], [], [requests]], () =>
        kernel('void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, long, long, bool)', perToken(requests, 8), requests, 512));
      module('LogitsProcessor_0', () => {
        gemm(requests, VOCAB, HIDDEN);
        op('vllm::all_gather', 'bssn', [[requests, VOCAB], [], [], []], () => {
          logits = allocate(2 * requests * RANKS * VOCAB);
          launch(
            'cudaLaunchKernel', 'kernel', 'ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)', about(9_000 + (2 * requests * VOCAB) / 150, 0.1),
            { grid: [16, 1, 1], block: [512, 1, 1], ...collective('_allgather_base', requests * VOCAB, requests * RANKS * VOCAB) },
          );
        });
      });
    });
    if (step.mask) {
      frame('vllm/v1/structured_output/utils.py(38): apply_grammar_bitmask', () => {
        pass(step.mask);
        upload((4 * requests * RANKS * VOCAB) / 32);
        op('apply_token_bitmask_inplace', 'bi', [[requests, RANKS * VOCAB], [requests, (RANKS * VOCAB) / 32]], () =>
          kernel('apply_token_bitmask_inplace_kernel', 3300 + 210 * requests, 132, 128));
      });
    }
    module('Sampler_0', () => {
      op('aten::_to_copy', 'bs', [[requests, RANKS * VOCAB], []], () =>
        kernel('void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}>(int, std::array<char*, 2ul>)', 2600 + requests * 300, 4 * 132, 128));
      op('aten::argmax', 'fss', [[requests, RANKS * VOCAB], [], []], () =>
        kernel('void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4> >(at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>)', 9400 + requests * 330, requests, 512));
      logits();
    });
    frame(`${RUNNER}(2166): _bookkeeping_sync`, () => {
      let end;
      op('aten::copy_', 'lls', [[requests, 1], [requests, 1], []], () => {
        end = launch('cudaMemcpyAsync', 'gpu_memcpy', 'Memcpy DtoH (Device -> Pinned)', 1400, (dur) => ({ bytes: 8 * requests, 'memory bandwidth (GB/s)': Math.round(((8 * requests) / dur) * 1e6) / 1e6 }));
      });
      tick(2500);
      const from = now;
      now = Math.max(now + 2000, end + about(5200, 0.3));
      complete('cuda_runtime', 'cudaEventSynchronize', from, now, { cbid: 137, correlation: (correlation += 2) });
      pass(24 + requests);
    });
    hidden();
  });
  complete('user_annotation', name, start - 300, now + 300, { 'External id': id });
  events.cpu.splice(place, 0, events.cpu.pop());
  now += 600;
  for (const [stream, [first, last]] of Object.entries(spans)) {
    events.gpu.push({ ph: 'X', cat: 'gpu_user_annotation', name, pid: 0, tid: Number(stream), ts: time(first), dur: time(last - first), args: { 'External id': id } });
  }
}

/** `pairs` of tokens that attend to each other, and tokens in the `cached` part of the requests. */
const decode = (length) => ({ context: [0, 0], generation: [16, 16], pairs: 16 * length, cached: 16 * length, late: about(22_000, 1.4) });
const STEPS = [
  { context: [2, 1536], generation: [0, 0], pairs: 768 * 768, cached: 0, late: 61_000, overlaps: true },
  ...[748, 749, 750, 751, 752].map(decode),
  { context: [1, 497], generation: [15, 15], pairs: (497 * 497) / 2 + 15 * 760, cached: 15 * 760, late: 48_000 },
  ...[743, 744, 745].map(decode),
];
STEPS[4].late = 612_000;
/** Microseconds for the schema's token bitmask; the first use compiles the schema. */
for (const [number, mask] of [[7, 1730], [8, 150], [9, 140]]) STEPS[number].mask = mask;

frame('vllm/entrypoints/llm.py(1487): _run_engine', () => {
  pass(40);
  for (const [number, step] of STEPS.entries()) {
    hasArrows = number === 0;
    frame('vllm/v1/engine/core.py(276): step', () => {
      frame(`${SCHEDULER}(187): schedule`, () => {
        pass(150);
        frame('vllm/v1/core/kv_cache_manager.py(214): allocate_slots', () => pass(31 + 14 * step.context[0]));
        pass(90 + 22 * step.context[0]);
      });
      frame('vllm/v1/worker/gpu_worker.py(447): execute_model', () => {
        tick(2200);
        execute(step);
      });
      frame(`${SCHEDULER}(911): update_from_output`, () => pass(52));
    });
    pass(12);
  }
});
const end = Math.max(now, ...Object.values(free));

// --- The file --------------------------------------------------------------------------------------------------------

const meta = (name, pid, tid, args) => events.meta.push({ name, ph: 'M', ts: time(START), pid, tid, args });
for (const [pid, label, sort] of [[PID, 'CPU', PID], [0, 'GPU 0', 5000000], [1, 'GPU 1', 5000001]]) {
  meta('process_name', pid, 0, { name: 'python3' });
  meta('process_labels', pid, 0, { labels: label });
  meta('process_sort_index', pid, 0, { sort_index: sort });
}
for (const [pid, tid, name] of [[PID, PID, `thread ${PID} (python3)`], [0, MAIN, `stream ${MAIN} `], [0, SIDE, `stream ${SIDE} `]]) {
  meta('thread_name', pid, tid, { name });
  meta('thread_sort_index', pid, tid, { sort_index: tid });
}
events.meta.push(
  { ph: 'X', cat: 'Trace', ts: time(START - 62_000), dur: time(end - START + 118_000), pid: 'Spans', tid: 'PyTorch Profiler', name: 'PyTorch Profiler (0)', args: { 'Op count': 0 } },
  { name: 'process_sort_index', ph: 'M', ts: time(START), pid: 'Spans', tid: 0, args: { sort_index: 536870912 } },
  { name: 'Iteration Start: PyTorch Profiler', ph: 'i', s: 'g', pid: 'Traces', tid: 'Trace PyTorch Profiler', ts: time(START - 62_000) },
  { name: 'Record Window End', ph: 'i', s: 'g', pid: '', tid: '', ts: time(end + 56_000) },
);

const group = (pg_name, pg_desc) => ({ pg_name, pg_desc, backend_config: 'cuda:nccl', pg_size: RANKS, ranks: [0, 1] });
const head = {
  schemaVersion: 1,
  deviceProperties: [0, 1].map((id) => ({
    id, name: 'NVIDIA H100 80GB HBM3', totalGlobalMem: 85018279936, computeMajor: 9, computeMinor: 0, maxThreadsPerBlock: 1024,
    maxThreadsPerMultiprocessor: 2048, regsPerBlock: 65536, warpSize: 32, sharedMemPerBlock: 49152, numSms: 132,
    regsPerMultiprocessor: 65536, sharedMemPerBlockOptin: 232448, sharedMemPerMultiprocessor: 233472,
  })),
  cupti_version: 26, cuda_runtime_version: 12080, cuda_driver_version: 12080,
  distributedInfo: { backend: 'nccl', rank: 0, world_size: RANKS, pg_count: 2, pg_config: [group('0', 'default_pg'), group('2', 'tp')], nccl_version: '2.26.2' },
  record_shapes: 1, with_stack: 1, with_modules: 1, profile_memory: 1,
  displayTimeUnit: 'ms',
};
const all = [...events.cpu, ...events.gpu, ...events.meta].map(write).join(',\n');
process.stdout.write(`${write(head).slice(0, -1)},"baseTimeNanoseconds":${BASE},\n"traceEvents":[\n${all}\n],"traceName":"gpu-serving.json"}\n`);

// Speed of the scanner as WebAssembly in V8, by way of Node.js: node tools/bench-scanner.mjs SCANNER.wasm FILE…
// Compared with JSON.parse on the same bytes. perf script texts and Parquet files are parsed as memory accesses.
import { readFileSync } from 'node:fs';
import { basename, extname } from 'node:path';

const ROUNDS = 5;
/** Limit for JSON.parse. */
const MAX_PARSE_BYTES = 256e6;

const [program, ...files] = process.argv.slice(2);
const module = new WebAssembly.Module(readFileSync(program));

/** Median of some rounds, after a warm-up in which the engine compiles. */
function seconds(run) {
  run();
  const times = Array.from({ length: ROUNDS }, () => {
    const start = performance.now();
    run();
    return (performance.now() - start) / 1000;
  });
  return times.sort((a, b) => a - b)[ROUNDS >> 1];
}

for (const path of files) {
  const bytes = readFileSync(path);
  const { memory, room, ...readers } = new WebAssembly.Instance(module).exports;
  const rows = { '.txt': readers.perf_rows, '.parquet': readers.parquet_rows }[extname(path)] ?? readers.rows;
  const at = room(bytes.length) >>> 0;
  new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
  const megabytes = bytes.length / 1e6;
  const ours = seconds(rows);
  const n = rows();
  let line = `${basename(path)}: ${n.toLocaleString('en-US')} rows at ${(megabytes / ours).toFixed(0)} MB/s, ${(n / ours / 1e6).toFixed(1)} million rows/s, in WebAssembly`;
  if (bytes.length <= MAX_PARSE_BYTES && rows === readers.rows) {
    const text = bytes.toString('utf8');
    line += `, ${(seconds(() => JSON.parse(text)) / ours).toFixed(1)}× as fast as JSON.parse`;
  }
  console.log(line);
}

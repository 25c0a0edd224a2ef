// The scanner as WebAssembly in the engine of Node.js, which is Chromium's: node tools/bench-scanner.mjs SCANNER.wasm FILE…
// Beside it stands what JSON.parse takes for the same bytes. Texts of perf script and Parquet files are read as memory accesses.
import { readFileSync } from 'node:fs';
import { basename, extname } from 'node:path';

const ROUNDS = 5;
/** Larger texts are no match for JSON.parse. */
const MAX_PARSE_BYTES = 256e6;

const [program, ...files] = process.argv.slice(2);
const module = new WebAssembly.Module(readFileSync(program));

/** Median of some rounds, after one that does not count: the engine compiles meanwhile. */
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
    line += `, ${(seconds(() => JSON.parse(text)) / ours).toFixed(1)} times as fast as JSON.parse of the text`;
  }
  console.log(line);
}

// The scanner as WebAssembly in the engine of Node.js, which is Chromium's: node tools/bench-scanner.mjs SCANNER.wasm FILE…
// Beside it stands what JSON.parse takes for the same bytes.
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';

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
  const { memory, room, rows } = new WebAssembly.Instance(module).exports;
  const at = room(bytes.length) >>> 0;
  new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
  const megabytes = bytes.length / 1e6;
  const ours = seconds(rows);
  let line = `${basename(path)}: rows of ${rows().toLocaleString('en-US')} events at ${(megabytes / ours).toFixed(0)} MB/s in WebAssembly`;
  if (bytes.length <= MAX_PARSE_BYTES) {
    const text = bytes.toString('utf8');
    line += `, ${(seconds(() => JSON.parse(text)) / ours).toFixed(1)} times as fast as JSON.parse of the text`;
  }
  console.log(line);
}

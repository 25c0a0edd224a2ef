// The Python package in JupyterLab: `make test-notebook` installs both and sets TRACEDROP_JUPYTER. Not part of
// `make test-browser`.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { DIST, launchBrowser } from './support.mjs';

const path = (name) => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const WAIT_MS = 180_000;

const CELLS = [
  "%load_ext tracedrop\nimport tracedrop as td\nt = td.open('bert-h100.json.gz')",
  't',
  "t.view()",
  "t.view('gpu-kernels', height=500)",
  "td.compare('bert-h100.json.gz', 'bert-mi300.json.gz')",
  "td.open(['python-threads.jsonl', 'serving.json'], together=True).view()",
  "td.compare('serving.json', 'serving.json').view()",
  '%%tracedrop\nx = 1 + 1',
];
const [, REPORT, VIEW, ONE_REPORT, COMPARISON, TOGETHER, COMPARED, MAGIC] = CELLS.keys();
const SAMPLES = ['bert-h100.json.gz', 'bert-mi300.json.gz', 'python-threads.jsonl', 'serving.json'];

let browser;
let folder;
let server;
let page;
let url;
const requests = [];

async function freePort() {
  const probe = createServer();
  await new Promise((listening) => probe.listen(0, '127.0.0.1', listening));
  const { port } = probe.address();
  await new Promise((closed) => probe.close(closed));
  return port;
}

before(async () => {
  assert.ok(process.env.TRACEDROP_JUPYTER, 'TRACEDROP_JUPYTER is not set: make test-notebook');
  folder = mkdtempSync(join(tmpdir(), 'tracedrop-notebook-'));
  const work = join(folder, 'work');
  mkdirSync(work);
  for (const name of SAMPLES) cpSync(path(`www/samples/${name}`), join(work, name));
  const cells = CELLS.map((source, n) => ({ cell_type: 'code', id: `cell-${n}`, metadata: {}, source, outputs: [], execution_count: null }));
  const kernelspec = { name: 'python3', display_name: 'Python 3', language: 'python' };
  writeFileSync(join(work, 'test.ipynb'), JSON.stringify({ nbformat: 4, nbformat_minor: 5, metadata: { kernelspec }, cells }));
  const port = await freePort();
  // Nothing of the person who runs the tests.
  const own = Object.fromEntries(
    ['HOME', 'JUPYTER_CONFIG_DIR', 'JUPYTER_DATA_DIR', 'JUPYTER_RUNTIME_DIR', 'JUPYTERLAB_SETTINGS_DIR', 'JUPYTERLAB_WORKSPACES_DIR', 'IPYTHONDIR'].map((name) => {
      mkdirSync(join(folder, name));
      return [name, join(folder, name)];
    }),
  );
  const { TRACEDROP_VIEWER: _, ...env } = process.env;
  server = spawn(
    process.env.TRACEDROP_JUPYTER,
    ['lab', '--no-browser', '--allow-root', '--ip=127.0.0.1', `--port=${port}`, '--ServerApp.port_retries=0', '--IdentityProvider.token=', `--ServerApp.root_dir=${work}`, '--LabApp.expose_app_in_browser=True', '--LabApp.news_url='],
    { env: { ...env, ...own }, cwd: work, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let said = '';
  for (const stream of [server.stdout, server.stderr]) stream.on('data', (data) => (said += data));
  url = `http://127.0.0.1:${port}/`;
  const until = Date.now() + WAIT_MS;
  while (!(await fetch(`${url}api/status`).then(({ ok }) => ok, () => false))) {
    assert.ok(server.exitCode === null && Date.now() < until, `JupyterLab did not start:\n${said}`);
    await new Promise((done) => setTimeout(done, 500));
  }
  browser = await launchBrowser();
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  page = await context.newPage();
  page.setDefaultTimeout(WAIT_MS);
  page.on('request', (request) => requests.push(request.url()));
}, { timeout: 2 * WAIT_MS });

after(async () => {
  await browser?.close();
  if (server && server.exitCode === null) {
    const ended = new Promise((done) => server.once('exit', done));
    // JupyterLab stops its kernels.
    server.kill('SIGTERM');
    await ended;
  }
  if (folder) rmSync(folder, { recursive: true, force: true });
});

async function openNotebook() {
  await page.goto(`${url}lab/tree/test.ipynb?reset`);
  await page.waitForFunction(() => {
    const panel = globalThis.jupyterapp?.shell.currentWidget;
    return panel?.context?.isReady && panel.content.widgets.length > 0;
  });
}

const command = (name) => page.evaluate((name) => globalThis.jupyterapp.commands.execute(name), name);

async function runAll() {
  await page.waitForFunction(() => globalThis.jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle');
  await command('notebook:run-all-cells');
  await page.waitForFunction(
    (n) => {
      const { content } = globalThis.jupyterapp.shell.currentWidget;
      return content.widgets.at(n).model.executionCount && content.widgets.at(n).model.outputs.length > 0;
    },
    MAGIC,
  );
}

/** The output of a cell, scrolled into view, because JupyterLab draws only what is near. */
async function outputOf(cell) {
  await page.evaluate((cell) => {
    const { content } = globalThis.jupyterapp.shell.currentWidget;
    content.activeCellIndex = cell;
    return content.scrollToItem(cell, 'start');
  }, cell);
  const output = page.locator(`.jp-Notebook-cell[data-windowed-list-index="${cell}"] .jp-Cell-outputArea`);
  await output.waitFor();
  return output;
}

/** With TRACEDROP_SHOTS, a folder, a screenshot of a cell for people to look at. */
async function shoot(name, cell) {
  const shots = process.env.TRACEDROP_SHOTS;
  if (!shots) return;
  await outputOf(cell);
  await page.screenshot({ path: join(shots, `notebook-${name}.png`) });
}

async function frameIn(output) {
  const element = output.locator('iframe');
  await element.waitFor();
  return (await element.elementHandle()).contentFrame();
}

/** Outputs of the cells in the file: the text of each MIME type. */
async function saved() {
  await command('docmanager:save');
  const { cells } = JSON.parse(readFileSync(join(folder, 'work/test.ipynb'), 'utf8'));
  const text = (value) => (Array.isArray(value) ? value.join('') : value);
  return cells.map(({ outputs }) => outputs.map(({ data = {}, ...rest }) => ({ ...rest, data: Object.fromEntries(Object.entries(data).map(([type, value]) => [type, text(value)])) })));
}

/** How many cells hold the viewer: a piece of its program, which no character of has to be escaped. */
async function holders() {
  const viewer = readFileSync(join(DIST, 'tracedrop.html'), 'utf8');
  const piece = viewer.slice(viewer.length / 2, viewer.length / 2 + 200);
  assert.match(piece, /^[^"\\<]{200}$/);
  const counts = (await saved()).map((outputs) => JSON.stringify(outputs).split(piece).length - 1);
  return counts.flatMap((count, cell) => Array(count).fill(cell));
}

async function showsViewer() {
  const whole = await frameIn(await outputOf(VIEW));
  await whole.locator('.report:not([hidden]) h2').first().waitFor();
  assert.ok((await whole.locator('.report-list').count()) > 0, 'all reports are there');
  assert.equal(await whole.evaluate(() => self.origin), 'null', 'it cannot reach the notebook');
  assert.equal(await whole.evaluate(() => globalThis.tracedrop.locked), true);

  const output = await outputOf(ONE_REPORT);
  const one = await frameIn(output);
  await one.locator('.report:not([hidden]) h2').first().waitFor();
  assert.equal(await one.locator('.report:not([hidden]) h2').count(), 1);
  assert.equal(await one.locator('.report-list').count(), 0);
  assert.ok((await one.locator('.report:not([hidden]) tbody tr').count()) > 3);
  const { height } = await output.locator('iframe').boundingBox();
  assert.ok(Math.abs(height - 500) <= 2, `${height} pixels`);
  assert.equal(await output.locator('[data-part="summary"]').isVisible(), false);
}

test('cells show reports and the viewer, and the notebook holds the viewer once', { timeout: 4 * WAIT_MS }, async () => {
  await openNotebook();
  await runAll();
  await showsViewer();
  assert.deepEqual(await holders(), [VIEW]);

  const report = await frameIn(await outputOf(REPORT));
  assert.ok(await report.locator('h1').first().isVisible());
  const comparison = await frameIn(await outputOf(COMPARISON));
  assert.ok(await comparison.locator('h1').first().isVisible());

  // Several files, and a report without a trace.
  for (const cell of [TOGETHER, COMPARED]) {
    const output = await outputOf(cell);
    const frame = await frameIn(output);
    await frame.locator('.report:not([hidden]) h2').first().waitFor();
    assert.equal(await output.locator('[data-part="status"]').textContent(), '');
  }
  const shown = { report: REPORT, view: VIEW, 'one-report': ONE_REPORT, comparison: COMPARISON, together: TOGETHER };
  for (const [name, cell] of Object.entries(shown)) await shoot(name, cell);

  const [error] = (await saved())[MAGIC];
  assert.equal(error.output_type, 'error');
  assert.equal(error.evalue, '%%tracedrop needs PyTorch, whose profiler records the cell: pip install torch');
});

test('a cell that runs again still has the viewer', { timeout: 4 * WAIT_MS }, async () => {
  await outputOf(VIEW);
  await command('notebook:run-cell');
  await page.waitForFunction(
    ([cell, count]) => globalThis.jupyterapp.shell.currentWidget.content.widgets.at(cell).model.executionCount === count,
    [VIEW, CELLS.length + 1],
  );
  await showsViewer();
  assert.deepEqual(await holders(), [VIEW]);
});

test('a notebook that is opened again shows the viewer without running', { timeout: 4 * WAIT_MS }, async () => {
  await command('docmanager:save');
  await page.reload();
  await openNotebook();
  await showsViewer();
});

test('the summary stays where the notebook is not trusted', { timeout: 4 * WAIT_MS }, async () => {
  const notebook = JSON.parse(readFileSync(join(folder, 'work/test.ipynb'), 'utf8'));
  // Another notebook than the one that was signed.
  notebook.cells.push({ cell_type: 'markdown', id: 'more', metadata: {}, source: 'more' });
  for (const { metadata } of notebook.cells) delete metadata.trusted;
  writeFileSync(join(folder, 'work/other.ipynb'), JSON.stringify(notebook));
  await page.goto(`${url}lab/tree/other.ipynb?reset`);
  await page.waitForFunction(() => globalThis.jupyterapp?.shell.currentWidget?.content?.widgets?.length > 0);
  const output = await outputOf(VIEW);
  await output.locator('.tracedrop-view li, li').first().waitFor();
  assert.equal(await output.locator('iframe').count(), 0);
});

test('nothing is requested from elsewhere', () => {
  const elsewhere = requests.filter((address) => !address.startsWith(url) && !/^(?:blob|data|about):/.test(address));
  assert.deepEqual(elsewhere, []);
});

// Screenshots for review: `make screenshots` writes them to tests/browser/output/.
// To add a screen, add a name and the steps from a ready page to it.
import { appendFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { NARROW, OUTPUT, WIDE, launchBrowser, openPage, showReport, startSite } from './support.mjs';

/** Opens the sample with that file name. */
const sample = async (page, file) => {
  const title = await page.evaluate((file) => globalThis.tracedrop.samples.find((sample) => sample.name === file).title, file);
  await page.getByRole('button', { name: title }).click();
  await page.locator('.file-head').waitFor();
};
const report = async (page, title) => {
  await showReport(page, title);
  await page.waitForFunction(() => !document.querySelector('.report:not([hidden]) .table-stale'));
};
/** Adds a note to a row, and a title. */
const writeNotes = async (page) => {
  await sample(page, 'serving.json');
  await report(page, 'Slices by name');
  await page.getByRole('button', { name: 'Add a note to a row of Slices by name' }).click();
  await page.getByRole('textbox', { name: 'Note' }).fill('Twice as long as in last week’s build.\nAsk the scheduler team.');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Rename' }).click();
  await page.getByRole('textbox', { name: 'Title of the trace' }).fill('Serving, after the upgrade');
  await page.getByRole('button', { name: 'Save' }).click();
};
const pick = (page, name, text) => page.getByTestId('file-input').setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
const timeline = async (page) => {
  await sample(page, 'gpu-serving.json');
  await showReport(page, 'Timeline');
  await page.locator('ul[aria-label="Widest events in view"] li').first().waitFor({ state: 'attached' });
};
/** Enough slices that parsing takes a while. */
const MANY = `${OUTPUT}/many.json`;
await mkdir(OUTPUT, { recursive: true });
await writeFile(MANY, '[');
for (let block = 0; block < 10; block++) {
  const at = block * 600_000;
  await appendFile(MANY, Array.from({ length: 600_000 }, (_, i) => `{"name":"op ${i % 900}","ph":"X","ts":${(at + i) * 10},"dur":${i % 9},"pid":1,"tid":1},\n`).join(''));
}

const SCREENS = {
  start: async () => {},
  privacy: async (page) => {
    await page.getByRole('button', { name: 'What leaves this page' }).click();
    await page.getByRole('button', { name: 'Try every way out' }).click();
    await page.locator('.privacy-state').filter({ hasText: 'attempts' }).waitFor({ timeout: 120_000 });
  },
  gpu: (page) => sample(page, 'gpu-serving.json'),
  roofline: async (page) => {
    await sample(page, 'gpu-serving.json');
    await report(page, 'Operators');
  },
  'memory-addresses': async (page) => {
    await page.getByTestId('file-input').setInputFiles(fileURLToPath(new URL('../data/memsnapshot/one_device_p4.pickle', import.meta.url)));
    await page.locator('.file-head').waitFor();
    await report(page, 'GPU memory by address');
    await page.locator('.report:not([hidden]) .chart-cells').first().focus();
  },
  ranks: async (page) => {
    await page.getByTestId('file-input').setInputFiles([0, 1].map((rank) => fileURLToPath(new URL(`../data/pytorch/dlrm8/rank${rank}.json.gz`, import.meta.url))));
    await page.locator('.file-head').waitFor();
  },
  compare: async (page) => {
    const file = (name) => fileURLToPath(new URL(`../data/pytorch/small-bert-${name}.json.gz`, import.meta.url));
    await page.getByTestId('file-input').setInputFiles([file('h100'), file('mi300')]);
    await page.getByTestId('sides').waitFor();
  },
  'compare-timeline': async (page) => {
    await SCREENS.compare(page);
    await showReport(page, 'Timeline');
    await page.locator('[role=tabpanel]:not([hidden]) .timeline-view').nth(1).waitFor();
  },
  timeline: (page) => timeline(page),
  'timeline-details': async (page) => {
    await timeline(page);
    await page.getByRole('searchbox', { name: 'Find events by name' }).fill('execute_model');
    await page.getByRole('complementary', { name: 'Details' }).waitFor();
  },
  'timeline-range': async (page) => {
    await timeline(page);
    const { x, y } = await page.locator('.timeline-view').boundingBox();
    await page.locator('.timeline-view').focus();
    for (const right of [80, 200]) {
      await page.mouse.move(x + right, y + 60);
      await page.keyboard.press('m');
    }
    await page.getByRole('complementary', { name: 'Details' }).waitFor();
  },
  flame: async (page) => {
    await sample(page, 'gpu-serving.json');
    await showReport(page, 'Flame graph');
    await page.locator('.flame path').first().waitFor();
  },
  stacks: async (page) => {
    await page.getByTestId('file-input').setInputFiles(fileURLToPath(new URL('../data/stacks/samply_ls.json.gz', import.meta.url)));
    await page.locator('.file-head').waitFor();
  },
  memory: async (page) => {
    await page.getByTestId('file-input').setInputFiles(fileURLToPath(new URL('../data/mrm/runs-latest/node-b/demo-model/demo_memsym_rep1/trace.parquet', import.meta.url)));
    await page.locator('.file-head').waitFor();
    await report(page, 'Memory over time');
  },
  chrome: (page) => sample(page, 'serving.json'),
  table: async (page) => {
    await sample(page, 'serving.json');
    await report(page, 'Slices by name');
    await page.getByRole('button', { name: 'Parsing details', exact: true }).click();
  },
  notes: writeNotes,
  note: async (page) => {
    await writeNotes(page);
    await page.getByRole('button', { name: 'Edit note 1' }).click();
    await page.getByRole('dialog').waitFor();
  },
  'tracedrop-file': async (page) => {
    await writeNotes(page);
    await page.keyboard.press('h');
    await page.getByRole('menuitem', { name: 'Save as a Tracedrop file…' }).click();
    await page.getByLabel(/^Include all trace data \(/).check();
    await page.getByText(/: .*, with 1 note/).waitFor();
  },
  python: (page) => sample(page, 'python-threads.jsonl'),
  sway: (page) => sample(page, 'scoring-suite.jsonl'),
  reading: async (page) => {
    await page.getByTestId('file-input').setInputFiles(MANY);
    await page.locator('.badge').first().waitFor();
  },
  damaged: async (page) => {
    await pick(page, 'damaged.json', '[{"name":"a","ph":"X","ts":1,"dur":2,"pid":1,"tid":1},{"name":"b","ph":"X","ts":"soon"},{"ph":7},{"name":"c');
    await page.locator('.file-head').waitFor();
  },
  exports: async (page) => {
    await sample(page, 'scoring-suite.jsonl');
    await page.keyboard.press('e');
    await page.getByRole('menu').waitFor();
  },
  problem: async (page) => {
    await pick(page, 'notes.txt', 'remember the milk');
    await page.getByRole('alert').getByRole('heading', { level: 1 }).waitFor();
  },
  keys: async (page) => {
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
  },
};
const THEMES = {
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  contrast: { contrast: 'more' },
};

const site = await startSite();
const browser = await launchBrowser();
for (const [screen, goThere] of Object.entries(SCREENS)) {
  for (const [theme, media] of Object.entries(THEMES)) {
    for (const [size, viewport] of Object.entries({ wide: WIDE, narrow: NARROW, huge: { width: 2560, height: 1300 } })) {
      const page = await openPage(browser, site.url, { ...media, viewport });
      await goThere(page);
      await page.screenshot({ path: `${OUTPUT}/${screen}-${theme}-${size}.png` });
      for (const line of page.console) console.log(`${screen}: ${line}`);
      await page.context().close();
    }
  }
}
// Pictures of the README, kept small.
const DOCS = fileURLToPath(new URL('../../docs/images', import.meta.url));
await mkdir(DOCS, { recursive: true });
const PICTURES = { hero: ['gpu'], findings: ['gpu', '.findings'], compare: ['compare'], memory: ['memory'] };
for (const [name, [screen, part]] of Object.entries(PICTURES)) {
  const page = await openPage(browser, site.url, { viewport: { width: 1100, height: 620 } });
  await SCREENS[screen](page);
  const path = `${DOCS}/${name}.png`;
  const box = part && (await page.locator(part).first().boundingBox());
  await page.screenshot(box ? { path, clip: { ...box, height: Math.min(box.height, 420) }, fullPage: true } : { path });
  await page.context().close();
}
// The page before the app runs, and when it cannot.
for (const [name, answer] of Object.entries({ loading: () => {}, failed: (route) => route.fulfill({ status: 404, body: '' }) })) {
  const page = await openPage(browser, 'about:blank', { ready: false });
  await page.route('**/*_bg.wasm', answer);
  await page.goto(site.url);
  if (name === 'failed') await page.locator('.boot-problem').filter({ hasText: 'could not' }).waitFor();
  await page.screenshot({ path: `${OUTPUT}/${name}.png` });
  await page.context().close();
}
await browser.close();
await site.close();
await rm(MANY);
console.log('tests/browser/output/, docs/images/');

// Using the page by pointer and by keyboard.
import assert from 'node:assert/strict';
import { appendFile, copyFile, readFile, truncate, writeFile, mkdir, rm } from 'node:fs/promises';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { NARROW, OUTPUT, WIDE, accessibilityProblems, pageTests, scrollBy, showReport, siteAndBrowser } from './support.mjs';

const given = siteAndBrowser();

/** A Chrome trace of `n` slices with as many names as `nNames`. */
function slices(n, nNames = n) {
  const events = Array.from(
    { length: n },
    (_, i) => `{"name":"op ${i % nNames}","cat":"made","ph":"X","ts":${i * 10},"dur":${1 + (i % 7)},"pid":1,"tid":1}`,
  );
  return `[\n${events.join(',\n')}\n]\n`;
}

/** A file for setInputFiles. */
const file = (name, text) => ({ name, mimeType: 'application/json', buffer: Buffer.from(text) });

/** With `slowReading`, parsing takes longer than a test. */
const LARGE = `${OUTPUT}/large.json`;
before(async () => {
  await mkdir(OUTPUT, { recursive: true });
  const block = Buffer.from(slices(600_000, 5_000).replace('[', ',').replace(/\]\s*$/, ''));
  await writeFile(LARGE, '[{"name":"first","ph":"X","ts":0,"dur":1,"pid":1,"tid":1}');
  for (let i = 0; i < 3; i++) await appendFile(LARGE, block);
});
after(() => rm(LARGE, { force: true }));

const pageTest = pageTests(given);

const pick = (page, ...files) => page.getByTestId('file-input').setInputFiles(files);
const tabs = (page) => page.getByRole('tab');
const panel = (page) => page.locator('[role=tabpanel]:not([hidden])');
const report = (page) => panel(page).locator('.report:not([hidden])');
/** Waits until `n` workers run besides the helpers for large files; the browser reports the end of a worker a little late. */
async function nWorkers(page, n, { withHelpers = true } = {}) {
  const nHelpers = withHelpers ? await page.evaluate(() => Math.min(4, navigator.hardwareConcurrency) - 1) : 0;
  while (page.workers().length !== n + nHelpers) await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 10)));
}
/** Waits until the file is parsed; returns the parse summary. */
async function verdict(page) {
  await panel(page).locator('.file-head').waitFor({ timeout: 120_000 });
  return panel(page).locator('.verdict p').textContent();
}
/** The first table of the visible report. */
const table = (page) => report(page).locator('section.table').first();
const header = (page, label) => table(page).getByRole('columnheader', { name: label, exact: true });
/** Texts of a column in the rendered rows. */
const column = (page, at) => table(page).locator(`tbody td:nth-child(${at})`).allTextContents();

/** Drops files, and folders by name, on the page. */
function drop(page, files, folders = []) {
  return page.evaluate(
    ([files, folders]) => {
      const data = new DataTransfer();
      for (const [name, text] of files) data.items.add(new File([text], name));
      if (folders.length > 0) {
        // Scripts cannot drag folders, so imitate the list that the browser would pass.
        const items = folders.map((name) => ({
          kind: 'file',
          webkitGetAsEntry: () => ({ isDirectory: true, name, createReader: () => ({ readEntries: (then) => then([]) }) }),
          getAsFile: () => null,
        }));
        Object.defineProperty(data, 'items', { value: Object.assign(items, { length: items.length }) });
        Object.defineProperty(data, 'types', { value: ['Files'] });
      }
      const event = (type) => new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true });
      document.body.dispatchEvent(event('dragover'));
      const overlay = new Promise((resolve) => setTimeout(() => resolve(document.querySelector('[data-testid=drop-overlay]') !== null), 50));
      return overlay.then((shown) => (document.body.dispatchEvent(event('drop')), shown));
    },
    [files, folders],
  );
}

pageTest('a dropped file opens as a tab with reports, and its parsing details add up', async (page) => {
  assert.equal(await drop(page, [['made.json', slices(10)]]), true, 'the overlay shows');
  assert.match(await verdict(page), /^Parsed all 10 events/);
  assert.equal(await page.getByTestId('drop-overlay').count(), 0);
  assert.equal(await page.title(), 'made.json – Tracedrop');
  await panel(page).getByRole('button', { name: 'Parsing details', exact: true }).click();
  const cells = await panel(page).locator('.account td:last-child').allTextContents();
  const numbers = cells.filter(Boolean).map((text) => Number(text.replaceAll(',', '')));
  const total = numbers.at(4);
  assert.equal(numbers.slice(0, 4).reduce((sum, n) => sum + n, 0), total);
  assert.equal(total, Buffer.byteLength(slices(10)));
});

pageTest('several files open as tabs, also while reports are shown, and the same file twice', async (page) => {
  await pick(page, file('one.json', slices(3)), file('two.json', slices(4)));
  // Two files of the same kind are also compared.
  await page.locator('[role=tab][title="one.json ↔ two.json"][aria-selected=true]').waitFor();
  await drop(page, [['one.json', slices(3)]]);
  await verdict(page);
  assert.deepEqual(await page.locator('.tab-name').allTextContents(), ['one.json', 'two.json', 'one.json ↔ two.json', 'one.json (2)']);
  await nWorkers(page, 4);
  await tabs(page).nth(1).click();
  assert.match(await verdict(page), /4 events/);
});

pageTest('the Tab key goes from the buttons for files to the samples, then to the formats', async (page) => {
  await page.getByRole('button', { name: 'Open a folder' }).focus();
  const seen = [];
  for (let i = 0; i < 12 && !seen.includes('chip'); i++) {
    await page.keyboard.press('Tab');
    seen.push(await page.evaluate(() => document.activeElement.className));
  }
  assert.equal(seen[1], 'sample', seen.join(', '));
  assert.equal(seen.at(-1), 'chip', seen.join(', '));
});

pageTest('what was skipped is in the header in whole words, however narrow', async (page) => {
  await page.setViewportSize({ width: 1280, height: 800 });
  await pick(page, fileURLToPath(new URL('../data/sway/malformed_lines.jsonl', import.meta.url)));
  assert.match(await verdict(page), /7 skipped/);
  const short = panel(page).locator('.file-head .verdict-short');
  assert.equal((await short.textContent()).trim(), '7 skipped');
  assert.ok(await short.evaluate((it) => it.getBoundingClientRect().width + 1 > it.scrollWidth && it.offsetWidth > 20));
  // Nothing in the bar lies over another, and the page is at its top.
  const edges = await panel(page).locator('.file-head').evaluate((head) =>
    [head.querySelector('.verdict .link'), head.querySelector('.file-rename')].map((it) => it.getBoundingClientRect()).map(({ left, right }) => [left, right]));
  assert.ok(edges[0][1] <= edges[1][0], edges.join());
  assert.equal(await page.evaluate(() => scrollY), 0);
});

pageTest('the keyboard moves between tabs and closes them; closing stops the worker', async (page) => {
  await pick(page, file('a.json', slices(1)), file('b.json', slices(2)), file('c.json', slices(3)));
  await verdict(page);
  await tabs(page).nth(2).focus();
  await page.keyboard.press('ArrowRight');
  assert.equal(await page.locator('[role=tab]:focus').getAttribute('title'), 'a.json');
  assert.match(await verdict(page), /1 event/);
  await page.keyboard.press('End');
  await page.keyboard.press('Delete');
  assert.deepEqual(await page.locator('.tab-name').allTextContents(), ['a.json', 'b.json']);
  await page.locator('[role=tab][title="b.json"]:focus').waitFor();
  await nWorkers(page, 2);
  await page.keyboard.press('1');
  await page.locator('[role=tab][title="a.json"][aria-selected=true]').waitFor();
  await page.keyboard.press(']');
  await page.locator('[role=tab][title="b.json"][aria-selected=true]').waitFor();
  await page.keyboard.press('w');
  await panel(page).getByRole('button', { name: 'Close this file' }).press('Enter');
  assert.equal(await tabs(page).count(), 0);
  assert.ok(await page.getByRole('heading', { level: 1 }).first().isVisible());
});

pageTest('each sample opens', async (page) => {
  const samples = await page.evaluate(() => globalThis.tracedrop.samples.map(({ title, also }) => ({ title, nOthers: also.length })));
  assert.ok(samples.length > 0);
  for (const { title, nOthers } of samples) {
    await page.getByRole('button', { name: title }).click();
    if (nOthers > 0) await page.getByTestId('sides').waitFor();
    else assert.match(await verdict(page), /^Parsed/, title);
    await page.keyboard.press('s');
  }
});

pageTest('pasted text opens as pasted.txt, but not when pasted into a field', async (page) => {
  const paste = (selector, text) =>
    page.evaluate(
      ([selector, text]) => {
        const clipboardData = new DataTransfer();
        if (text) clipboardData.setData('text/plain', text);
        document.querySelector(selector).dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
      },
      [selector, text],
    );
  await paste('body', slices(40));
  assert.match(await verdict(page), /40 events/);
  assert.equal(await tabs(page).textContent(), 'pasted.txt');
  await showReport(page, 'Slices by name');
  await table(page).getByRole('searchbox').waitFor();
  await paste('.report:not([hidden]) input[type=search]', slices(3));
  assert.equal(await tabs(page).count(), 1);
  await paste('body', '');
  await page.getByRole('alert').getByText('The clipboard contains no text and no file').waitFor();
});

pageTest('a folder without traces opens nothing and shows a message', async (page) => {
  await drop(page, [], ['runs']);
  await page.getByRole('alert').getByText('No traces found in folder runs').waitFor();
  assert.equal(await tabs(page).count(), 0);
});

pageTest('a table is sorted by pointer and keyboard: ascending, descending, original order', async (page) => {
  await pick(page, file('made.json', slices(60, 12)));
  await verdict(page);
  await showReport(page, 'Slices by name');
  const own = await column(page, 1);
  const name = header(page, 'name');
  await name.getByRole('button').click();
  await table(page).locator('th[aria-sort=ascending]').filter({ hasText: 'name' }).waitFor();
  await page.waitForFunction(() => document.querySelector('.report:not([hidden]) .table:not(.table-stale) tbody td')?.textContent === 'op 0');
  assert.deepEqual(await column(page, 1), [...own].sort());
  await name.getByRole('button').focus();
  await page.keyboard.press('Enter');
  await table(page).locator('th[aria-sort=descending]').filter({ hasText: 'name' }).waitFor();
  await page.waitForFunction(() => document.querySelector('.report:not([hidden]) tbody td')?.textContent === 'op 9');
  assert.deepEqual(await column(page, 1), [...own].sort().reverse());
  await page.keyboard.press('Enter');
  await table(page).locator('th[aria-sort=none]').filter({ hasText: 'name' }).waitFor();
  await page.waitForFunction((first) => document.querySelector('.report:not([hidden]) tbody td')?.textContent === first, own[0]);
  assert.deepEqual(await column(page, 1), own);
});

pageTest('filtering a table by words updates the row count', async (page) => {
  await pick(page, file('made.json', slices(93_000, 93_000)));
  await verdict(page);
  await showReport(page, 'Slices by name');
  // Add a hidden report with its own filter before this one.
  await page.evaluate(() => {
    const other = document.querySelector('.report[hidden]');
    const filter = document.createElement('input');
    filter.dataset.key = '/';
    other.append(filter);
  });
  await page.keyboard.press('/');
  await page.keyboard.type('op 9299');
  await table(page).getByText('19 of 93,000 rows').waitFor();
  const names = await column(page, 1);
  assert.equal(names.length, 19);
  for (const name of names) assert.match(name, /9299/);
  await page.keyboard.type('x');
  await table(page).getByText('No matching rows').waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  await page.keyboard.press('Escape');
  await table(page).getByText(/^93,000 rows$/).waitFor();
});

pageTest('a long table renders few rows at a time but can show all', async (page) => {
  await pick(page, file('made.json', slices(93_000, 93_000)));
  await verdict(page);
  await showReport(page, 'Slices by name');
  await header(page, 'name').getByRole('button').click();
  const frame = table(page).getByRole('region');
  for (const [key, row] of [['End', 93_000], ['Home', 1]]) {
    await scrollBy(frame, key);
    const last = table(page).locator(`tr[aria-rowindex="${row + 1}"] td`).first();
    await last.filter({ hasText: /^op/ }).waitFor();
    assert.equal(await last.textContent(), row === 1 ? 'op 0' : 'op 9999');
    const box = await last.boundingBox();
    const around = await frame.boundingBox();
    assert.ok(box.y >= around.y - 1 && box.y + box.height <= around.y + around.height + 1, `row ${row} is in sight`);
  }
  // On a row, the same keys move the focus from row to row.
  const focused = (row) => page.waitForFunction((row) => document.activeElement.getAttribute('aria-rowindex') === `${row + 1}`, row);
  await table(page).locator('tr[aria-rowindex="2"]').focus();
  for (const [key, row] of [['PageDown', 11], ['End', 93_000], ['PageUp', 92_990], ['Home', 1]]) {
    await page.keyboard.press(key);
    await focused(row);
  }
  await scrollBy(frame, 'PageDown');
  await page.waitForFunction(() => document.querySelector('.report:not([hidden]) .table-frame').scrollTop > 100);
  assert.ok((await table(page).locator('tbody tr').count()) < 100);
});

pageTest(
  'a table is copied as Markdown, CSV and TSV',
  async (page) => {
    await pick(page, file('made.json', slices(2)));
    await verdict(page);
    await showReport(page, 'Slices by name');
    for (const [format, line] of [['Markdown', /^\| name/m], ['CSV', /^name,/m], ['TSV', /^name\t/m]]) {
      await table(page).getByRole('button', { name: 'Copy Slices by name' }).click();
      await page.getByRole('menuitem', { name: format }).click();
      await page.waitForFunction(async (source) => new RegExp(source, 'm').test(await navigator.clipboard.readText()), line.source);
      await page.getByRole('status').getByText('Copied 2 rows.').waitFor();
    }
  },
  { permissions: ['clipboard-read', 'clipboard-write'] },
);

pageTest('the export menu works by keyboard and saves a file', async (page) => {
  await pick(page, file('made.json', slices(5)));
  await verdict(page);
  await page.keyboard.press('e');
  const onFirst = () => page.waitForFunction(() => document.activeElement === document.querySelector('[role=menuitem]'));
  await onFirst();
  assert.deepEqual(await accessibilityProblems(page), []);
  await page.keyboard.press('ArrowUp');
  assert.ok(await page.getByRole('menuitem').last().evaluate((item) => item === document.activeElement));
  await page.keyboard.press('Escape');
  assert.equal(await page.getByRole('menu').count(), 0);
  assert.ok(await page.getByRole('button', { name: 'Export' }).evaluate((button) => button === document.activeElement));
  await page.keyboard.press('ArrowDown');
  await onFirst();
  const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')]);
  assert.match(download.suggestedFilename(), /^made.*\.md$/);
  assert.match(await readFile(await download.path(), 'utf8'), /op 1/);
  await page.getByRole('status').getByText('Saved made').waitFor();
});

pageTest('a large file shows progress and a report so far; stopping keeps what was parsed', async (page) => {
  await page.getByTestId('file-input').setInputFiles(LARGE);
  await panel(page).locator('.badge').first().waitFor();
  assert.match(await panel(page).locator(".reading").textContent(), /iB of 1/);
  // Blocks out of sight are not rendered until they are scrolled near.
  const waiting = report(page).locator('.turn-waits');
  await waiting.last().waitFor();
  const n = await report(page).locator('.turn').count();
  assert.ok((await waiting.count()) < n);
  await report(page).locator('.turn').last().scrollIntoViewIfNeeded();
  await report(page).locator('.turn').last().and(page.locator(':not(.turn-waits)')).waitFor();
  await panel(page).getByRole('button', { name: 'Stop' }).click();
  assert.match(await verdict(page), /^Stopped at .* of /);
  await waiting.first().waitFor({ state: 'detached' });
  assert.equal(await waiting.count(), 0);
  assert.ok(await report(page).getByRole('heading', { level: 2 }).isVisible());
}, { slowReading: true, viewport: { width: 1280, height: 320 } });

pageTest('reports on a part stay where they are once reading ends', async (page) => {
  await page.getByTestId('file-input').setInputFiles(LARGE);
  await panel(page).locator('.badge').first().waitFor();
  const top = async () => (await panel(page).locator('.document').boundingBox()).y;
  const before = await top();
  await panel(page).getByRole('button', { name: 'Stop' }).click();
  await panel(page).locator('.reading').waitFor({ state: 'detached' });
  assert.equal(await top(), before);
}, { slowReading: true });

pageTest('a time range of a large file can be chosen while it is parsed', async (page) => {
  await page.getByTestId('file-input').setInputFiles(LARGE);
  await panel(page).locator('.badge').first().waitFor();
  await panel(page).getByText('Report on a time range').click();
  const hold = panel(page).getByRole('button', { name: 'Keep only this range' });
  await panel(page).getByLabel('From').fill('20');
  await panel(page).getByLabel('to', { exact: true }).fill('10');
  assert.ok(await hold.isDisabled());
  await panel(page).getByText('must be before').waitFor();
  await panel(page).getByLabel('to', { exact: true }).fill('30');
  await panel(page).getByLabel('to', { exact: true }).press('Enter');
  await panel(page).getByText('Keeping 20 to 30 ms').waitFor();
  await panel(page).getByRole('button', { name: 'Stop' }).click();
  await panel(page).getByTestId('range').getByText('cover 20 to 30 ms only').waitFor();
  await panel(page).locator('.issues').getByText('outside the chosen time range').waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
}, { slowReading: true });

pageTest('a complete parse of a trace that lacks records gets no green check mark', async (page) => {
  await pick(page, new URL('../data/situations/graphs-without-record.json', import.meta.url).pathname);
  assert.match(await verdict(page), /^Parsed all \d/);
  assert.equal(await panel(page).locator('.file-head .verdict .mark-good').count(), 0);
  await panel(page).getByTestId('warnings').click();
  await report(page).locator('.note-warning').first().waitFor();
  assert.match(await report(page).locator('.note-warning').first().textContent(), /no timed device record/);
  // A trace without warnings gets it.
  await pick(page, file('made.json', slices(3)));
  assert.match(await verdict(page), /3 events/);
  await panel(page).locator('.file-head .verdict .mark-good').waitFor();
  assert.equal(await panel(page).getByTestId('warnings').count(), 0);
});

pageTest('unavailable exports are in the menu with what they need', async (page) => {
  await pick(page, file('counter.json', JSON.stringify([{ ph: 'C', name: 'n', pid: 1, ts: 1, args: { n: 1 } }])));
  await verdict(page);
  await panel(page).getByRole('button', { name: 'Export' }).click();
  const collapsed = page.getByRole('menuitem', { name: /collapsed/i }).first();
  assert.equal(await collapsed.getAttribute('aria-disabled'), 'true');
  assert.match(await collapsed.textContent(), /needs /);
  await collapsed.click({ force: true });
  assert.ok(await collapsed.isVisible());
});

pageTest('one click excludes events that are years away', async (page) => {
  await pick(page, new URL('../data/situations/one-event-years-later.json', import.meta.url).pathname);
  await panel(page).getByTestId('far-away').getByRole('button', { name: 'Report without them' }).click();
  await panel(page).getByTestId('range').waitFor();
  assert.equal(await panel(page).getByTestId('far-away').count(), 0);
  assert.doesNotMatch(await report(page).textContent(), /years/);
  await panel(page).getByRole('button', { name: 'Parsing details' }).click();
  await panel(page).getByText('outside the chosen time range').waitFor();
  // Back to the whole file, then to a range entered by hand.
  await panel(page).getByTestId('range').getByRole('button').click();
  await panel(page).getByTestId('far-away').waitFor();
  await panel(page).getByRole('button', { name: 'Parsing details', exact: true }).click();
  // The warning names it as well.
  const range = panel(page).locator('summary').filter({ hasText: 'Report on a time range' });
  await range.click();
  await panel(page).getByLabel('From').fill('0');
  await panel(page).getByLabel('to', { exact: true }).fill('1');
  await panel(page).getByLabel('to', { exact: true }).press('Enter');
  await panel(page).getByTestId('range').getByText('cover 0 to 1 ms only').waitFor();
});

pageTest('a stack profile is limited to a time range afterwards', async (page) => {
  await pick(page, new URL('../data/stacks/real_node.cpuprofile.gz', import.meta.url).pathname);
  await verdict(page);
  await panel(page).getByRole('button', { name: 'Parsing details', exact: true }).click();
  await panel(page).locator('summary').filter({ hasText: 'Report on a time range' }).click();
  await panel(page).getByLabel('From').fill('100');
  await panel(page).getByLabel('to', { exact: true }).fill('400');
  await panel(page).getByLabel('to', { exact: true }).press('Enter');
  await panel(page).getByTestId('range').getByText('cover 100 to 400 ms only').waitFor();
  await showReport(page, 'Functions by stack');
  // As `tracedrop report --only 100..400` says it.
  await report(page).getByText('(garbage collector) is hottest: 92.0% self (275.9 ms of 300.0 ms).').waitFor();
  await report(page).getByText('300.0 ms (100.0 ms to 400.0 ms)').waitFor();
  // The timeline shows the range where it lies in the whole.
  await showReport(page, 'Timeline');
  await page.locator('ul[aria-label="Widest events in view"] li').first().waitFor({ state: 'attached' });
  await page.getByText(/over 1\.684 s/).first().waitFor({ state: 'attached' });
});

pageTest('a file that changes while it is parsed is reported, and what was parsed is kept', async (page) => {
  const path = `${OUTPUT}/changing.json`;
  await copyFile(LARGE, path);
  try {
    await page.getByTestId('file-input').setInputFiles(path);
    await panel(page).locator('.badge').first().waitFor();
    await truncate(path, 1_000_000);
    assert.match(await verdict(page), /^Stopped at .* of /);
    assert.match(await panel(page).locator('.issues').textContent(), /the browser could no longer read the file/);
    assert.ok(await report(page).getByRole('heading', { level: 2 }).isVisible());
  } finally {
    await rm(path, { force: true });
  }
}, { slowReading: true });

pageTest('a tab can be closed while it parses; the next file opens', async (page) => {
  await page.getByTestId('file-input').setInputFiles(LARGE);
  await panel(page).getByRole('button', { name: 'Stop' }).waitFor();
  await tabs(page).focus();
  await page.keyboard.press('Delete');
  // The helpers are gone until another file is about to open.
  await nWorkers(page, 0, { withHelpers: false });
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('banner').getByRole('button', { name: 'Open', exact: true }).click();
  await nWorkers(page, 0);
  await (await chooser).setFiles([file('made.json', slices(2))]);
  assert.match(await verdict(page), /2 events/);
}, { slowReading: true });

pageTest('after a file is opened, the focus is on the heading of its report', async (page) => {
  await pick(page, file('made.json', slices(3)));
  await verdict(page);
  await page.waitForFunction(() => document.activeElement?.tagName === 'H2' && document.activeElement.closest('.report:not([hidden])'));
  // Not taken from where someone is: the list of reports.
  await page.getByRole('navigation', { name: 'Reports' }).getByRole('button', { name: 'Timeline', exact: true }).focus();
  await page.getByTestId('file-input').setInputFiles([file('other.json', slices(2))]);
  await page.getByRole('tab', { name: 'other.json' }).waitFor();
});

pageTest('each group of the list of reports stands once', async (page) => {
  await pick(page, new URL('../data/mrm/memray/v13-threads.bin', import.meta.url).pathname);
  await verdict(page);
  const groups = await page.locator('.report-group').allTextContents();
  assert.ok(groups.length > 1);
  assert.deepEqual([...new Set(groups)], groups);
});

pageTest('tabs show what tells their files apart, and the header stays still when the focus walks it', async (page) => {
  await pick(page, file('two_gpus_of_one_node_before.json', slices(3)), file('two_gpus_of_one_node_after.json', slices(4)));
  const names = page.locator('.tab-name');
  await names.filter({ hasText: '↔' }).waitFor();
  assert.deepEqual((await names.allTextContents()).slice(0, 2), ['two_gpus_of_one_node_before.json', 'two_gpus_of_one_node_after.json']);
  await page.getByRole('tab', { name: 'two_gpus_of_one_node_after.json', exact: true }).click();
  await verdict(page);
  const ends = await page.locator('.tab-end').evaluateAll((ends) =>
    ends.map((end) => ({ text: end.textContent, past: end.getBoundingClientRect().right - end.closest('.tab-name').getBoundingClientRect().right })),
  );
  assert.deepEqual(ends.slice(0, 2).map(({ text }) => text), ['efore', 'after']);
  assert.ok(ends.every(({ past }) => past <= 1), JSON.stringify(ends));
  const share = panel(page).getByRole('button', { name: 'Share', exact: true });
  const before = await share.boundingBox();
  await panel(page).getByRole('button', { name: 'Close this file' }).focus();
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Tab');
  assert.deepEqual(await share.boundingBox(), before);
  assert.deepEqual(await accessibilityProblems(page), []);
});

pageTest('a file of unknown format lists the supported formats', async (page) => {
  await pick(page, file('notes.txt', 'remember the milk\n'));
  const problem = panel(page).getByRole('alert');
  await problem.getByRole('heading', { name: 'This file could not be read' }).waitFor();
  assert.match(await problem.textContent(), /unknown-format/);
  assert.equal(await problem.locator('.problem-hint').textContent(), 'See the supported formats below.');
  assert.ok((await problem.getByRole('listitem').count()) >= 3);
  // Words of a format stay whole, also on a phone.
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 800 });
    const widths = await problem.locator('.formats li:first-child > span').evaluateAll((cells) => cells.map((cell) => cell.clientWidth || cell.getBoundingClientRect().width));
    assert.ok(widths.every((cell) => cell > 100), `${widths} at ${width}`);
  }
  assert.deepEqual(await accessibilityProblems(page), []);
});

pageTest('a worker that crashes or does not start is reported; starting again parses the same file', async (page) => {
  await page.evaluate(() => {
    const { startWorker, ...rest } = globalThis.tracedrop;
    globalThis.startWorker = startWorker;
    // Other workers list the cache: the reader is the one that gets the file.
    const watched = () => {
      const worker = startWorker();
      const post = worker.postMessage.bind(worker);
      worker.postMessage = (message, transfer) => {
        if (Array.isArray(message) && message.some((part) => part?.name === 'made.json')) globalThis.reader = worker;
        post(message, transfer);
      };
      return worker;
    };
    globalThis.tracedrop = { ...rest, startWorker: watched };
  });
  await pick(page, file('first.json', slices(2)));
  await verdict(page);
  await pick(page, file('made.json', slices(6)));
  await panel(page).getByText(/6 events/).first().waitFor();
  await page.evaluate(() => globalThis.reader.dispatchEvent(new ErrorEvent('error', { message: 'unreachable executed', cancelable: true })));
  const problem = panel(page).getByRole('alert');
  await problem.getByRole('heading', { name: 'The worker crashed' }).waitFor();
  assert.match(await problem.textContent(), /unreachable executed/);
  assert.deepEqual(await accessibilityProblems(page), []);
  await page.evaluate(() => {
    globalThis.tracedrop = {
      ...globalThis.tracedrop,
      startWorker() {
        throw new Error('no more workers');
      },
    };
  });
  await problem.getByRole('button', { name: 'Start again' }).click();
  await problem.getByText('no more workers').waitFor();
  await page.evaluate(() => (globalThis.tracedrop = { ...globalThis.tracedrop, startWorker: globalThis.startWorker }));
  await problem.getByRole('button', { name: 'Start again' }).click();
  assert.match(await verdict(page), /6 events/);
});

pageTest('the theme follows the system until one is chosen, then is remembered', async (page) => {
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.waitForFunction((light) => getComputedStyle(document.body).backgroundColor !== light, light);
  await page.getByRole('button', { name: 'Theme' }).click();
  await page.getByRole('menuitemradio', { name: 'Light' }).click();
  const isLight = () => page.waitForFunction((light) => getComputedStyle(document.body).backgroundColor === light, light);
  await isLight();
  await page.reload();
  await page.getByRole('heading', { level: 1 }).waitFor();
  await isLight();
  for (const theme of ['dark', 'contrast', 'system']) {
    await page.keyboard.press('t');
    await page.locator(`html[data-theme=${theme}]`).waitFor();
  }
  await page.emulateMedia({ contrast: 'more' });
  await page.locator('html[data-theme=contrast]').waitFor();
});

pageTest('? lists the keyboard shortcuts, which are off while typing', async (page) => {
  await page.keyboard.press('?');
  const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await dialog.waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  await pick(page, file('made.json', slices(60)));
  await verdict(page);
  await page.keyboard.press('j');
  await report(page).getByRole('heading', { level: 2, name: 'Timeline' }).waitFor();
  await page.keyboard.press('j');
  await report(page).getByRole('heading', { level: 2, name: 'Flame graph' }).waitFor();
  await page.keyboard.press('j');
  await report(page).getByRole('heading', { level: 2, name: 'Slices by name' }).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('w?');
  assert.equal(await table(page).getByRole('searchbox').inputValue(), 'w?');
  assert.equal(await tabs(page).count(), 1);
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.keyboard.press('k');
  await page.keyboard.press('k');
  await page.keyboard.press('k');
  await report(page).getByRole('heading', { level: 2, name: 'Overview' }).waitFor();
});

pageTest('text from a file is never interpreted as markup', async (page) => {
  const nasty = '<img src=x onerror=alert(1)>\u202etxt.exe\u0007';
  await pick(page, file(`${nasty.slice(0, 30)}.json`, JSON.stringify([{ name: nasty, cat: '<b>', ph: 'X', ts: 1, dur: 2, pid: 1, tid: 1 }])));
  await verdict(page);
  await showReport(page, 'Slices by name');
  const cell = table(page).locator('tbody td').first();
  assert.equal(await cell.textContent(), '<img src=x onerror=alert(1)>\\u{202e}txt.exe\\x07');
  assert.equal(await page.locator('main img').count(), 0);
});

// axe checks every screen in each theme and size.
const SCREENS = {
  start: async () => {},
  report: async (page) => {
    await pick(page, file('made.json', slices(300)));
    await verdict(page);
    await showReport(page, 'Slices by name');
    await panel(page).getByRole('button', { name: 'Parsing details', exact: true }).click();
  },
  'parsing issues': async (page) => {
    await pick(page, file('bad.json', slices(3).replace('"ph":"X"', '"ph":7')), file('other.json', slices(2)));
    await page.getByTestId('sides').waitFor();
    await tabs(page).first().click();
    await verdict(page);
  },
  reading: async (page) => {
    await page.getByTestId('file-input').setInputFiles(LARGE);
    await panel(page).locator('.badge').first().waitFor();
  },
};
for (const [name, goThere] of Object.entries(SCREENS)) {
  for (const theme of ['light', 'dark', 'contrast']) {
    const media = { colorScheme: theme === 'dark' ? 'dark' : 'light', contrast: theme === 'contrast' ? 'more' : 'no-preference' };
    pageTest(
      `axe finds nothing on: ${name}, ${theme}`,
      async (page) => {
        await goThere(page);
        for (const [size, viewport] of Object.entries({ wide: WIDE, narrow: NARROW })) {
          await page.setViewportSize(viewport);
          assert.deepEqual(await accessibilityProblems(page), [], size);
          assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `nothing sticks out, ${size}`);
        }
      },
      { slowReading: name === 'reading', ...media },
    );
  }
}

pageTest('secrets can be shown and hidden again', async (page) => {
  const names = ['GET https://me:hunter2x9@example.org/', 'parse'];
  const events = names.map((name, i) => ({ ph: 'X', name, pid: 1, tid: 1, ts: 10 * i, dur: 9 - i }));
  await page.getByTestId('file-input').setInputFiles({ name: 'secret.json', mimeType: '', buffer: Buffer.from(JSON.stringify(events)) });
  const panel = page.locator('[role=tabpanel]:not([hidden])');
  const report = panel.locator('.report:not([hidden])');
  await report.getByText('https://me:(hidden)@example.org/').first().waitFor();
  assert.equal(await page.getByText('hunter2x9').count(), 0);
  await panel.getByRole('button', { name: 'Parsing details', exact: true }).click();
  const box = panel.getByRole('checkbox', { name: /^Show passwords, tokens and keys/ });
  await box.focus();
  await page.keyboard.press('Space');
  await report.getByText('https://me:hunter2x9@example.org/').first().waitFor();
  await panel.getByRole('checkbox', { name: /^Show passwords, tokens and keys/ }).uncheck();
  await report.getByText('https://me:(hidden)@example.org/').first().waitFor();
  // Each block follows by itself.
  await page.waitForFunction(() => !document.body.textContent.includes('hunter2x9'));
});

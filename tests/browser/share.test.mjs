// Sharing: with Perfetto by its messages, and as a link that contains the numbers.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { NARROW, WIDE, accessibilityProblems, drop, givenToPerfetto, openPage, showReport, siteAndBrowser, slicesIn, standInForPerfetto } from './support.mjs';

const given = siteAndBrowser();
const data = (name) => fileURLToPath(new URL(`../data/${name}`, import.meta.url));
const trace = data('pytorch/small-bert-h100.json.gz');
const panel = (page) => page.locator('[role=tabpanel]:not([hidden])');

/** A page that has parsed `file`. */
async function opened(file, options = {}) {
  const page = await openPage(given.browser, given.site.url + (options.hash ?? ''), options);
  await page.getByTestId('file-input').setInputFiles(file);
  await panel(page).locator('.file-head').waitFor();
  return page;
}

/** Waits until the rows are in the order of the header, which changes first: rows come from the worker. */
const sorted = (table) => table.and(table.page().locator('table[aria-busy=false]')).locator('th[aria-sort=ascending]').waitFor();

async function handOver(page) {
  await page.keyboard.press('h');
  await page.getByRole('menuitem', { name: 'Open in Perfetto…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Open in Perfetto' });
  await dialog.getByText(/passed to https:\/\/ui\.perfetto\.dev as small-bert-h100\.pftrace/).waitFor();
  return dialog;
}

const durations = (events) =>
  events
    .filter((event) => event.ph === 'X')
    .map((event) => `${event.name} ${event.ts} ${event.dur ?? 0}`)
    .sort();

test('Perfetto gets the trace after its answer, whole or the selected time range', async () => {
  const page = await opened(trace);
  await standInForPerfetto(page.context());
  let dialog = await handOver(page);
  // Destination and size are shown before anything is opened.
  assert.equal(page.context().pages().length, 1);
  let popup = page.context().waitForEvent('page');
  await dialog.getByRole('button', { name: 'Open in Perfetto' }).click();
  const perfetto = await popup;
  await dialog.getByText(/Passed .* to Perfetto/).waitFor();
  const { title, bytes } = await givenToPerfetto(perfetto);
  assert.equal(perfetto.url(), 'https://ui.perfetto.dev/');
  assert.equal(title, 'small-bert-h100.pftrace');
  const events = durations(slicesIn(bytes));
  // The same as the downloaded trace, whose events the tests of the export compare with the file.
  await page.keyboard.press('Escape');
  const download = page.waitForEvent('download');
  await page.keyboard.press('e');
  await page.getByRole('menuitem', { name: 'Chrome trace (for Perfetto)' }).click();
  const whole = durations(JSON.parse(readFileSync(await (await download).path(), 'utf8')).traceEvents);
  assert.ok(events.length > 1000);
  assert.deepEqual(events, whole);

  dialog = await handOver(page);
  // Input takes effect at once.
  await dialog.getByLabel('to', { exact: true }).fill('2');
  await dialog.getByText(/passed to https/).waitFor();
  const part = page.waitForEvent('download');
  await dialog.getByRole('button', { name: 'Download instead' }).click();
  const some = durations(slicesIn(readFileSync(await (await part).path())));
  assert.ok(some.length > 0 && some.length < whole.length);
  const all = new Set(whole);
  assert.ok(some.every((event) => all.has(event)));
  // Invalid times are reported, and nothing is passed on meanwhile.
  const [from, to] = ['from', 'to'].map((name) => dialog.getByLabel(name, { exact: true }));
  for (const [start, end, words, marked] of [
    ['0', 'x', /^Enter milliseconds from the start of the trace/, to],
    ['3', '2', /must be before/, from],
    ['-1', '2', /^Enter milliseconds/, from],
    ['99999', '99999', /^The trace ends at [\d.]+ ms/, from],
  ]) {
    await from.fill(start);
    await to.fill(end);
    await dialog.getByText(words).waitFor();
    assert.equal(await marked.getAttribute('aria-invalid'), 'true');
    assert.ok(await dialog.getByRole('button', { name: 'Open in Perfetto' }).isDisabled());
    assert.equal(await dialog.getByText(/passed to https/).count(), 0);
  }
  assert.deepEqual(await accessibilityProblems(page), []);
  await from.fill('0');
  await to.fill('2');
  await dialog.getByText(/passed to https/).waitFor();
  assert.ok(await dialog.getByRole('button', { name: 'Open in Perfetto' }).isEnabled());
  await page.context().close();
});

test('without an answer or a window the trace can be downloaded', async () => {
  const page = await opened(trace, { viewport: NARROW, colorScheme: 'dark' });
  await standInForPerfetto(page.context(), { silent: true });
  const dialog = await handOver(page);
  const popup = page.context().waitForEvent('page');
  await dialog.getByRole('button', { name: 'Open in Perfetto' }).click();
  const perfetto = await popup;
  await dialog.getByText('Waiting for Perfetto to start…').waitFor();
  await perfetto.close();
  await dialog.getByText(/Perfetto did not answer/).waitFor();
  assert.ok(await dialog.getByRole('button', { name: 'Download instead' }).isVisible());
  // After Cancel, or after closing the dialog, a late answer gets nothing.
  for (const callOff of [() => dialog.getByRole('button', { name: 'Cancel' }).click(), () => page.keyboard.press('Escape')]) {
    const popup = page.context().waitForEvent('page');
    await dialog.getByRole('button', { name: /^Try again$|^Open in Perfetto$/ }).click();
    const late = await popup;
    await late.waitForFunction(() => globalThis.pings === 0);
    await page.bringToFront();
    await dialog.getByText('Waiting for Perfetto to start…').waitFor();
    await callOff();
    await late.evaluate((origin) => {
      globalThis.opener.postMessage('PONG', origin);
      globalThis.setTimeout(() => (globalThis.isOver = true), 500);
    }, given.site.origin);
    await late.waitForFunction(() => globalThis.isOver);
    assert.equal(await late.evaluate(() => globalThis.given), undefined);
  }
  await dialog.waitFor({ state: 'hidden' });
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  // The page opens no other address, and none without a click.
  assert.equal(await page.evaluate(() => globalThis.open('https://example.org/')), null);
  await page.context().close();
});

test('where pop-ups are blocked the trace can be downloaded, and passed to Perfetto once they are allowed', async () => {
  const page = await openPage(given.browser, given.site.url);
  await standInForPerfetto(page.context());
  await page.addInitScript(() => {
    const open = globalThis.open.bind(globalThis);
    globalThis.open = (...args) => (globalThis.allowed ? open(...args) : null);
  });
  await page.reload();
  await page.getByTestId('file-input').setInputFiles(trace);
  await panel(page).locator('.file-head').waitFor();
  const dialog = await handOver(page);
  await dialog.getByRole('button', { name: 'Open in Perfetto' }).click();
  await dialog.getByText(/The browser blocked the new window/).waitFor();
  await page.evaluate(() => (globalThis.allowed = true));
  const popup = page.context().waitForEvent('page');
  await dialog.getByRole('button', { name: 'Try again' }).click();
  assert.ok((await givenToPerfetto(await popup)).bytes.length > 1000);
  assert.deepEqual(page.console, []);
  await page.context().close();
});

test('sample counts without timestamps are not offered to Perfetto', async () => {
  const page = await opened(data('pysampling/cpu_threads.jsonl'));
  await page.keyboard.press('h');
  await page.getByRole('menuitem', { name: 'Copy link to the results…' }).waitFor();
  assert.equal(await page.getByRole('menuitem', { name: 'Open in Perfetto…' }).count(), 0);
  await page.context().close();
});

test('a part of a trace is exported: a time range, and slices up to a depth', async () => {
  const page = await opened(trace);
  const part = async (to, depth) => {
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('e');
    await page.getByRole('menuitem', { name: 'Export redacted…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Export redacted' });
    assert.equal(await dialog.getByLabel('to', { exact: true }).count(), 0);
    await dialog.getByRole('combobox').selectOption('chrome-trace');
    if (to) await dialog.getByLabel('to', { exact: true }).fill(to);
    await dialog.getByLabel('maximum depth').fill('none');
    await dialog.getByText(/^Enter a depth of 1 or more/).waitFor();
    assert.ok(await dialog.getByRole('button', { name: 'Export' }).isDisabled());
    await dialog.getByLabel('maximum depth').fill(depth);
    assert.deepEqual(await accessibilityProblems(page), []);
    const download = page.waitForEvent('download');
    await dialog.getByRole('button', { name: 'Export' }).click();
    return durations(JSON.parse(readFileSync(await (await download).path(), 'utf8')).traceEvents);
  };
  const [whole, early, flat] = [await part('', ''), await part('2', ''), await part('', '1')];
  assert.ok(early.length > 0 && early.length < whole.length, `${early.length} of ${whole.length}`);
  assert.ok(flat.length > 0 && flat.length < whole.length, `${flat.length} of ${whole.length}`);
  assert.deepEqual(page.console, []);
  await page.context().close();
});

async function linkDialog(page) {
  // Shortcuts are off while a field has the focus.
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('h');
  await page.getByRole('menuitem', { name: 'Copy link to the results…' }).click();
  return page.getByRole('dialog', { name: 'Copy link' });
}

/** Copies the link and returns it. */
async function linkOf(page) {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const dialog = await linkDialog(page);
  await dialog.getByText(/^[\d,]+ characters\. Contains/).waitFor();
  await dialog.getByRole('button', { name: 'Copy link' }).click();
  await page.getByText('Link copied.').waitFor();
  return page.evaluate(() => navigator.clipboard.readText());
}

test('a link shows the numbers; with the file it shows what the sender saw', async () => {
  const sender = await opened(trace);
  await showReport(sender, 'Slices by name');
  const filter = (page) => panel(page).getByRole('searchbox', { name: 'Filter Slices by name' }).first();
  await filter(sender).fill('gemm');
  await panel(sender).getByText(/^\d+ of \d+ rows/).first().waitFor();
  const count = await panel(sender).getByText(/^\d+ of \d+ rows/).first().textContent();
  const link = await linkOf(sender);
  await sender.context().close();
  const requests = given.site.requests.length;

  // Another person's browser, without the file.
  for (const [viewport, colorScheme] of [[NARROW, 'dark'], [WIDE, 'light']]) {
    const receiver = await openPage(given.browser, link, { viewport, colorScheme });
    await receiver.getByTestId('from-link').getByText('small-bert-h100.json.gz').waitFor();
    assert.ok(await panel(receiver).getByRole('heading', { name: 'Slices by name', exact: true }).first().isVisible());
    assert.ok(await panel(receiver).getByText(/gemm/).first().isVisible());
    // Nothing that asks for the trace.
    assert.equal(await panel(receiver).getByText('Rows per list').count(), 0);
    assert.deepEqual(await accessibilityProblems(receiver), []);
    assert.ok(await receiver.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    assert.deepEqual(receiver.console, []);
    if (viewport === WIDE) {
      // A different file is recognized.
      await receiver.getByTestId('file-input').setInputFiles(data('chrome/hand_nesting.json'));
      await receiver.getByText(/hand_nesting\.json is not the link's file/).waitFor();
      // So is one of the same size, by its SHA-256.
      const forged = join(mkdtempSync(join(tmpdir(), 'link-')), 'forged.json');
      const bytes = readFileSync(trace);
      const text = JSON.stringify({ traceEvents: [{ name: 'x', ph: 'X', ts: 0, dur: 5, pid: 1, tid: 1 }] });
      writeFileSync(forged, text + ' '.repeat(bytes.length - text.length));
      await receiver.getByTestId('file-input').setInputFiles(forged);
      await receiver.getByText(/forged\.json is not small-bert-h100\.json\.gz, the link's file/).waitFor();
      await receiver.getByTestId('file-input').setInputFiles(trace);
      await receiver.getByText(/is the link's file: size and SHA-256 match/).waitFor();
      await panel(receiver).getByRole('heading', { name: 'Slices by name', exact: true }).first().waitFor();
      assert.equal(await filter(receiver).inputValue(), 'gemm');
      assert.equal(await panel(receiver).getByText(/^\d+ of \d+ rows/).first().textContent(), count);
    }
    await receiver.context().close();
  }
  // The part after # has reached no server.
  assert.ok(given.site.requests.slice(requests).every((request) => !request.includes('r1=')));
});

/** All columns fit, whatever is beside the table. */
const SPACIOUS = { width: 2600, height: 900 };

test('a link to a comparison is short, names both files, and dropping them opens the view of the sender', async () => {
  const sides = ['compare-base', 'compare-test'].map((name) => data(`pytorch/${name}.json.gz`));
  const compared = (page) => page.locator('[role=tab][aria-selected=true]').filter({ hasText: '↔' }).waitFor();
  const operators = (page) => panel(page).getByRole('heading', { level: 2, name: 'Operators', exact: true });
  const table = (page) => panel(page).getByRole('grid', { name: 'Operators: totals' });
  const cells = async (page) => (await table(page).locator('tbody td').allTextContents()).map((text) => text.trim());
  // Rows come after the table, and once more when A and B have changed places.
  const shows = async (page, wanted) => {
    for (let waits = 0; waits < 50 && (await cells(page)).join() !== wanted.join(); waits += 1) await page.waitForTimeout(200);
    assert.deepEqual(await cells(page), wanted);
  };
  const sender = await openPage(given.browser, given.site.url, { viewport: SPACIOUS });
  await sender.getByTestId('file-input').setInputFiles(sides);
  await compared(sender);
  await showReport(sender, 'Operators');
  await table(sender).getByRole('button', { name: 'total', exact: true }).click();
  await sorted(table(sender));
  await table(sender).locator('tbody td').first().waitFor();
  const sent = await cells(sender);
  const link = await linkOf(sender);
  assert.ok(link.split('#')[1].length <= 2048, `${link.split('#')[1].length}`);
  await sender.context().close();

  // In either order: A stays A.
  for (const files of [sides, [...sides].reverse()]) {
    const receiver = await openPage(given.browser, link, { viewport: SPACIOUS });
    const card = receiver.getByTestId('from-link');
    await card.waitFor();
    assert.equal((await card.innerText()).match(/\b[0-9a-f]{64}\b/g).length, 2);
    await shows(receiver, sent);
    await receiver.getByTestId('file-input').setInputFiles(files[0]);
    await receiver.getByText(/is one of the link's files: size and SHA-256 match/).first().waitFor();
    await receiver.locator('[role=tab]').first().click();
    await receiver.getByTestId('file-input').setInputFiles(files);
    await compared(receiver);
    await operators(receiver).waitFor();
    await sorted(table(receiver));
    await shows(receiver, sent);
    assert.match(await panel(receiver).getByTestId('side-a').textContent(), /compare-base/);
    assert.deepEqual(receiver.console, []);
    await receiver.context().close();
  }
});

test('a link to a comparison of several files per side works in any order of dropped folders', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sides-'));
  const side = (name, durations) => {
    mkdirSync(join(folder, name));
    durations.forEach((dur, at) => {
      const events = ['alpha', 'beta'].map((name, i) => ({ name, ph: 'X', ts: 1000 * i, dur: dur * (i + 1), pid: 1, tid: 1 }));
      writeFileSync(join(folder, name, `run${at}.json`), JSON.stringify(events));
    });
    return join(folder, name);
  };
  // Of one file the sizes are the same on both sides.
  const [before, after] = [side('before', [5, 77, 8]), side('after', [6, 444])];
  const dropSides = async (page, files) => {
    await drop(page, files);
    await page.locator('[role=tab][aria-selected=true]').filter({ hasText: 'run0.json and 2 more files' }).filter({ hasText: '↔' }).waitFor();
    await panel(page).getByRole('button', { name: 'Close this comparison' }).waitFor();
  };
  const table = (page) => panel(page).getByRole('grid', { name: 'Slices by name' });
  const cells = async (page) => {
    await sorted(table(page));
    return (await table(page).locator('tbody td').allTextContents()).map((text) => text.trim());
  };
  const sender = await openPage(given.browser, given.site.url);
  await dropSides(sender, [before, after]);
  await table(sender).getByRole('button', { name: 'name', exact: true }).click();
  const sent = await cells(sender);
  const link = await linkOf(sender);
  // As a file it asks for the traces together, too.
  await sender.keyboard.press('h');
  await sender.getByRole('menuitem', { name: 'Save as a Tracedrop file…' }).click();
  const download = sender.waitForEvent('download');
  await sender.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
  const saved = join(folder, 'sides.tracedrop');
  await (await download).saveAs(saved);
  await sender.context().close();
  const reader = await openPage(given.browser, given.site.url);
  await reader.getByTestId('file-input').setInputFiles(saved);
  await reader.getByTestId('from-link').getByText(/^These numbers were saved .* Drop the traces together to see everything:$/).waitFor();
  // Each with its SHA-256, also those of one name and size.
  assert.equal((await reader.getByTestId('from-link').innerText()).match(/\b[0-9a-f]{64}\b/g).length, 5);
  await reader.context().close();

  for (const folders of [[before, after], [after, before]]) {
    const receiver = await openPage(given.browser, link);
    await receiver.getByTestId('from-link').getByText('Drop the files together').waitFor();
    await panel(receiver).getByRole('button', { name: 'Close this link' }).waitFor();
    await dropSides(receiver, folders);
    await receiver.getByText(/are among the link's files: sizes and SHA-256 match/).first().waitFor();
    await panel(receiver).getByRole('heading', { level: 2, name: 'Slices by name', exact: true }).waitFor();
    // A stays A.
    for (let waits = 0; waits < 50 && (await cells(receiver)).join() !== sent.join(); waits += 1) await receiver.waitForTimeout(100);
    assert.deepEqual(await cells(receiver), sent);
    assert.deepEqual(receiver.console, []);
    await receiver.context().close();
  }
});

test('all files of a linked comparison can be dropped at once, in any folder layout', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'loose-'));
  const write = (path, dur) => {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    const events = ['alpha', 'beta'].map((name, i) => ({ name, ph: 'X', ts: 1000 * i, dur: dur * (i + 1), pid: 1, tid: 1 }));
    writeFileSync(join(folder, path), JSON.stringify(events));
    return join(folder, path);
  };
  const compared = async (page) => {
    await page.locator('[role=tab][aria-selected=true]').filter({ hasText: '↔' }).waitFor();
    await panel(page).getByRole('button', { name: 'Close this comparison' }).waitFor();
  };
  const table = (page) => panel(page).getByRole('grid', { name: 'Slices by name' });
  const cells = async (page) => (await table(page).locator('tbody td').allTextContents()).map((text) => text.trim());
  const shows = async (page, wanted) => {
    for (let waits = 0; waits < 50 && (await cells(page)).join() !== wanted.join(); waits += 1) await page.waitForTimeout(200);
    assert.deepEqual(await cells(page), wanted);
  };
  for (const { a, b, orders } of [
    // Files of the same name and size: only their content distinguishes A from B.
    { a: [write('p/run.json', 5)], b: [write('q/run.json', 8)], orders: (a, b) => [[...a, ...b], [...b, ...a]] },
    {
      a: [write('all/a/a0.json', 5), write('all/a/a1.json', 77)],
      b: [write('all/b/b0.json', 6), write('all/b/b1.json', 444)],
      // One by one, and in a folder of folders.
      orders: ([a0, a1], [b0, b1]) => [[b1, a0, b0, a1], [join(folder, 'all')]],
    },
  ]) {
    const sender = await openPage(given.browser, given.site.url);
    await drop(sender, [a, b].map(([file]) => join(file, '..')));
    await compared(sender);
    await table(sender).getByRole('button', { name: 'name', exact: true }).click();
    await sorted(table(sender));
    const sent = await cells(sender);
    const link = await linkOf(sender);
    await sender.context().close();
    for (const files of orders(a, b)) {
      const receiver = await openPage(given.browser, link);
      await panel(receiver).getByRole('button', { name: 'Close this link' }).waitFor();
      await drop(receiver, files);
      await compared(receiver);
      await sorted(table(receiver));
      await shows(receiver, sent);
      assert.deepEqual(receiver.console, []);
      await receiver.context().close();
    }
  }
});

test('a link to a comparison of two GPU traces is short, lists what it leaves out, and can be made complete', async () => {
  const sides = ['h100', 'mi300'].map((name) => data(`pytorch/small-bert-${name}.json.gz`));
  const sender = await openPage(given.browser, given.site.url);
  await sender.getByTestId('file-input').setInputFiles(sides);
  await sender.locator('[role=tab][aria-selected=true]').filter({ hasText: '↔' }).waitFor();
  const findings = (page) => panel(page).locator('.report:not([hidden]) .finding');
  await findings(sender).nth(1).waitFor();
  const link = await linkOf(sender);
  assert.ok(link.length <= 2000, `${link.length}`);
  const dialog = await linkDialog(sender);
  await dialog.getByLabel(/^Short, for mail and chat/).uncheck();
  await dialog.getByText(/^[5-9],\d+ characters.*Some mail and chat programs cut links this long/).waitFor();
  await dialog.getByLabel(/^Short, for mail and chat/).check();
  await dialog.getByText(/^1,\d+ characters/).waitFor();
  // What is in more rows or reports is not short.
  await dialog.getByLabel('All reports').check();
  assert.ok(await dialog.getByLabel(/^Short, for mail and chat/).isDisabled());
  await sender.context().close();

  const receiver = await openPage(given.browser, link, { viewport: NARROW, colorScheme: 'dark' });
  await receiver.getByText(/^Shortened for a link\. Omitted: explanations, /).waitFor();
  await findings(receiver).nth(1).waitFor();
  assert.deepEqual(await accessibilityProblems(receiver), []);
  assert.deepEqual(receiver.console, []);
  await receiver.context().close();
});

test('a link to combined files contains their SHA-256, and dropping them in any order opens it', async () => {
  const ranks = [0, 1].map((rank) => data(`pytorch/dlrm8/rank${rank}.json.gz`));
  const together = (page) => page.locator('.panel:not([hidden]) h1').filter({ hasText: '2 ranks' }).waitFor();
  const sender = await openPage(given.browser, given.site.url);
  await sender.getByTestId('file-input').setInputFiles(ranks);
  await together(sender);
  await showReport(sender, 'Ranks');
  const link = await linkOf(sender);
  await sender.context().close();

  const receiver = await openPage(given.browser, link);
  const card = receiver.getByTestId('from-link');
  await card.waitFor();
  const digests = (await card.innerText()).match(/\b[0-9a-f]{64}\b/g);
  assert.deepEqual(digests, ranks.map((path) => createHash('sha256').update(readFileSync(path)).digest('hex')));
  // Other files of the same names and sizes are recognized as different.
  const folder = mkdtempSync(join(tmpdir(), 'link-'));
  const others = ranks.map((path) => {
    const bytes = readFileSync(path);
    // When it was packed, which nobody reads.
    bytes[4] ^= 1;
    writeFileSync(join(folder, basename(path)), bytes);
    return join(folder, basename(path));
  });
  await receiver.getByTestId('file-input').setInputFiles(others);
  await receiver.getByText(/^2 of these 2 files differ from the link's/).waitFor();
  await receiver.locator('[role=tab]').first().click();
  await receiver.getByTestId('file-input').setInputFiles([...ranks].reverse());
  await receiver.getByText('These are the link\'s 2 files: sizes and SHA-256 match.').waitFor();
  await panel(receiver).getByRole('heading', { level: 2, name: 'Ranks', exact: true }).waitFor();
  // One of them by itself.
  await receiver.getByTestId('file-input').setInputFiles(ranks[1]);
  await receiver.getByText(/^rank1\.json\.gz is one of the link's files: size and SHA-256 match/).waitFor();
  assert.deepEqual(receiver.console, []);
  await receiver.context().close();
});

test('a link that would be too long is refused with a reason', async () => {
  const page = await opened(trace);
  const dialog = await linkDialog(page);
  await dialog.getByLabel('All reports').check();
  await dialog.getByRole('combobox').selectOption('1000');
  await dialog.getByText(/characters; the limit is 65536/).waitFor();
  assert.equal(await dialog.getByRole('button', { name: 'Copy link' }).count(), 0);
  assert.deepEqual(await accessibilityProblems(page), []);
  await dialog.getByRole('combobox').selectOption('10');
  await dialog.getByLabel('All reports').uncheck();
  await dialog.getByText(/^[\d,]+ characters\. Contains/).waitFor();
  assert.deepEqual(page.console, []);
  await page.context().close();
});

test('modified links do no harm to a page in use', { timeout: 300_000 }, async () => {
  const sender = await opened(data('chrome/hand_nesting.json'));
  const link = (await linkOf(sender)).split('#')[1];
  // The page that is in use gets one after the other.
  let seed = 11;
  const random = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
  const letters = 'ABCxyz019-_=%<>"\'&é\u202e\u0000{}/.#';
  const changed = () => {
    const at = 3 + random(link.length - 3);
    return [
      () => link.slice(0, at),
      () => link.slice(0, at) + letters[random(letters.length)] + link.slice(at + 1),
      () => link.slice(0, at) + link.slice(at + 1 + random(20)),
      () => link + letters[random(letters.length)],
      () => `r1=${Array.from({ length: random(400) }, () => letters[random(letters.length)]).join('')}`,
      () => `r${random(2 ** 31)}=${link.slice(3)}`,
    ][random(6)]();
  };
  for (let n = 0; n < 40; n += 1) {
    const bad = changed();
    if (bad.trim() === link) continue;
    const before = await sender.getByRole('tab').count();
    await sender.evaluate((bad) => (location.hash = bad), bad);
    // Either no link at all or a tab that says what is wrong with it.
    await sender.waitForTimeout(60);
    for (let tries = 0; (await sender.locator('[role=tabpanel]:not([hidden]) .reading').count()) > 0 && tries < 100; tries += 1) await sender.waitForTimeout(20);
    assert.equal(await sender.getByTestId('from-link').count(), 0, bad);
    if ((await sender.getByRole('tab').count()) > before) {
      await sender.evaluate(() => document.activeElement.blur());
      await sender.keyboard.press('w');
    }
  }
  assert.deepEqual(await sender.locator('.tab-name').allTextContents(), ['hand_nesting.json']);
  assert.deepEqual(sender.console, []);
  assert.deepEqual(sender.violations, []);
  // The one that was not changed opens.
  await sender.evaluate((link) => (location.hash = link), link);
  await sender.getByTestId('from-link').waitFor();
  await sender.context().close();
});

test('hostile links show an error and do nothing', async () => {
  for (const [hash, message] of [
    ['#r1=AAAA', /the link is incomplete/i],
    ['#r1=%3Cscript%3E', /invalid characters in the link/i],
    ['#r2=AAAA', /unknown link format 'r2='/],
    [`#r1=${'A'.repeat(70_000)}`, /the limit is 65536/],
  ]) {
    const page = await openPage(given.browser, given.site.url + hash);
    await page.getByText(message).waitFor();
    await page.getByRole('heading', { name: 'This link could not be read' }).waitFor();
    assert.deepEqual(page.console, []);
    await page.context().close();
  }
  const page = await openPage(given.browser, `${given.site.url}#section-3`);
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  assert.equal(await page.getByRole('tab').count(), 0);
  await page.context().close();
});

test('preview of exported text: unredacted text comes first, the rest is counted, and the list can be saved', async () => {
  for (const viewport of [NARROW, WIDE]) {
    const page = await opened(trace, { viewport });
    await page.keyboard.press('e');
    await page.getByRole('menuitem', { name: 'Export redacted…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Export redacted' });
    await dialog.getByRole('combobox').selectOption('chrome-trace');
    await dialog.getByText('Preview exported text').click();
    const count = dialog.getByText(/^Showing 200 of [\d,]+ texts\.$/);
    await count.waitFor();
    const all = Number((await count.textContent()).match(/of ([\d,]+)/)[1].replaceAll(',', ''));
    const sorts = () => dialog.locator('.share-texts tr td:first-child').allTextContents();
    assert.ok(!(await sorts()).includes('redacted'));
    // However long the list, the button that it is for is in sight.
    const button = dialog.getByRole('button', { name: 'Export' });
    const { y, height } = await button.boundingBox();
    assert.ok(y > 0 && y + height <= viewport.height, `${y}`);
    assert.deepEqual(await accessibilityProblems(page), []);
    const download = page.waitForEvent('download');
    await dialog.getByRole('button', { name: 'Save list' }).click();
    const saved = await download;
    assert.equal(saved.suggestedFilename(), 'exported-text.tsv');
    const lines = readFileSync(await saved.path(), 'utf8').trimEnd().split('\n');
    assert.equal(lines.length, all);
    assert.ok(lines[0].split('\t').length === 3 && lines.at(-1).startsWith('redacted\t'), lines.at(-1));
    // By keys: the focus is on the buttons still, and the list goes on where the new ones begin.
    await dialog.getByRole('button', { name: 'Show more' }).focus();
    await page.keyboard.press('Enter');
    await dialog.getByText(`Showing ${Math.min(all, 2000).toLocaleString('en')} of ${all.toLocaleString('en')} texts`).waitFor();
    if (all <= 2000) assert.equal((await sorts()).at(-1), 'redacted');
    const first = dialog.locator('.share-texts tr.new');
    await first.waitFor();
    assert.equal(await first.evaluate((row) => row.rowIndex), 200);
    const [row, list] = [await first.boundingBox(), await dialog.locator('.share-texts').boundingBox()];
    assert.ok(Math.abs(row.y - list.y) <= 2, `${row.y} in ${list.y}`);
    assert.equal(await page.evaluate(() => document.activeElement.textContent), all > 2000 ? 'Show more' : 'Save list');
    // Nor does it lie under the button that stays in sight.
    assert.ok(await page.evaluate(() => {
      const { left, right, top, bottom } = document.activeElement.getBoundingClientRect();
      return document.activeElement.contains(document.elementFromPoint((left + right) / 2, (top + bottom) / 2));
    }));
    assert.deepEqual(page.console, []);
    await page.context().close();
  }
});

test('the key after the one that opens a menu goes to the menu, and the menu fits on a small screen', async () => {
  const page = await opened(trace, { viewport: NARROW });
  // Both within one turn of the browser, as fast fingers are.
  const focused = await page.evaluate(async () => {
    const press = (key) =>
      (document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
    press('e');
    for (let at = 0; at < 10; at += 1) await null;
    press('ArrowDown');
    return document.activeElement.textContent;
  });
  assert.match(focused, /^HTML report \(single file\)/);
  const { x, width } = await page.getByRole('menu').boundingBox();
  assert.ok(x >= 0 && x + width <= NARROW.width, `${x} ${width}`);
  await page.context().close();
});

for (const viewport of [WIDE, NARROW]) test(`a table hints at more columns, and the longest slices show their duration, ${viewport.width} px`, async () => {
  const page = await opened(trace, { viewport });
  await showReport(page, 'Longest slices');
  const frame = panel(page).locator('.report:not([hidden]) .table-frame').first();
  // Widths are measured in the frame after the rows arrived.
  await page.waitForFunction((frame) => {
    const column = [...frame.querySelectorAll('th')].find((head) => head.textContent.startsWith('duration'));
    return column?.getBoundingClientRect().right <= frame.getBoundingClientRect().right;
  }, await frame.elementHandle());
  // Nor does any digit lie where it fades.
  const [digits, fade] = await frame.evaluate((frame) => {
    const column = [...frame.querySelectorAll('th')].findIndex((head) => head.textContent.startsWith('duration'));
    const right = (cell) => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      return range.getBoundingClientRect().right;
    };
    const probe = document.createElement('i');
    probe.style.cssText = 'position: absolute; width: var(--fade)';
    frame.append(probe);
    const { width } = probe.getBoundingClientRect();
    probe.remove();
    const cells = [...frame.querySelectorAll(`tbody td:nth-child(${column + 1}) span`)];
    return [Math.max(...cells.map(right)), frame.getBoundingClientRect().right - width];
  });
  assert.ok(digits > 0 && digits <= fade, `${digits} of ${fade}`);
  const hint = () => frame.evaluate((frame) => frame.classList.contains('table-more'));
  // A narrow table may have dropped so many columns that the others fit.
  assert.equal(await hint(), await frame.evaluate((frame) => frame.scrollWidth > frame.clientWidth + 1));
  await frame.evaluate((frame) => frame.scrollTo(1e6, 0));
  await page.waitForFunction(() => !document.querySelector('.report:not([hidden]) .table-frame').classList.contains('table-more'));
  assert.ok(!(await hint()));
  await page.context().close();
});

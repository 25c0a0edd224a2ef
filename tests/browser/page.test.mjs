// What a person does with the page, by pointer and by keys.
import assert from 'node:assert/strict';
import { appendFile, copyFile, readFile, truncate, writeFile, mkdir, rm } from 'node:fs/promises';
import { after, before } from 'node:test';
import { NARROW, OUTPUT, WIDE, accessibilityProblems, pageTests, scrollBy, siteAndBrowser } from './support.mjs';

const given = siteAndBrowser();

/** A Chrome trace of `n` slices with as many names as `nNames`. */
function slices(n, nNames = n) {
  const events = Array.from(
    { length: n },
    (_, i) => `{"name":"op ${i % nNames}","cat":"made","ph":"X","ts":${i * 10},"dur":${1 + (i % 7)},"pid":1,"tid":1}`,
  );
  return `[\n${events.join(',\n')}\n]\n`;
}

/** As setInputFiles takes it. */
const file = (name, text) => ({ name, mimeType: 'application/json', buffer: Buffer.from(text) });

/** With `slowReading` it is read for as long as a test looks and clicks. */
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
/** Waits until as many workers run, beside those that help with large files; the browser tells of their end a little later. */
async function nWorkers(page, n, { withHelpers = true } = {}) {
  const nHelpers = withHelpers ? await page.evaluate(() => Math.min(4, navigator.hardwareConcurrency) - 1) : 0;
  while (page.workers().length !== n + nHelpers) await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 10)));
}
/** Waits until the file is read to its end, and gives its sentence. */
async function verdict(page) {
  await panel(page).locator('.file-head').waitFor({ timeout: 120_000 });
  return panel(page).locator('.verdict p').textContent();
}
const showReport = (page, title) => page.getByRole('navigation', { name: 'Reports' }).getByRole('button', { name: title, exact: true }).click();
/** The first table of the report that shows. */
const table = (page) => report(page).locator('section.table').first();
const header = (page, label) => table(page).getByRole('columnheader', { name: label, exact: true });
/** Texts of a column, of the rows that are drawn. */
const column = (page, at) => table(page).locator(`tbody td:nth-child(${at})`).allTextContents();

/** Lets go of files, and of folders by name, over the page. */
function drop(page, files, folders = []) {
  return page.evaluate(
    ([files, folders]) => {
      const data = new DataTransfer();
      for (const [name, text] of files) data.items.add(new File([text], name));
      if (folders.length > 0) {
        // Scripts cannot drag folders: the list is made up as the browser would give it.
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

pageTest('a dropped file opens as a tab with reports and an account that adds up', async (page) => {
  assert.equal(await drop(page, [['made.json', slices(10)]]), true, 'the overlay shows');
  assert.match(await verdict(page), /^Everything was read: 10 events/);
  assert.equal(await page.getByTestId('drop-overlay').count(), 0);
  assert.equal(await page.title(), 'made.json – Tracedrop');
  await panel(page).getByRole('button', { name: 'Show the account' }).click();
  const cells = await panel(page).locator('.account td:last-child').allTextContents();
  const numbers = cells.filter(Boolean).map((text) => Number(text.replaceAll(',', '')));
  const total = numbers.at(4);
  assert.equal(numbers.slice(0, 4).reduce((sum, n) => sum + n, 0), total);
  assert.equal(total, Buffer.byteLength(slices(10)));
});

pageTest('several files open as tabs, also while reports show, and the same file twice', async (page) => {
  await pick(page, file('one.json', slices(3)), file('two.json', slices(4)));
  // Two of one kind are compared as well.
  await page.locator('[role=tab][title="one.json ↔ two.json"][aria-selected=true]').waitFor();
  await drop(page, [['one.json', slices(3)]]);
  await verdict(page);
  assert.deepEqual(await page.locator('.tab-name').allTextContents(), ['one.json', 'two.json', 'one.json ↔ two.json', 'one.json (2)']);
  await nWorkers(page, 4);
  await tabs(page).nth(1).click();
  assert.match(await verdict(page), /4 events/);
});

pageTest('tabs are walked and closed by keys; closing ends the worker', async (page) => {
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
  await panel(page).getByRole('button', { name: 'Close this file' }).click();
  assert.equal(await tabs(page).count(), 0);
  assert.ok(await page.getByRole('heading', { level: 1 }).first().isVisible());
});

pageTest('each sample opens', async (page) => {
  const samples = await page.evaluate(() => globalThis.tracedrop.samples.map(({ title }) => title));
  assert.ok(samples.length > 0);
  for (const title of samples) {
    await page.getByRole('button', { name: title }).click();
    assert.match(await verdict(page), /^Everything was read/, title);
    await page.keyboard.press('s');
  }
});

pageTest('pasted text opens as pasted.txt; in a field it is only text', async (page) => {
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
  await page.getByRole('alert').getByText('There is no text and no file').waitFor();
});

pageTest('a folder without traces opens nothing, and the page says so', async (page) => {
  await drop(page, [], ['runs']);
  await page.getByRole('alert').getByText('There is no trace in the folder runs').waitFor();
  assert.equal(await tabs(page).count(), 0);
});

pageTest('a table is sorted by pointer and keys: one way, the other, its own order', async (page) => {
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

pageTest('a table is filtered by words; the count says how many rows are left', async (page) => {
  await pick(page, file('made.json', slices(93_000, 93_000)));
  await verdict(page);
  await showReport(page, 'Slices by name');
  // A report with a filter of its own lies hidden before this one, as tables of many threads have it.
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
  await table(page).getByText('No row holds these words.').waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  await page.keyboard.press('Escape');
  await table(page).getByText(/^93,000 rows$/).waitFor();
});

pageTest('a long table draws few rows and shows every one of them', async (page) => {
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
  await scrollBy(frame, 'PageDown');
  await page.waitForFunction(() => document.querySelector('.report:not([hidden]) .table-frame').scrollTop > 100);
  assert.ok((await table(page).locator('tbody tr').count()) < 100);
});

pageTest(
  'a table goes to the clipboard as Markdown, CSV and TSV',
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

pageTest('the export menu works by keys and saves a file', async (page) => {
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

pageTest('a large file shows progress and a report so far; stopping keeps what was read', async (page) => {
  await page.getByTestId('file-input').setInputFiles(LARGE);
  await panel(page).locator('.badge').first().waitFor();
  assert.match(await panel(page).locator(".reading").textContent(), /iB of 1/);
  // What nobody sees is not drawn meanwhile, until someone comes near.
  const waiting = report(page).locator('.turn-waits');
  await waiting.last().waitFor();
  const n = await report(page).locator('.turn').count();
  assert.ok((await waiting.count()) < n);
  await report(page).locator('.turn').last().scrollIntoViewIfNeeded();
  await report(page).locator('.turn').last().and(page.locator(':not(.turn-waits)')).waitFor();
  await panel(page).getByRole('button', { name: 'Stop' }).click();
  assert.match(await verdict(page), /^Reading ended at .* of /);
  await waiting.first().waitFor({ state: 'detached' });
  assert.equal(await waiting.count(), 0);
  assert.ok(await report(page).getByRole('heading', { level: 2 }).isVisible());
}, { slowReading: true });

pageTest('of a large file only a stretch of time can be held, chosen while it is read', async (page) => {
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
  await panel(page).locator('.issues').getByText('outside of the stretch of time').waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
}, { slowReading: true });

pageTest('a trace that was read whole but lacks records gets no green tick', async (page) => {
  await pick(page, new URL('../data/situations/graphs-without-record.json', import.meta.url).pathname);
  assert.match(await verdict(page), /^Everything was read/);
  assert.equal(await panel(page).locator('.file > .verdict .mark-good').count(), 0);
  await panel(page).getByTestId('warnings').click();
  await report(page).locator('.note-warning').first().waitFor();
  assert.match(await report(page).locator('.note-warning').first().textContent(), /no timed device record/);
  // And one without any warning has it.
  await pick(page, file('made.json', slices(3)));
  assert.match(await verdict(page), /3 events/);
  await panel(page).locator('.file > .verdict .mark-good').waitFor();
  assert.equal(await panel(page).getByTestId('warnings').count(), 0);
});

pageTest('what cannot be exported stands in the menu with what it needs', async (page) => {
  await pick(page, file('counter.json', JSON.stringify([{ ph: 'C', name: 'n', pid: 1, ts: 1, args: { n: 1 } }])));
  await verdict(page);
  await panel(page).getByRole('button', { name: 'Export' }).click();
  const collapsed = page.getByRole('menuitem', { name: /collapsed/i }).first();
  assert.equal(await collapsed.getAttribute('aria-disabled'), 'true');
  assert.match(await collapsed.textContent(), /needs /);
  await collapsed.click({ force: true });
  assert.ok(await collapsed.isVisible());
});

pageTest('a report without events that lie years away is one click away', async (page) => {
  await pick(page, new URL('../data/situations/one-event-years-later.json', import.meta.url).pathname);
  await panel(page).getByTestId('far-away').getByRole('button', { name: 'Report without them' }).click();
  await panel(page).getByTestId('range').waitFor();
  assert.equal(await panel(page).getByTestId('far-away').count(), 0);
  assert.doesNotMatch(await report(page).textContent(), /years/);
  assert.match(await panel(page).textContent(), /outside of the stretch of time/);
  // Back to all of it, and to a range chosen by hand.
  await panel(page).getByTestId('range').getByRole('button').click();
  await panel(page).getByTestId('far-away').waitFor();
  await panel(page).getByRole('button', { name: 'Show the account' }).click();
  await panel(page).getByText('Report on a time range').click();
  await panel(page).getByLabel('From').fill('0');
  await panel(page).getByLabel('to', { exact: true }).fill('1');
  await panel(page).getByLabel('to', { exact: true }).press('Enter');
  await panel(page).getByTestId('range').getByText('cover 0 to 1 ms only').waitFor();
});

pageTest('a file that changes while it is read says so, and keeps what was read', async (page) => {
  const path = `${OUTPUT}/changing.json`;
  await copyFile(LARGE, path);
  try {
    await page.getByTestId('file-input').setInputFiles(path);
    await panel(page).locator('.badge').first().waitFor();
    await truncate(path, 1_000_000);
    assert.match(await verdict(page), /^Reading ended at .* of /);
    assert.match(await panel(page).locator('.issues').textContent(), /the browser could no longer read the file/);
    assert.ok(await report(page).getByRole('heading', { level: 2 }).isVisible());
  } finally {
    await rm(path, { force: true });
  }
}, { slowReading: true });

pageTest('a tab that is reading can be closed; the next file opens', async (page) => {
  await page.getByTestId('file-input').setInputFiles(LARGE);
  await panel(page).getByRole('button', { name: 'Stop' }).waitFor();
  await tabs(page).focus();
  await page.keyboard.press('Delete');
  // Those that helped are gone, until another file is in sight.
  await nWorkers(page, 0, { withHelpers: false });
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('banner').getByRole('button', { name: 'Open', exact: true }).click();
  await nWorkers(page, 0);
  await (await chooser).setFiles([file('made.json', slices(2))]);
  assert.match(await verdict(page), /2 events/);
}, { slowReading: true });

pageTest('a file of no known format says what could be read', async (page) => {
  await pick(page, file('notes.txt', 'remember the milk\n'));
  const problem = panel(page).getByRole('alert');
  await problem.getByRole('heading', { name: 'This file could not be read' }).waitFor();
  assert.match(await problem.textContent(), /unknown-format/);
  assert.ok((await problem.getByRole('listitem').count()) >= 3);
  assert.deepEqual(await accessibilityProblems(page), []);
});

pageTest('a worker that ends or does not start is told; starting again reads the same file', async (page) => {
  await page.evaluate(() => {
    const { startWorker, ...rest } = globalThis.tracedrop;
    globalThis.startWorker = startWorker;
    // Others start workers too, to list what is kept: the reader is the one that is handed the file.
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
  await problem.getByRole('heading', { name: 'The reader stopped' }).waitFor();
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

pageTest('the theme follows the system until one is chosen, and is remembered', async (page) => {
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

pageTest('keys are listed on ?, and do nothing while text is written', async (page) => {
  await page.keyboard.press('?');
  const dialog = page.getByRole('dialog', { name: 'Keys' });
  await dialog.waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  await pick(page, file('made.json', slices(60)));
  await verdict(page);
  await page.keyboard.press('j');
  await report(page).getByRole('heading', { level: 2, name: 'Slices by name' }).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('w?');
  assert.equal(await table(page).getByRole('searchbox').inputValue(), 'w?');
  assert.equal(await tabs(page).count(), 1);
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.keyboard.press('k');
  await report(page).getByRole('heading', { level: 2, name: 'Overview' }).waitFor();
});

pageTest('text out of a file is only ever text', async (page) => {
  const nasty = '<img src=x onerror=alert(1)>\u202etxt.exe\u0007';
  await pick(page, file(`${nasty.slice(0, 30)}.json`, JSON.stringify([{ name: nasty, cat: '<b>', ph: 'X', ts: 1, dur: 2, pid: 1, tid: 1 }])));
  await verdict(page);
  await showReport(page, 'Slices by name');
  const cell = table(page).locator('tbody td').first();
  assert.equal(await cell.textContent(), '<img src=x onerror=alert(1)>\\u{202e}txt.exe\\x07');
  assert.equal(await page.locator('main img').count(), 0);
});

// Everything is looked at by axe in each theme and size.
const SCREENS = {
  start: async () => {},
  report: async (page) => {
    await pick(page, file('made.json', slices(300)));
    await verdict(page);
    await showReport(page, 'Slices by name');
    await panel(page).getByRole('button', { name: 'Show the account' }).click();
  },
  'an account with oddities': async (page) => {
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

pageTest('secrets are shown when asked for, and hidden again', async (page) => {
  const names = ['GET https://me:hunter2x9@example.org/', 'parse'];
  const events = names.map((name, i) => ({ ph: 'X', name, pid: 1, tid: 1, ts: 10 * i, dur: 9 - i }));
  await page.getByTestId('file-input').setInputFiles({ name: 'secret.json', mimeType: '', buffer: Buffer.from(JSON.stringify(events)) });
  const panel = page.locator('[role=tabpanel]:not([hidden])');
  const report = panel.locator('.report:not([hidden])');
  await report.getByText('https://me:(hidden)@example.org/').first().waitFor();
  assert.equal(await page.getByText('hunter2x9').count(), 0);
  await panel.getByRole('button', { name: 'Show the account' }).click();
  const box = panel.getByRole('checkbox', { name: /^Show passwords, tokens and keys/ });
  await box.focus();
  await page.keyboard.press('Space');
  await report.getByText('https://me:hunter2x9@example.org/').first().waitFor();
  await panel.getByRole('checkbox', { name: /^Show passwords, tokens and keys/ }).uncheck();
  await report.getByText('https://me:(hidden)@example.org/').first().waitFor();
  assert.equal(await page.getByText('hunter2x9').count(), 0);
});

// Indexes that the browser keeps: a file that was opened before opens without being read, and says the same.
import assert from 'node:assert/strict';
import { mkdir, open, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { after, before } from 'node:test';
import { checkTotals, makeTrace } from './made-trace.mjs';
import { OUTPUT, pageTests, siteAndBrowser, waitUntilReady } from './support.mjs';

const given = siteAndBrowser();
const LARGE = `${OUTPUT}/index-100-megabytes.json`;
const SMALL = `${OUTPUT}/index-8-megabytes.json`;
const made = {};

before(async () => {
  await mkdir(OUTPUT, { recursive: true });
  made.large = await makeTrace(LARGE, 100e6);
  made.small = await makeTrace(SMALL, 8e6);
});
after(() => Promise.all([LARGE, SMALL].map((path) => rm(path, { force: true }))));

const indexTest = pageTests(given);
const panel = (page) => page.locator('[role=tabpanel]:not([hidden])');
const choose = (page, path) => page.getByTestId('file-input').setInputFiles(path);
const kept = (page) => page.getByTestId('kept').locator('li');
const fromIndex = (page) => panel(page).getByTestId('from-index');

/** Opens the file and waits until its index is kept and says which file it is of. */
async function openAndKeep(page, path, totals) {
  await choose(page, path);
  await checkTotals(page, totals);
  await digest(page);
}

async function digest(page) {
  const account = panel(page).getByRole('button', { name: 'Show the account' });
  if (await account.isVisible()) await account.click();
  return panel(page).getByTestId('digest').locator('code').textContent();
}

/** Leaves the page and comes back. */
async function comeBack(page) {
  await page.reload();
  await waitUntilReady(page);
}

/** All text of the reports, and an export. */
async function contents(page) {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    panel(page)
      .getByRole('button', { name: 'Export' })
      .click()
      .then(() => page.getByRole('menuitem', { name: /^Chrome trace/ }).click()),
  ]);
  return {
    reports: await panel(page).locator('.reports').innerText(),
    trace: await readFile(await download.path()),
  };
}

indexTest('100 MB: closed and opened again, from the index, it says the same', async (page) => {
  await openAndKeep(page, LARGE, made.large);
  assert.equal(await fromIndex(page).count(), 0);
  const sha = await digest(page);
  const before = await contents(page);
  await page.getByRole('button', { name: 'Close this file' }).click();
  await kept(page).filter({ hasText: 'index-100-megabytes.json' }).waitFor();
  await comeBack(page);
  await choose(page, LARGE);
  await fromIndex(page).waitFor();
  await checkTotals(page, made.large);
  const again = await contents(page);
  assert.equal(again.reports, before.reports);
  // Its arguments are read from the file.
  assert.ok(again.trace.equals(before.trace), 'the export differs');
  assert.equal(await digest(page), sha);
  // Other questions than those that were kept are answered from the tables.
  await panel(page).getByRole('navigation', { name: 'Reports' }).getByRole('button', { name: 'Longest slices', exact: true }).click();
  await panel(page).locator('.report:not([hidden])').getByLabel('Rows per list').selectOption('25');
  await panel(page).locator('.report:not([hidden])').getByText('25 rows').first().waitFor();
});

indexTest('from the list, without the file; and forgotten', async (page) => {
  await openAndKeep(page, SMALL, made.small);
  await comeBack(page);
  await kept(page).getByRole('button', { name: /^index-8-megabytes/ }).click();
  await fromIndex(page).filter({ hasText: 'only in the trace' }).waitFor();
  await checkTotals(page, made.small);
  const { trace } = await contents(page);
  assert.match(trace.toString('utf8', trace.length - 2000), /"arguments":"left out/);
  await page.getByText('Not in it: the arguments of events, which are only in the trace itself.').waitFor();
  // Once the trace is chosen, the same tab has its arguments.
  await page.getByRole('button', { name: 'Choose the trace' }).waitFor();
  await choose(page, SMALL);
  await page.getByText('index-8-megabytes.json is at hand now.').waitFor();
  await fromIndex(page).filter({ hasText: 'without reading the file again' }).waitFor();
  assert.equal(await page.locator('[role=tab]').count(), 1);
  assert.doesNotMatch((await contents(page)).trace.toString('utf8', 0, 1 << 24), /"arguments":"left out/);
  await page.getByRole('button', { name: 'Close this file' }).click();
  await kept(page).getByRole('button', { name: 'Forget index-8-megabytes.json' }).click();
  await kept(page).first().waitFor({ state: 'detached' });
  await comeBack(page);
  await choose(page, SMALL);
  await checkTotals(page, made.small);
  assert.equal(await fromIndex(page).count(), 0);
});

indexTest('a file that changed is read, by its time or by its bytes', async (page) => {
  const { atime, mtime } = await stat(SMALL);
  await openAndKeep(page, SMALL, made.small);
  await utimes(SMALL, atime, new Date(mtime.getTime() + 5000));
  await comeBack(page);
  await openAndKeep(page, SMALL, made.small);
  assert.equal(await fromIndex(page).count(), 0);
  // A byte where no sample is taken, size and time as before: only the SHA-256 can tell.
  const bytes = await readFile(SMALL);
  const at = bytes.indexOf('"dur":', Math.floor(bytes.length / 3)) + 6;
  const digit = bytes[at];
  bytes[at] = digit === 0x39 ? 0x38 : digit + 1;
  const file = await open(SMALL, 'r+');
  await file.write(bytes.subarray(at, at + 1), 0, 1, at);
  await file.close();
  await utimes(SMALL, atime, new Date(mtime.getTime() + 5000));
  await comeBack(page);
  await choose(page, SMALL);
  await page.getByText('It is read again.').waitFor();
  await panel(page).locator('.file-head').waitFor();
  await fromIndex(page).waitFor({ state: 'detached' });
  bytes[at] = digit;
  await writeFile(SMALL, bytes);
});

indexTest('by choice nothing is kept', async (page) => {
  await openAndKeep(page, SMALL, made.small);
  await page.keyboard.press('s');
  await kept(page).first().waitFor();
  await page.getByLabel('Keep what was read').uncheck();
  await kept(page).first().waitFor({ state: 'detached' });
  await comeBack(page);
  assert.equal(await page.getByLabel('Keep what was read').isChecked(), false);
  await choose(page, SMALL);
  await checkTotals(page, made.small);
  await page.waitForTimeout(1500);
  const files = await page.evaluate(async () => {
    const names = [];
    const root = await navigator.storage.getDirectory();
    for await (const folder of root.values()) for await (const name of folder.keys()) names.push(name);
    return names;
  });
  assert.deepEqual(files, []);
});

indexTest('an index that is damaged is no index; what is not one is forgotten', async (page) => {
  await openAndKeep(page, SMALL, made.small);
  await page.evaluate(async () => {
    const root = await navigator.storage.getDirectory();
    const folder = await root.getDirectoryHandle('tracedrop-indexes');
    for await (const file of folder.values()) {
      const bytes = new Uint8Array(await (await file.getFile()).arrayBuffer());
      for (let at = bytes.length - 300; at < bytes.length - 250; at += 1) bytes[at] ^= 1;
      const out = await file.createWritable();
      await out.write(bytes);
      await out.close();
    }
    const out = await (await folder.getFileHandle('something.tdx', { create: true })).createWritable();
    await out.write('something else');
    await out.close();
  });
  await comeBack(page);
  await choose(page, SMALL);
  await checkTotals(page, made.small);
  assert.equal(await fromIndex(page).count(), 0);
  await digest(page);
  await page.keyboard.press('s');
  await kept(page).nth(0).waitFor();
  assert.equal(await kept(page).count(), 1);
});

indexTest('two pages keep and open the same file', async (page) => {
  const other = await page.context().newPage();
  await other.goto(given.site.url);
  await waitUntilReady(other);
  await Promise.all([openAndKeep(page, SMALL, made.small), openAndKeep(other, SMALL, made.small)]);
  // Whoever was the last to write, both pages know of it.
  for (const one of [page, other]) {
    await one.keyboard.press('s');
    await kept(one).nth(0).waitFor();
  }
  await Promise.all([comeBack(page), comeBack(other)]);
  for (const one of [page, other]) {
    await choose(one, SMALL);
    await fromIndex(one).waitFor();
    await checkTotals(one, made.small);
  }
});

indexTest('in a frame that may store nothing everything else works', async (page) => {
  const frameUrl = `${given.site.url}frame.html`;
  await page.route('**/*', async (route) => {
    if (route.request().url() === frameUrl) {
      const body = `<!doctype html><iframe sandbox="allow-scripts" src="${given.site.url}" width="1200" height="700"></iframe>`;
      return route.fulfill({ contentType: 'text/html', body });
    }
    // Such a frame has no origin, so the site has to be open to all.
    const response = await route.fetch();
    return route.fulfill({ response, headers: { ...response.headers(), 'access-control-allow-origin': '*' } });
  });
  await page.goto(frameUrl);
  const frame = page.frameLocator('iframe');
  await frame.getByTestId('file-input').setInputFiles(SMALL);
  await frame.locator('.verdict').getByText(`Everything was read: ${made.small.nEvents.toLocaleString('en-US')} events`).waitFor();
  // The index can not be kept, which nobody has to hear of; the SHA-256 comes after that.
  await frame.getByRole('button', { name: 'Show the account' }).click();
  await frame.getByTestId('digest').waitFor();
  assert.equal(await frame.getByLabel('Keep what was read').count(), 0);
});

// Without the site being kept: that counts as well, and the browser adds compiled code to it whenever it likes.
indexTest('where there is no room what is oldest goes, or nothing is kept, and everything else works', async (page) => {
  const session = await page.context().newCDPSession(page);
  const origin = new URL(given.site.url).origin;
  const usage = () => page.evaluate(async () => (await navigator.storage.estimate()).usage);
  const before = await usage();
  await openAndKeep(page, SMALL, made.small);
  await comeBack(page);
  await kept(page).first().waitFor();
  const size = (await usage()) - before;
  assert.ok(size > 1e5, `${size}`);
  // Room for one and a half.
  await session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: before + size * 1.5 });
  const other = `${OUTPUT}/index-other.json`;
  await writeFile(other, await readFile(SMALL));
  try {
    await openAndKeep(page, other, made.small);
    await comeBack(page);
    await kept(page).first().waitFor();
    assert.equal(await kept(page).count(), 1);
    assert.match(await kept(page).textContent(), /index-other\.json/);
    // Room for none at all.
    await page.getByRole('button', { name: 'Forget all' }).click();
    await page.getByTestId('forget-all').click();
    await kept(page).first().waitFor({ state: 'detached' });
    await session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: before + 1000 });
    await openAndKeep(page, SMALL, made.small);
    await comeBack(page);
    assert.equal(await kept(page).count(), 0);
    await openAndKeep(page, SMALL, made.small);
  } finally {
    await rm(other, { force: true });
  }
}, { serviceWorkers: 'block' });

indexTest('an index in a file opens by itself', async (page) => {
  await choose(page, SMALL);
  await checkTotals(page, made.small);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    panel(page)
      .getByRole('button', { name: 'Export' })
      .click()
      .then(() => page.getByRole('menuitem', { name: /^Tracedrop index/ }).click()),
  ]);
  assert.equal(download.suggestedFilename(), 'index-8-megabytes.tdx');
  const path = `${OUTPUT}/index-8-megabytes.tdx`;
  await download.saveAs(path);
  await page.getByRole('button', { name: 'Close this file' }).click();
  await choose(page, path);
  await fromIndex(page).waitFor();
  await checkTotals(page, made.small);
  await rm(path);
});

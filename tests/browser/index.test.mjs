// Cached indexes: a recent file opens without being parsed, with the same numbers.
import assert from 'node:assert/strict';
import { mkdir, open, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { after, before } from 'node:test';
import { checkTotals, makeTrace } from './made-trace.mjs';
import { OUTPUT, pageTests, showReport, siteAndBrowser, waitUntilReady } from './support.mjs';

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

/** Opens the file and waits until its index is cached and its SHA-256 is shown. */
async function openAndKeep(page, path, totals) {
  await choose(page, path);
  await checkTotals(page, totals);
  await digest(page);
}

async function digest(page) {
  const account = panel(page).getByRole('button', { name: 'Parsing details', exact: true });
  if (await account.isVisible()) await account.click();
  return panel(page).getByTestId('digest').locator('code').textContent();
}

/** Reloads the page. */
async function comeBack(page) {
  await page.reload();
  await waitUntilReady(page);
}

/** Text of all reports, and an export. */
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

indexTest('100 MB: reopened from the index, the numbers are the same', async (page) => {
  await openAndKeep(page, LARGE, made.large);
  assert.equal(await fromIndex(page).count(), 0);
  const sha = await digest(page);
  const before = await contents(page);
  await page.getByRole('button', { name: 'Close this file' }).press('Enter');
  await kept(page).filter({ hasText: 'index-100-megabytes.json' }).waitFor();
  await comeBack(page);
  await choose(page, LARGE);
  await fromIndex(page).waitFor();
  await checkTotals(page, made.large);
  const again = await contents(page);
  assert.equal(again.reports, before.reports);
  // Arguments come from the file.
  assert.ok(again.trace.equals(before.trace), 'the export differs');
  assert.equal(await digest(page), sha);
  // Other settings are answered from the tables.
  await showReport(panel(page), 'Longest slices');
  await panel(page).locator('.report:not([hidden])').getByLabel('Rows per list').selectOption('25');
  await panel(page).locator('.report:not([hidden])').getByText('25 rows').first().waitFor();
});

indexTest('a file opens from the list without the file itself, and can be removed', async (page) => {
  await openAndKeep(page, SMALL, made.small);
  await comeBack(page);
  await kept(page).getByRole('button', { name: /^index-8-megabytes/ }).click();
  await fromIndex(page).filter({ hasText: 'open the trace to get the rest' }).waitFor();
  await checkTotals(page, made.small);
  const { trace } = await contents(page);
  assert.match(trace.toString('utf8', trace.length - 2000), /"arguments":"left out/);
  await page.getByText('Not included: event arguments, which only the original trace contains.').waitFor();
  // Once the trace is opened, the same tab has its arguments.
  await page.getByRole('button', { name: 'Open the trace' }).waitFor();
  await choose(page, SMALL);
  await page.getByText('Opened index-8-megabytes.json; all arguments are available now.').waitFor();
  await fromIndex(page).filter({ hasText: 'without parsing the file again' }).waitFor();
  assert.equal(await page.locator('[role=tab]').count(), 1);
  assert.doesNotMatch((await contents(page)).trace.toString('utf8', 0, 1 << 24), /"arguments":"left out/);
  await page.getByRole('button', { name: 'Close this file' }).press('Enter');
  await kept(page).getByRole('button', { name: 'Remove index-8-megabytes.json from the cache' }).click();
  await kept(page).first().waitFor({ state: 'detached' });
  await comeBack(page);
  await choose(page, SMALL);
  await checkTotals(page, made.small);
  assert.equal(await fromIndex(page).count(), 0);
});

indexTest('a changed file is parsed again, whether its time or its bytes changed', async (page) => {
  const { atime, mtime } = await stat(SMALL);
  await openAndKeep(page, SMALL, made.small);
  await utimes(SMALL, atime, new Date(mtime.getTime() + 5000));
  await comeBack(page);
  await openAndKeep(page, SMALL, made.small);
  assert.equal(await fromIndex(page).count(), 0);
  // A changed byte outside the samples, same size and time: only the SHA-256 differs.
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
  await page.getByText('Parsing it again.').waitFor();
  await panel(page).locator('.file-head').waitFor();
  await fromIndex(page).waitFor({ state: 'detached' });
  bytes[at] = digit;
  await writeFile(SMALL, bytes);
});

indexTest('caching can be turned off', async (page) => {
  await openAndKeep(page, SMALL, made.small);
  await page.keyboard.press('s');
  await kept(page).first().waitFor();
  await page.getByLabel('Cache large files').uncheck();
  await kept(page).first().waitFor({ state: 'detached' });
  await comeBack(page);
  assert.equal(await page.getByLabel('Cache large files').isChecked(), false);
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

indexTest('a damaged index is ignored; other files in the cache are deleted', async (page) => {
  await openAndKeep(page, SMALL, made.small);
  await page.evaluate(async () => {
    const root = await navigator.storage.getDirectory();
    const folder = await root.getDirectoryHandle('tracedrop-indexes');
    for await (const file of folder.values()) {
      const bytes = new Uint8Array(await (await file.getFile()).arrayBuffer());
      for (let at = bytes.length - 300; at < bytes.length - 250; at += 1) bytes[at] ^= 1;
      // A worker may still have it open.
      let out;
      while (!out) out = await file.createWritable().catch(() => new Promise((resolve) => setTimeout(resolve, 100)));
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

indexTest('two pages cache and open the same file', async (page) => {
  const other = await page.context().newPage();
  await other.goto(given.site.url);
  await waitUntilReady(other);
  await Promise.all([openAndKeep(page, SMALL, made.small), openAndKeep(other, SMALL, made.small)]);
  // Whichever page wrote last, both list the file.
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

indexTest('in a frame without storage everything else works', async (page) => {
  const frameUrl = `${given.site.url}frame.html`;
  await page.route('**/*', async (route) => {
    if (route.request().url() === frameUrl) {
      const body = `<!doctype html><iframe sandbox="allow-scripts" src="${given.site.url}" width="1200" height="700"></iframe>`;
      return route.fulfill({ contentType: 'text/html', body });
    }
    // Such a frame has no origin, so the site has to allow all origins.
    const response = await route.fetch();
    return route.fulfill({ response, headers: { ...response.headers(), 'access-control-allow-origin': '*' } });
  });
  await page.goto(frameUrl);
  const frame = page.frameLocator('iframe');
  await frame.getByTestId('file-input').setInputFiles(SMALL);
  await frame.locator('.verdict').getByText(`Parsed all ${made.small.nEvents.toLocaleString('en-US')} events`).waitFor();
  // Failing to cache the index shows no error; the SHA-256 comes after that.
  await frame.getByRole('button', { name: 'Parsing details', exact: true }).click();
  await frame.getByTestId('digest').waitFor();
  assert.equal(await frame.getByLabel('Cache large files').count(), 0);
});

// Without the offline cache, which counts towards the quota and to which the browser adds compiled code at any time.
indexTest('when storage is full the oldest index is deleted, or nothing is cached, and everything else works', async (page) => {
  const session = await page.context().newCDPSession(page);
  const origin = new URL(given.site.url).origin;
  const usage = () => page.evaluate(async () => (await navigator.storage.estimate()).usage);
  const before = await usage();
  await openAndKeep(page, SMALL, made.small);
  await comeBack(page);
  await kept(page).first().waitFor();
  const size = (await usage()) - before;
  assert.ok(size > 1e5, `${size}`);
  // Storage for one and a half indexes.
  await session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: before + size * 1.5 });
  const other = `${OUTPUT}/index-other.json`;
  await writeFile(other, await readFile(SMALL));
  try {
    await openAndKeep(page, other, made.small);
    await comeBack(page);
    await kept(page).first().waitFor();
    assert.equal(await kept(page).count(), 1);
    assert.match(await kept(page).textContent(), /index-other\.json/);
    // Storage for none.
    await page.getByRole('button', { name: 'Clear all' }).click();
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
});

indexTest('an exported index opens on its own', async (page) => {
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
  await page.getByRole('button', { name: 'Close this file' }).press('Enter');
  await choose(page, path);
  await fromIndex(page).waitFor();
  await checkTotals(page, made.small);
  await rm(path);
});

// A large trace with known numbers, and a check of those numbers on the page.
import assert from 'node:assert/strict';
import { createWriteStream } from 'node:fs';
import { once } from 'node:events';

const N_NAMES = 11;

/**
 * Writes a trace of about `bytes` bytes: parents with two children each, some with texts and arguments that look like
 * events. Returns the number of events, and by name the count, total time and self time of the slices, in nanoseconds.
 */
export async function makeTrace(path, bytes) {
  const names = new Map();
  let nEvents = 0;
  const add = (name, total, self) => {
    const row = names.get(name) ?? { count: 0, total: 0, self: 0 };
    names.set(name, { count: row.count + 1, total: row.total + total, self: row.self + self });
    nEvents += 1;
  };
  function* blocks() {
    yield '{"schemaVersion": 1, "traceEvents": [\n';
    let written = 0;
    for (let i = 0; written < bytes; i += 1) {
      const name = `parent ${i % N_NAMES}`;
      const [ts, tid] = [1000 + i * 20, 1 + (i % 3)];
      const odd = i % 97 === 0 ? ', {\\"name\\":\\"no\\",\\"ph\\":\\"X\\",\\"ts\\":1}, {' : '';
      const args = `{"External id": ${i}, "list": [{"name": "x", "ph": "X", "ts": 1, "dur": 5}, {"a": "}],[{"}], "text": "${odd}"}`;
      const event = (name, ts, dur, args) =>
        `  {\n    "ph": "X", "cat": "cpu_op", "name": "${name}", "pid": 7, "tid": ${tid},\n    "ts": ${ts}.250, "dur": ${dur}.125,\n    "args": ${args}\n  }`;
      const text = `${i > 0 ? ',\n' : ''}${event(name, ts, 15, args)},\n${event('child', ts + 1, 4, '{}')},\n${event('child', ts + 6, 2, '{"b": [1, 2]}')}`;
      add(name, 15_125, 15_125 - 4_125 - 2_125);
      add('child', 4_125, 4_125);
      add('child', 2_125, 2_125);
      written += text.length;
      yield text;
    }
    yield '\n], "distributedInfo": {"rank": 3}, "traceName": "made up"}\n';
  }
  const out = createWriteStream(path);
  for (const block of blocks()) if (!out.write(block)) await once(out, 'drain');
  out.end();
  await once(out, 'finish');
  return { names, nEvents };
}

const panel = (page) => page.locator('[role=tabpanel]:not([hidden])');

/** Checks that the numbers of the visible file are exact. */
export async function checkTotals(page, { names, nEvents }) {
  await panel(page).locator('.file-head').waitFor({ timeout: 120_000 });
  const verdict = await panel(page).locator('.verdict p').textContent();
  assert.match(verdict, new RegExp(`^Parsed all ${nEvents.toLocaleString('en-US')} events`));
  await page.getByRole('navigation', { name: 'Reports' }).getByRole('button', { name: 'Slices by name', exact: true }).click();
  const table = panel(page).locator('.report:not([hidden]) section.table').first();
  // Cells are rounded; the clipboard has all digits.
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await table.getByRole('button', { name: 'Copy' }).click();
  await page.getByRole('menuitem', { name: 'CSV' }).click();
  await page.locator('.toast').first().waitFor();
  const [header, ...lines] = (await page.evaluate(() => navigator.clipboard.readText())).trim().split(/\r?\n/);
  const at = (label) => header.split(',').findIndex((text) => text.startsWith(label));
  const rows = lines.map((line) => line.split(','));
  assert.equal(rows.length, names.size);
  for (const [name, { count, total, self }] of names) {
    const row = rows.find((row) => row[at('name')] === name);
    const found = ['count', 'total', 'self'].map((label) => Number(row[at(label)]));
    assert.deepEqual(found, [count, total, self], name);
  }
}

// The worker in the browser and the native command write the same bytes, for every test file.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { inputWith, readInWorker } from './protocol.mjs';
import { COMMAND, openPage, siteAndBrowser } from './support.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const EXPORTERS = ['markdown', 'json', 'csv', 'html', 'chrome-trace'];

function inputs(folder) {
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile() && /\.(json|jsonl|gz|zst)$/.test(path) && !/collapsed|gecko/.test(path));
}

function native(path, exporter) {
  const args =
    exporter === 'chrome-trace' ? ['export', path, '--to', exporter] : ['report', path, '--format', exporter];
  const { status, stdout, stderr } = spawnSync(COMMAND, args, { encoding: 'utf8', maxBuffer: 1 << 30 });
  assert.ok(status === 0 || status === 1, `${path}: ${stderr}`);
  return { status, stdout, stderr };
}

const given = siteAndBrowser();
const corpus = join(root, '../shared/corpus');
const folders = [join(root, 'tests/data'), ...(existsSync(corpus) ? [corpus] : [])];

for (const folder of folders) {
  for (const system of ['chrome', 'sway', 'pysampling']) {
    test(`${basename(folder)}/${system}: browser and command agree`, { timeout: 600_000 }, async () => {
      const paths = inputs(join(folder, system));
      assert.ok(paths.length > 0);
      const page = await openPage(given.browser, given.site.url);
      const input = await inputWith(page, paths);
      for (const [index, path] of paths.entries()) {
        const inBrowser = await input.evaluate(readInWorker, { index, exporters: EXPORTERS });
        if (inBrowser.failed !== undefined) {
          const { status, stderr } = native(path, 'markdown');
          assert.equal(status, 1, `${basename(path)}: the browser could not read it, the command could`);
          assert.ok(stderr.length > 0);
          continue;
        }
        for (const exporter of EXPORTERS) {
          const { status, stdout } = native(path, exporter);
          // The command exits with 1 if no record is usable; the page shows the parsing details.
          if (status === 1) continue;
          // The command adds a final newline where the format has none.
          const same = stdout === inBrowser.exported[exporter] || stdout === `${inBrowser.exported[exporter]}\n`;
          assert.ok(same, `${basename(path)}: ${exporter} differs between browser and command`);
        }
      }
      await page.context().close();
    });
  }
}

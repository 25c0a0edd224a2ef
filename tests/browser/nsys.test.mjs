// Nsight Systems exports that are folders of Parquet files.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pageTests, showReport, siteAndBrowser } from './support.mjs';

const data = (path) => fileURLToPath(new URL(`../data/${path}`, import.meta.url));
const pageTest = pageTests(siteAndBrowser());
const panel = (page) => page.locator('[role=tabpanel]:not([hidden])');

/** The text of the report that shows, once it is whole. */
async function kernels(page) {
  await panel(page).locator('.file-head').waitFor();
  await showReport(page, 'Kernels');
  const report = panel(page).locator('.report:not([hidden])');
  await report.locator('table').first().waitFor();
  return report.innerText();
}

pageTest('a folder from nsys export -t parquetdir opens in one tab, with the numbers of the SQLite export', async (page) => {
  const folder = mkdtempSync(join(tmpdir(), 'tracedrop-'));
  try {
    const export_ = join(folder, 'made_domains.parquetdir');
    mkdirSync(export_);
    execFileSync('tar', ['-xzf', data('nsys_parquet/made_domains.tar.gz'), '-C', export_]);
    await page.getByTestId('folder-input').setInputFiles(export_);
    await kernels(page);
    await page.waitForTimeout(1000);
    const ofFolder = await kernels(page);
    assert.equal(await page.locator('.tab-name').count(), 1);
    await page.getByTestId('file-input').setInputFiles(data('nsys/made_domains.sqlite'));
    await page.getByRole('tab', { name: 'made_domains.sqlite' }).waitFor();
    // Columns that do not fit are folded after layout.
    let ofFile;
    for (let n = 0; n < 50 && ofFile !== ofFolder; n += 1) {
      ofFile = await kernels(page);
      await page.waitForTimeout(100);
    }
    assert.equal(ofFile, ofFolder);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

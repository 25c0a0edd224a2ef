// The privacy screen really tries, shows what the browser did, and nothing arrives.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { NARROW, WIDE, accessibilityProblems, openPageWithServiceWorker as openPage, siteAndBrowser, startElsewhere } from './support.mjs';

const given = siteAndBrowser();
let elsewhere;
before(async () => (elsewhere = await startElsewhere()));
after(() => elsewhere?.close());

const open = (page) => page.getByRole('button', { name: 'What leaves this page' }).click();
const address = (page) => page.getByLabel('Another address to try');
const status = (page) => page.locator('.privacy-state');
/** First line of the cells in a column. */
const words = (page, column) => page.locator(`.privacy-ways tbody td:nth-child(${column}) .privacy-word`).allTextContents();

async function tryAll(page) {
  await address(page).fill(`http://127.0.0.1:${elsewhere.port}/way-out`);
  await page.getByRole('button', { name: 'Try every way out' }).click();
  await status(page).filter({ hasText: 'attempts' }).waitFor({ timeout: 120_000 });
}

test('every way out is tried and blocked, and no server is contacted', { timeout: 300_000 }, async () => {
  const { browser, site } = given;
  const page = await openPage(browser, site.url);
  await open(page);
  const before = site.requests.length;
  const away = elsewhere.contacts.length;
  await tryAll(page);
  assert.equal(await status(page).textContent(), 'All 34 attempts were blocked.');
  const rows = await page.locator('.privacy-ways tbody tr').evaluateAll((rows) =>
    rows.map((row) => [row.querySelector('.privacy-way').textContent, ...[...row.querySelectorAll('td')].map((cell) => cell.innerText.replace(/\s+/g, ' '))]),
  );
  for (const column of [2, 3]) {
    for (const word of await words(page, column)) assert.match(word, /^(Blocked|Not available)$/, JSON.stringify(rows));
  }
  // The policy blocks it, rather than a missing server: the browser names the directive.
  const by = Object.fromEntries(rows.map(([way, own, other]) => [way, [own, other]]));
  for (const [way, directive] of Object.entries({
    fetch: 'connect-src',
    XMLHttpRequest: 'connect-src',
    WebSocket: 'connect-src',
    EventSource: 'connect-src',
    Beacon: 'connect-src',
    Image: 'img-src',
    Frame: 'frame-src',
    Form: 'form-action',
    Script: 'script-src-elem',
    'Style sheet': 'style-src-elem',
    Font: 'font-src',
    'fetch in a worker': 'connect-src',
    WebAssembly: 'connect-src',
  })) {
    for (const said of by[way]) assert.equal(said, `Blocked by ${directive}`, way);
  }
  assert.match(by.Worker[0], /worker-src/);
  assert.deepEqual(site.requests.slice(before), []);
  assert.deepEqual(elsewhere.contacts.slice(away).filter((contact) => contact !== 'tcp connection'), []);
  // Nothing is left in the page, which works as before.
  assert.equal(await page.locator('iframe, form[target]').count(), 0);
  await page.getByRole('button', { name: 'Tracedrop', exact: true }).click();
  await page.locator('.samples .sample').first().click();
  await page.locator('.file-head').waitFor();
  await page.context().close();
});

test('without the lock the same screen shows what got through', { timeout: 300_000 }, async () => {
  const { browser, site } = given;
  const page = await openPage(browser, 'about:blank', { ready: false });
  // A boot.js that forgets the second policy, and an index.html without the first.
  await page.route('**/boot-*.js', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replace(/\n {2}lock\(\);\n/, '\n') });
  });
  await page.route(site.url, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replace(/<meta http-equiv="Content-Security-Policy"[^>]*>/, '') });
  });
  await page.goto(site.url);
  await page.waitForFunction(() => globalThis.tracedrop?.locked && !document.getElementById('boot'));
  await open(page);
  const away = elsewhere.contacts.length;
  await tryAll(page);
  assert.match(await status(page).textContent(), /of 34 attempts were not blocked\. Do not open/);
  assert.ok((await words(page, 2)).includes('Got through'));
  assert.ok((await words(page, 3)).some((word) => word === 'Got through' || word === 'Not blocked'));
  assert.ok(elsewhere.contacts.slice(away).some((contact) => contact.startsWith('tcp data')));
  await page.context().close();
});

test('the privacy screen works by keyboard', async () => {
  const { browser, site } = given;
  const page = await openPage(browser, site.url);
  await page.getByRole('button', { name: 'Verify it' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: /What leaves this page/ }).waitFor();
  // The focus moves to its beginning after it is rendered.
  await page.waitForFunction(() => document.activeElement?.id === 'main');
  await page.keyboard.press('Tab');
  assert.equal(await address(page).evaluate((input) => input === document.activeElement), true);
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.type('no address');
  await page.keyboard.press('Enter');
  await page.getByText('This is not a web address.').waitFor();
  assert.equal(await address(page).getAttribute('aria-invalid'), 'true');
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.type(`http://127.0.0.1:${elsewhere.port}/`);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await status(page).filter({ hasText: /^Trying: \d+ of 34/ }).waitFor();
  // Leaving the screen stops the attempts.
  await page.keyboard.press('s');
  await page.getByRole('heading', { name: "Drop a trace. See what's slow." }).waitFor();
  assert.equal(await page.locator('.privacy').count(), 0);
  assert.deepEqual(page.console.filter((line) => line.includes('uncaught')), []);
  await page.context().close();
});

for (const colorScheme of ['light', 'dark']) {
  for (const viewport of [WIDE, NARROW]) {
    test(`axe finds nothing on the privacy screen, ${colorScheme}, ${viewport.width} px`, { timeout: 300_000 }, async () => {
      const { browser, site } = given;
      const page = await openPage(browser, site.url, { colorScheme, viewport });
      await open(page);
      await tryAll(page);
      assert.equal((await accessibilityProblems(page)).join('\n'), '');
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, 'nothing is cut off');
      await page.context().close();
    });
  }
}

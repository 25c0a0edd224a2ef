// Once the page has started, nothing leaves it: tries every way to send something, from the page and from a worker, to the
// site's own server and to another one. The browser has to block it, and neither server may be contacted.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openPageWithServiceWorker as openPage, siteAndBrowser, startElsewhere } from './support.mjs';

const given = siteAndBrowser();
let elsewhere;
before(async () => (elsewhere = await startElsewhere()));
after(() => elsewhere?.close());

// Each returns, or resolves to, whether something got through as far as the page knows.
// They run in the page or the worker, so each is self-contained.
const ATTEMPTS = {
  fetch: async (url) => fetch(url, { mode: 'no-cors' }).then(() => true),
  'fetch with a body': async (url) => fetch(url, { method: 'POST', mode: 'no-cors', body: 'trace', keepalive: true }).then(() => true),
  XMLHttpRequest: (url) =>
    new Promise((resolve) => {
      const request = new XMLHttpRequest();
      request.onload = () => resolve(true);
      request.onerror = () => resolve(false);
      request.open('POST', url);
      request.send('trace');
    }),
  WebSocket: (url) =>
    new Promise((resolve) => {
      const socket = new WebSocket(url.replace('http', 'ws'));
      socket.onopen = () => resolve(true);
      socket.onerror = () => resolve(false);
    }),
  EventSource: (url) =>
    new Promise((resolve) => {
      const source = new EventSource(url);
      source.onopen = () => resolve(true);
      source.onerror = () => (source.close(), resolve(false));
    }),
  WebTransport: async (url) => new WebTransport(url.replace('http:', 'https:')).ready.then(() => true),
  'dynamic import': async (url) => import(url).then(() => true),
  'nested worker': (url) =>
    new Promise((resolve) => {
      const worker = new Worker(url);
      worker.onmessage = () => resolve(true);
      worker.onerror = () => resolve(false);
    }),
  // In a separate task, because eval works inside a function that the debugger calls.
  eval: () =>
    new Promise((resolve, reject) => {
      setTimeout(() => {
        try {
          resolve(globalThis.eval('true'));
        } catch (error) {
          reject(error);
        }
      });
    }),
};

const PAGE_ATTEMPTS = {
  ...ATTEMPTS,
  sendBeacon: (url) => void navigator.sendBeacon(url, 'trace'),
  Image: (url) =>
    new Promise((resolve) => {
      const image = new Image();
      image.onload = () => resolve(true);
      image.onerror = () => resolve(false);
      image.src = url;
    }),
  'background image': (url) => void (document.body.style.backgroundImage = `url(${url})`),
  'script element': (url) =>
    new Promise((resolve) => {
      const script = document.createElement('script');
      script.onload = () => resolve(true);
      script.onerror = () => resolve(false);
      script.src = url;
      document.head.append(script);
    }),
  'inline script': () => {
    const script = document.createElement('script');
    script.textContent = 'globalThis.__inline = true';
    document.head.append(script);
    return globalThis.__inline === true;
  },
  'style sheet': (url) =>
    new Promise((resolve) => {
      const link = Object.assign(document.createElement('link'), { rel: 'stylesheet', href: url });
      link.onload = () => resolve(true);
      link.onerror = () => resolve(false);
      document.head.append(link);
    }),
  font: async (url) => new FontFace('late', `url(${url})`).load().then(() => true),
  'link rel': (url) => {
    for (const rel of ['prefetch', 'preload', 'modulepreload', 'prerender', 'manifest', 'icon']) {
      const link = Object.assign(document.createElement('link'), { rel, href: url });
      if (rel === 'preload') link.as = 'fetch';
      document.head.append(link);
    }
  },
  'speculation rules': (url) => {
    const script = Object.assign(document.createElement('script'), { type: 'speculationrules' });
    script.textContent = JSON.stringify({ prefetch: [{ source: 'list', urls: [url], eagerness: 'immediate' }] });
    document.head.append(script);
  },
  iframe: (url) => {
    document.body.append(Object.assign(document.createElement('iframe'), { src: url }));
  },
  'iframe with a document of its own': (url) => {
    document.body.append(Object.assign(document.createElement('iframe'), { srcdoc: `<img src="${url}">` }));
  },
  'object and embed': (url) => {
    document.body.append(Object.assign(document.createElement('object'), { data: url }));
    document.body.append(Object.assign(document.createElement('embed'), { src: url }));
  },
  'video and audio': (url) => {
    document.body.append(Object.assign(document.createElement('video'), { src: url, preload: 'auto' }));
    document.body.append(Object.assign(document.createElement('audio'), { src: url, preload: 'auto' }));
  },
  'form, into the page and into a frame': (url) => {
    const frame = Object.assign(document.createElement('iframe'), { name: 'target' });
    document.body.append(frame);
    for (const target of ['_self', 'target']) {
      const form = Object.assign(document.createElement('form'), { action: url, method: 'post', target });
      document.body.append(form);
      form.submit();
    }
  },
  'service worker': async (url) => navigator.serviceWorker.register(url).then(() => true),
  'shared worker': (url) =>
    new Promise((resolve) => {
      const worker = new SharedWorker(url);
      worker.onerror = () => resolve(false);
      worker.port.onmessage = () => resolve(true);
    }),
  WebRTC: async (url) => {
    const connection = new RTCPeerConnection({ iceServers: [{ urls: `stun:127.0.0.1:${new URL(url).port}` }] });
    connection.createDataChannel('trace');
    await connection.setLocalDescription(await connection.createOffer());
    return true;
  },
  'navigating away': (url) => void (location.href = url),
  'navigating away by meta refresh': (url) => {
    document.head.append(Object.assign(document.createElement('meta'), { httpEquiv: 'refresh', content: `0;url=${url}` }));
  },
  'a click by the page, a ping, a download': (url) => {
    for (const extra of [{}, { ping: url, href: '#here' }, { download: 'trace' }]) {
      const link = Object.assign(document.createElement('a'), { href: url, ...extra });
      document.body.append(link);
      link.click();
    }
  },
  'a new window': (url) => Boolean(open(url)),
  'base element': (url) => {
    document.head.append(Object.assign(document.createElement('base'), { href: url }));
    return document.baseURI.startsWith(url);
  },
  'removing the policies': async (url) => {
    for (const meta of document.querySelectorAll('meta[http-equiv]')) meta.remove();
    return fetch(url, { mode: 'no-cors' }).then(() => true);
  },
};

const WORKER_ATTEMPTS = {
  ...ATTEMPTS,
  importScripts: (url) => {
    importScripts(url);
    return true;
  },
  'importScripts of a blob': () => {
    importScripts(URL.createObjectURL(new Blob(['globalThis.__imported = true'])));
    return globalThis.__imported === true;
  },
  'fetch from a worker of a worker': (url) =>
    new Promise((resolve) => {
      const text = `fetch(${JSON.stringify(url)}, { mode: 'no-cors' }).then(() => postMessage(true), () => postMessage(false))`;
      const worker = new Worker(URL.createObjectURL(new Blob([text])));
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = () => resolve(false);
    }),
};

/** Runs all attempts with `evaluate` and returns those that got through. */
async function whatGetsThrough(evaluate, attempts, urls) {
  // The debugger may evaluate text although the page's policy forbids it.
  await evaluate(
    `void (globalThis.__attempts = {${Object.entries(attempts)
      .map(([name, attempt]) => `${JSON.stringify(name)}: ${attempt}`)
      .join(',\n')}})`,
  );
  const through = [];
  for (const name of Object.keys(attempts)) {
    for (const url of urls) {
      const result = await evaluate(
        async ([name, url]) => {
          // A promise that never settles counts as blocked; the servers decide anyway.
          const late = new Promise((resolve) => setTimeout(resolve, 1000, false));
          try {
            return await Promise.race([globalThis.__attempts[name](url), late]);
          } catch {
            return false;
          }
        },
        [name, url],
      );
      if (result) through.push(`${name} ${url}`);
    }
  }
  return through;
}

for (const where of ['page', 'worker']) {
  test(`nothing gets out of the ${where}`, { timeout: 300_000 }, async () => {
    const { browser, site } = given;
    const page = await openPage(browser, site.url);
    let target = page;
    if (where === 'worker') {
      [target] = await Promise.all([
        page.waitForEvent('worker'),
        page.evaluate(() => void (globalThis.__worker = globalThis.tracedrop.startWorker())),
      ]);
    }
    const evaluate = (...args) => target.evaluate(...args);
    const attempts = where === 'page' ? PAGE_ATTEMPTS : WORKER_ATTEMPTS;
    const before = site.requests.length;
    const away = elsewhere.contacts.length;
    const through = await whatGetsThrough(evaluate, attempts, [`${site.url}index.html`, `http://127.0.0.1:${elsewhere.port}/x`]);
    await page.waitForTimeout(500);
    assert.deepEqual(through, []);
    assert.deepEqual(site.requests.slice(before), []);
    // Chromium opens a connection to where a frame points before it asks the policy; nothing is sent over it.
    assert.deepEqual(elsewhere.contacts.slice(away).filter((contact) => contact !== 'tcp connection'), []);
    if (where === 'page') assert.ok(page.violations.length > 10, 'the browser reported violations');
    assert.equal(page.url().split('#')[0], site.url);
    await page.context().close();
  });
}

test('without the lock the same attempts get through, so the test above is meaningful', async () => {
  const { browser, site } = given;
  const page = await openPage(browser, 'about:blank', { ready: false });
  await page.route(site.url, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: '<!doctype html><title>open</title>' });
  });
  await page.goto(site.url);
  const evaluate = (...args) => page.evaluate(...args);
  const away = elsewhere.contacts.length;
  const through = await whatGetsThrough(evaluate, { fetch: ATTEMPTS.fetch }, [`${site.url}index.html`]);
  assert.equal(through.length, 1);
  await whatGetsThrough(evaluate, { Image: PAGE_ATTEMPTS.Image }, [`http://127.0.0.1:${elsewhere.port}/x`]);
  assert.ok(elsewhere.contacts.length > away);
  await page.context().close();
});

// Starts the page: fetches all files, locks the page, runs the app. The only handwritten JavaScript of the page, apart from
// www/service-worker.js.
//
// A trace must not leave the computer, and a promise isn't enough: the browser itself has to block it.
// index.html starts with a policy that allows requests to the page's own server only. This script fetches everything the
// page will ever need and keeps it in memory, then adds a second policy that allows no request at all. Policies can only
// be added, so nothing that runs later can undo it, and workers started afterwards inherit both.
// Rust cannot do this: the lock has to be in place before the app's wasm runs.
//
// In tracedrop.html the files are part of the page itself, and the first policy already allows no request.
//
// Interface to the app (src/app/browser/ uses it):
//
//   globalThis.tracedrop = {
//     version,        // of the package, as in Cargo.toml
//     build,          // SHA-256 of the build, hexadecimal
//     startWorker(),  // a new Worker that is already compiling; messages posted right away are queued.
//                     // Whatever stops it arrives as its `error` event: a failed start, an unhandled rejection, and an end
//                     // that the browser does not report, for example when memory runs out.
//     samples,        // [{ id, title, answer, description, parts, format, name, blob, also, others }], as listed in www/samples/index.json
//     given,          // [File]: shared with the installed page, or named by `src` in the address of a frame
//     lost,           // why some of that is missing: '', or the browser's message
//     keptOffline,    // the browser has cached the whole site, or is about to
//     whenNewer(tell),// calls `tell` once a newer build is ready to take over
//     takeNewer(),    // activates it and reloads the page
//     locked: true,   // the second policy is in place
//     openPerfetto(), // after a click: a window of https://ui.perfetto.dev, or null; no other can be opened
//   }

const boot = document.getElementById('boot');
const files = document.querySelector('meta[name="tracedrop-files"]').dataset;

/** The digits 0 to 84 of tools/finish-site.mjs, without characters that are special in HTML. */
const DIGITS = '!#$%()*+,.0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_abcdefghijklmnopqrstuvwxyz{|}~';

/** Bytes of base 85: five digits are four bytes, in order of weight; at the end, one digit more than bytes. */
function fromBase85(text) {
  const values = new Uint8Array(128);
  for (let value = 0; value < DIGITS.length; value++) values[DIGITS.charCodeAt(value)] = value;
  const bytes = new DataView(new ArrayBuffer(Math.ceil(text.length / 5) * 4));
  for (let from = 0, to = 0; from < text.length; from += 5, to += 4) {
    let value = 0;
    for (let at = from; at < from + 5; at++) value = value * 85 + (at < text.length ? values[text.charCodeAt(at)] : 84);
    bytes.setUint32(to, value);
  }
  return new Uint8Array(bytes.buffer, 0, Math.floor((text.length * 4) / 5));
}

/** A file embedded in the page, in tracedrop.html. */
function fromPage(address) {
  const block = document.querySelector(`script[data-file="${CSS.escape(address)}"]`);
  if (!block) return null;
  const packed = fromBase85(block.textContent);
  block.remove();
  const body = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(body, { headers: { 'content-type': block.dataset.type } });
}

async function get(address) {
  const inPage = fromPage(address);
  if (inPage) return inPage;
  let response;
  try {
    response = await fetch(address);
  } catch {
    throw new Error(`${address} could not be loaded: is the server still running?`);
  }
  if (!response.ok) throw new Error(`${address} could not be loaded: the server returned ${response.status}`);
  return response;
}

async function compile(address) {
  const response = await get(address);
  // Streaming is faster, but fails on servers that send the wrong content type.
  return response.headers.get('content-type')?.startsWith('application/wasm')
    ? WebAssembly.compileStreaming(response)
    : WebAssembly.compile(await response.arrayBuffer());
}

/** The app's script as a module. */
async function load(address) {
  const inPage = fromPage(address);
  return import(inPage ? URL.createObjectURL(await inPage.blob()) : new URL(address, document.baseURI));
}

async function fetchSamples(folder) {
  const list = await (await get(`${folder}index.json`)).json();
  return Promise.all(
    list.map(async ({ name, also = [], ...sample }) => {
      const [blob, ...others] = await Promise.all([name, ...also].map(async (file) => (await get(folder + file)).blob()));
      return Object.freeze({ ...sample, name, blob, also, others });
    }),
  );
}

/**
 * Caches the site in the browser, so that it starts offline. Resolves to the registration once everything is cached,
 * `null` where that is impossible: in a sandboxed frame, in some private windows, on a server without https.
 */
async function keepSite() {
  try {
    const registration = await navigator.serviceWorker.register('./service-worker.js', { updateViaCache: 'none' });
    const { installing } = registration;
    if (installing && !registration.active) {
      await new Promise((settled) => {
        const look = () => installing.state !== 'installing' && settled();
        installing.addEventListener('statechange', look);
        look();
      });
    }
    registration.active?.postMessage(`started ${files.build}`);
    return registration.active || registration.waiting ? registration : null;
  } catch {
    return null;
  }
}

/** Limit of waiting for the cache; caching goes on without the page. */
const KEEPING_MS = 5000;
const later = (ms) => new Promise((resolve) => setTimeout(() => resolve(null), ms));

/** Puts the manifest into memory, because the browser requests it after the page is locked. */
async function describeApp() {
  const link = document.querySelector('link[rel="manifest"]');
  if (!link || !location.protocol.startsWith('http')) return;
  try {
    const manifest = await (await get(link.getAttribute('href'))).json();
    // A blob URL has no base: make the addresses absolute.
    const here = (path) => new URL(path, document.baseURI).href;
    for (const key of ['start_url', 'scope']) manifest[key] = here(manifest[key]);
    for (const part of [...manifest.file_handlers, manifest.share_target]) part.action = here(part.action);
    link.href = URL.createObjectURL(new Blob([JSON.stringify(manifest)], { type: 'application/manifest+json' }));
  } catch (error) {
    // The page works without being installed.
    console.info(error);
  }
}

/** Files shared with the installed page, which www/service-worker.js keeps until they are taken here. */
async function takeShared(id) {
  const folder = new URL('./', document.baseURI).pathname;
  const shelf = `tracedrop-shared ${folder}`;
  if (!(await Promise.race([caches.has(shelf), later(KEEPING_MS)]))) return [];
  const cache = await caches.open(shelf);
  const taken = [];
  for (const request of await cache.keys()) {
    const [from, at] = new URL(request.url).pathname.slice(`${folder}shared/`.length).split('/');
    // Files that nobody took within an hour are deleted.
    if (from !== id && Date.now() - parseInt(from, 10) < 3_600_000) continue;
    const response = await cache.match(request);
    await cache.delete(request);
    if (from !== id) continue;
    const name = decodeURIComponent(response.headers.get('x-name'));
    const lastModified = Number(response.headers.get('x-modified'));
    taken[at] = new File([await response.blob()], name, { lastModified });
  }
  return taken;
}

function isOurs(other) {
  try {
    return other.location.origin === location.origin && self.origin !== 'null';
  } catch {
    return false;
  }
}

/** Files named by the page's address: shared files, or for a frame a trace on the page's own server. */
async function takeGiven() {
  const asked = new URLSearchParams(location.search);
  const shared = asked.get('shared');
  const source = asked.get('mode') === 'embed' && asked.get('src');
  try {
    if (shared) {
      history.replaceState(null, '', location.pathname + location.hash);
      if (shared === 'failed') throw new Error('the browser could not store it');
      const given = await takeShared(shared);
      if (given.length === 0) throw new Error('no file came with it');
      return { given, lost: '' };
    }
    if (source) {
      // Otherwise any site could learn about files on this server from the messages of such a frame.
      if (!isOurs(parent)) throw new Error('on other sites, pass the trace in a message instead of src');
      const address = new URL(source, document.baseURI);
      const name = decodeURIComponent(address.pathname.split('/').pop()) || 'trace';
      return { given: [new File([await (await get(address.href)).blob()], name)], lost: '' };
    }
    return { given: [], lost: '' };
  } catch (error) {
    return { given: [], lost: error.message };
  }
}

/** Two functions for the app: `whenNewer` and `takeNewer`. */
function newerBuilds(registration) {
  // The lock removes access to the service worker from the page.
  const workers = registration && navigator.serviceWorker;
  return {
    whenNewer(tell) {
      if (!registration) return;
      const look = () => registration.waiting && registration.active && tell();
      registration.addEventListener('updatefound', () => registration.installing?.addEventListener('statechange', look));
      look();
      // Another window activated it: this one still runs the old build.
      const before = workers.controller;
      workers.addEventListener('controllerchange', () => before && tell());
    },
    takeNewer() {
      const again = () => location.reload();
      if (!registration?.waiting) return again();
      workers.addEventListener('controllerchange', again, { once: true });
      // Without a controlling service worker there is no `controllerchange`.
      setTimeout(again, 1500);
      registration.waiting.postMessage('activate');
    },
  };
}

// The only address that the page opens in a window; nothing is added to it. The page shows beforehand what it passes on.
const PERFETTO = 'https://ui.perfetto.dev/';
const openWindow = globalThis.open.bind(globalThis);

function lock() {
  const policy = document.createElement('meta');
  policy.httpEquiv = 'Content-Security-Policy';
  policy.content =
    "default-src 'none'; script-src 'wasm-unsafe-eval'; img-src data: blob:; manifest-src blob:; worker-src blob:; base-uri 'none'; form-action 'none'";
  document.head.append(policy);

  // Not covered by policies, or not yet by all browsers: WebRTC, new windows, a page that navigates away with data in the
  // address, and the service worker, which may fetch. Links that a person clicks still work. (This part guards against
  // mistakes: the policy binds all code, these lines only code that doesn't try to get around them.)
  Object.defineProperty(Navigator.prototype, 'serviceWorker', { value: undefined });
  delete globalThis.RTCPeerConnection;
  delete globalThis.webkitRTCPeerConnection;
  globalThis.open = () => null;
  globalThis.navigation?.addEventListener('navigate', (event) => {
    const { userInitiated, navigationType, destination } = event;
    const stays = destination.sameDocument || navigationType === 'reload' || destination.url.startsWith('blob:');
    if (!userInitiated && !stays) event.preventDefault();
  });
}

// Runs in the worker, after the script from wasm-bindgen. The first message contains the compiled module; later ones
// wait until the worker's main() has set its handlers.
function workerStart() {
  const waiting = [];
  const hold = (event) => waiting.push(event);
  const start = async ({ data }) => {
    addEventListener('message', hold);
    // Keep the lock for as long as this worker lives.
    const live = () => (postMessage(data.life), new Promise(() => {}));
    navigator.locks?.request(data.life, live).catch(() => {});
    await wasm_bindgen({ module_or_path: data.module });
    removeEventListener('message', hold);
    for (const event of waiting) dispatchEvent(event);
  };
  addEventListener('message', start, { once: true });
  // The page does not see a worker's unhandled rejections, but it does see its errors.
  addEventListener('unhandledrejection', (event) => {
    event.preventDefault();
    setTimeout(() => {
      throw event.reason;
    });
  });
}

/**
 * Starts the worker. A browser may end it without an event, but then releases its locks, so whoever gets the lock knows
 * that the worker is gone. Pages without locks (no https, no origin of their own) do not notice.
 */
function watch(worker, module) {
  const life = `tracedrop-worker-${Date.now()}-${Math.random()}`;
  worker.addEventListener('message', function hear(event) {
    if (event.data !== life) return;
    event.stopImmediatePropagation();
    worker.removeEventListener('message', hear);
    const tell = () => worker.dispatchEvent(new ErrorEvent('error', { message: '' }));
    navigator.locks?.request(life, tell).catch(() => {});
  });
  worker.postMessage({ module, life });
}

async function main() {
  if (!globalThis.WebAssembly) throw new Error('WebAssembly is not available in this browser, or it is disabled');
  // Behind # as well: some servers redirect and drop the query string.
  const inFrame = [location.search, location.hash.slice(1)].some((part) => new URLSearchParams(part).get('mode') === 'embed');
  const [app, appModule, workerScript, workerModule, samples, { given, lost }, registration] = await Promise.all([
    load(files.appJs),
    compile(files.appWasm),
    get(files.workerJs).then((response) => response.text()),
    compile(files.workerWasm),
    inFrame ? [] : fetchSamples(files.samples),
    takeGiven(),
    inFrame ? null : Promise.race([keepSite(), later(KEEPING_MS)]),
    inFrame ? null : describeApp(),
  ]);
  const { whenNewer, takeNewer } = newerBuilds(registration);

  lock();

  const workerUrl = URL.createObjectURL(
    new Blob([workerScript, `\n(${workerStart})();\n`], { type: 'text/javascript' }),
  );
  globalThis.tracedrop = Object.freeze({
    version: files.version,
    build: files.build,
    samples: Object.freeze(samples),
    given: Object.freeze(given),
    lost,
    keptOffline: registration !== null,
    whenNewer,
    takeNewer,
    locked: true,
    openPerfetto: () => (navigator.userActivation?.isActive === false ? null : openWindow(PERFETTO, '_blank')),
    startWorker() {
      const worker = new Worker(workerUrl);
      watch(worker, workerModule);
      return worker;
    },
  });

  await app.default({ module_or_path: appModule });
  boot.remove();
}

main().catch((error) => {
  boot.classList.add('boot-failed');
  boot.querySelector('.boot-problem').textContent =
    `Tracedrop could not start: ${error.message}. Try reloading the page; it needs a browser from 2023 or newer.`;
  console.error(error);
});

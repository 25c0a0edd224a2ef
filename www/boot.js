// Starts the page: fetches all of it, locks the door, runs the app. The only JavaScript of the page written by hand
// (www/service-worker.js runs beside it).
//
// Why it exists. A trace must not leave the computer, and a promise is not enough: the browser itself shall refuse.
// index.html starts with a policy that allows requests to the page's own server only. Here everything the page will
// ever need is fetched and held in memory; then a second policy is added that allows no request at all. Policies
// only ever add up, so nothing that runs later can take it back, and workers started afterwards inherit both.
// Rust cannot do this: the lock has to be in place before the app's wasm runs.
//
// In tracedrop.html the files stand in the page itself, and the first policy already allows no request.
//
// What the app is given (src/app/browser/ is the other side):
//
//   globalThis.tracedrop = {
//     version,        // of the package, as in Cargo.toml
//     build,          // which build this is: SHA-256 as hexadecimal digits
//     startWorker(),  // a new Worker that is already compiling; post to it at once, nothing gets lost.
//                     // Whatever stops it arrives as its `error` event, also a failed start, a lost promise, and an end
//                     // that the browser tells nobody of, for instance for lack of memory.
//     samples,        // [{ id, title, description, format, name, blob }], as listed in www/samples/index.json
//     given,          // [File]: shared with the installed page, or named by `src` in the address of a frame
//     lost,           // why some of that is missing: '', or words of the browser
//     keptOffline,    // the browser has the whole site, or is about to
//     whenNewer(tell),// calls `tell` once a newer build is ready to take over
//     takeNewer(),    // has it take over and loads the page again
//     locked: true,   // the second policy is in place
//     openPerfetto(), // after a click: a window of https://ui.perfetto.dev, or null; no other can be opened
//   }

const boot = document.getElementById('boot');
const files = document.querySelector('meta[name="tracedrop-files"]').dataset;

/** The digits 0 to 84 of tools/finish-site.mjs. Letters that mean something in HTML are not among them. */
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

/** The file as it stands in the page, in tracedrop.html. */
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
    throw new Error(`${address} could not be loaded, is the server still there?`);
  }
  if (!response.ok) throw new Error(`${address} could not be loaded, the server said ${response.status}`);
  return response;
}

async function compile(address) {
  const response = await get(address);
  // Streaming is quicker, but refuses servers that do not know the type.
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
    list.map(async ({ id, title, description, format, name }) =>
      Object.freeze({ id, title, description, format, name, blob: await (await get(folder + name)).blob() }),
    ),
  );
}

/**
 * Has the browser keep the site, so that it starts without a network. Gives the registration once everything is kept,
 * `null` where that can not be: in a frame in a sandbox, in some private windows, on a server without https.
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

/** The page does not wait for longer until the browser has kept it, which goes on without it. */
const KEEPING_MS = 5000;
const later = (ms) => new Promise((resolve) => setTimeout(() => resolve(null), ms));

/** Tells the browser what it takes to install the page. It asks for that late, so it gets it from memory. */
async function describeApp() {
  const link = document.querySelector('link[rel="manifest"]');
  if (!link || !location.protocol.startsWith('http')) return;
  try {
    const manifest = await (await get(link.getAttribute('href'))).json();
    // From memory nothing is relative to the page.
    const here = (path) => new URL(path, document.baseURI).href;
    for (const key of ['start_url', 'scope']) manifest[key] = here(manifest[key]);
    for (const part of [...manifest.file_handlers, manifest.share_target]) part.action = here(part.action);
    link.href = URL.createObjectURL(new Blob([JSON.stringify(manifest)], { type: 'application/manifest+json' }));
  } catch (error) {
    // The page works without being installed.
    console.info(error);
  }
}

/** Files that were shared with the installed page and are kept by www/service-worker.js until they are taken here. */
async function takeShared(id) {
  const folder = new URL('./', document.baseURI).pathname;
  const shelf = `tracedrop-shared ${folder}`;
  if (!(await Promise.race([caches.has(shelf), later(KEEPING_MS)]))) return [];
  const cache = await caches.open(shelf);
  const taken = [];
  for (const request of await cache.keys()) {
    const [from, at] = new URL(request.url).pathname.slice(`${folder}shared/`.length).split('/');
    // What nobody came for within an hour is forgotten.
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

/** What the address of the page brings along: shared files, or for a frame a trace on the page's own server. */
async function takeGiven() {
  const asked = new URLSearchParams(location.search);
  const shared = asked.get('shared');
  const source = asked.get('mode') === 'embed' && asked.get('src');
  try {
    if (shared) {
      history.replaceState(null, '', location.pathname + location.hash);
      if (shared === 'failed') throw new Error('the browser could not keep it');
      const given = await takeShared(shared);
      if (given.length === 0) throw new Error('no file came with it');
      return { given, lost: '' };
    }
    if (source) {
      // Else any site could learn something of what lies here, by what such a frame tells it.
      if (!isOurs(parent)) throw new Error('frames on other sites are given traces by messages, not by address');
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
  // The lock takes the way to the service worker off the page.
  const workers = registration && navigator.serviceWorker;
  return {
    whenNewer(tell) {
      if (!registration) return;
      const look = () => registration.waiting && registration.active && tell();
      registration.addEventListener('updatefound', () => registration.installing?.addEventListener('statechange', look));
      look();
      // Another window had it take over: this one still runs the build before.
      const before = workers.controller;
      workers.addEventListener('controllerchange', () => before && tell());
    },
    takeNewer() {
      const again = () => location.reload();
      if (!registration?.waiting) return again();
      workers.addEventListener('controllerchange', again, { once: true });
      // Where this page is under no service worker, nothing changes for it.
      setTimeout(again, 1500);
      registration.waiting.postMessage('activate');
    },
  };
}

// The one address that a window is opened at; nothing is added to it. What is handed over to it is shown beforehand.
const PERFETTO = 'https://ui.perfetto.dev/';
const openWindow = globalThis.open.bind(globalThis);

function lock() {
  const policy = document.createElement('meta');
  policy.httpEquiv = 'Content-Security-Policy';
  policy.content =
    "default-src 'none'; script-src 'wasm-unsafe-eval'; img-src data: blob:; manifest-src blob:; worker-src blob:; base-uri 'none'; form-action 'none'";
  document.head.append(policy);

  // What policies have no word for, or browsers do not know yet: calls between browsers, new windows, a page
  // that goes somewhere by itself, with something in the address, and the service worker, which may fetch and takes no
  // orders to. Links that a person clicks still work. (This part is a guard against mistakes: the
  // policy binds all code whatever it does, these lines bind only code that does not set out to get around them.)
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

// Runs in the worker, after the script wasm-bindgen made. The first message brings the compiled module; later ones
// wait until the worker's main() has set its handlers.
function workerStart() {
  const waiting = [];
  const hold = (event) => waiting.push(event);
  const start = async ({ data }) => {
    addEventListener('message', hold);
    // Held for as long as this worker lives.
    const live = () => (postMessage(data.life), new Promise(() => {}));
    navigator.locks?.request(data.life, live).catch(() => {});
    await wasm_bindgen({ module_or_path: data.module });
    removeEventListener('message', hold);
    for (const event of waiting) dispatchEvent(event);
  };
  addEventListener('message', start, { once: true });
  // A worker's lost promises are not told to the page, its errors are.
  addEventListener('unhandledrejection', (event) => {
    event.preventDefault();
    setTimeout(() => {
      throw event.reason;
    });
  });
}

/**
 * Starts the worker. Browsers may end one without an event; they let go of its locks then, so whoever is given the lock it held
 * knows that it is gone. Pages without locks (no https, no origin of their own) do not learn of it.
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
  if (!globalThis.WebAssembly) throw new Error('this browser has no WebAssembly, or it is switched off');
  // Behind # as well: some servers send on to another address without what is behind the question mark.
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
    `Tracedrop could not start: ${error.message}. Loading the page again may help; it needs a browser from 2023 or newer.`;
  console.error(error);
});

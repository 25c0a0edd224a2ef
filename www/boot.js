// Starts the page: fetches all of it, locks the door, runs the app. The only JavaScript written by hand.
//
// Why it exists. A trace must not leave the computer, and a promise is not enough: the browser itself shall refuse.
// index.html starts with a policy that allows requests to the page's own server only. Here everything the page will
// ever need is fetched and held in memory; then a second policy is added that allows no request at all. Policies
// only ever add up, so nothing that runs later can take it back, and workers started afterwards inherit both.
// Rust cannot do this: the lock has to be in place before the app's wasm runs.
//
// What the app is given (src/app/browser/ is the other side):
//
//   globalThis.tracedrop = {
//     version,        // of the package, as in Cargo.toml
//     startWorker(),  // a new Worker that is already compiling; post to it at once, nothing gets lost.
//                     // Whatever stops it arrives as its `error` event, also a failed start and a lost promise.
//     samples,        // [{ id, title, description, format, name, blob }], as listed in www/samples/index.json
//     locked: true,   // the second policy is in place
//     openPerfetto(), // after a click: a window of https://ui.perfetto.dev, or null; no other can be opened
//   }

const boot = document.getElementById('boot');
const files = document.querySelector('meta[name="tracedrop-files"]').dataset;

async function get(address) {
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

async function fetchSamples(folder) {
  const list = await (await get(`${folder}index.json`)).json();
  return Promise.all(
    list.map(async ({ id, title, description, format, name }) =>
      Object.freeze({ id, title, description, format, name, blob: await (await get(folder + name)).blob() }),
    ),
  );
}

// The one address that a window is opened at; nothing is added to it. What is handed over to it is shown beforehand.
const PERFETTO = 'https://ui.perfetto.dev/';
const openWindow = globalThis.open.bind(globalThis);

function lock() {
  const policy = document.createElement('meta');
  policy.httpEquiv = 'Content-Security-Policy';
  policy.content =
    "default-src 'none'; script-src 'wasm-unsafe-eval'; img-src data: blob:; worker-src blob:; base-uri 'none'; form-action 'none'";
  document.head.append(policy);

  // What policies have no word for, or browsers do not know yet: calls between browsers, new windows, and a page
  // that goes somewhere by itself, with something in the address. Links that a person clicks still work. (This part is a guard against mistakes: the
  // policy binds all code whatever it does, these lines bind only code that does not set out to get around them.)
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

async function main() {
  if (!globalThis.WebAssembly) throw new Error('this browser has no WebAssembly, or it is switched off');
  const [app, appModule, workerScript, workerModule, samples] = await Promise.all([
    import(new URL(files.appJs, document.baseURI)),
    compile(files.appWasm),
    get(files.workerJs).then((response) => response.text()),
    compile(files.workerWasm),
    fetchSamples(files.samples),
  ]);

  lock();

  const workerUrl = URL.createObjectURL(
    new Blob([workerScript, `\n(${workerStart})();\n`], { type: 'text/javascript' }),
  );
  globalThis.tracedrop = Object.freeze({
    version: files.version,
    samples: Object.freeze(samples),
    locked: true,
    openPerfetto: () => (navigator.userActivation?.isActive === false ? null : openWindow(PERFETTO, '_blank')),
    startWorker() {
      const worker = new Worker(workerUrl);
      worker.postMessage({ module: workerModule });
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

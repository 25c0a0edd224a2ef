// The worker's messages (src/engine/protocol.rs) that tests and benches send without the page. A test there checks the variant
// numbers used here.
//
// Functions here run in the page: they take everything they need as arguments.

/**
 * Parses a file of an <input> in a new worker, with helpers; with `together`, all its files as one run.
 * Returns the milliseconds to the first and to the last report, and the output of each named exporter, as text.
 */
export async function readInWorker(input, { index = 0, together = false, exporters = [], helpers = 0 } = {}) {
  const files = together ? [...input.files] : [input.files[index]];
  const utf8 = (text) => {
    const bytes = new TextEncoder().encode(text);
    if (bytes.length > 127) throw new Error(`${text} is too long for a length of one byte`);
    return [bytes.length, ...bytes];
  };
  // Postcard: the number of the variant, then its fields: the files, each read as what it looks like, with no index kept, nothing
  // beside it and all of its time; a query with the length of lists, no tables of one's own, six empty fields for memory, no range for the critical
  // path, secrets hidden, and no moment of memory. A test beside the messages holds these bytes.
  const open = new Uint8Array([0, files.length, ...files.flatMap((file) => [...utf8(file.name), 0, 0, 0, 0]), 10, 0, 0, ...Array(9).fill(0)]);
  const exportAs = (ticket, id) => new Uint8Array([5, ticket, ...utf8(id)]);
  const [PROGRESS, DOCUMENT, FAILED, EXPORTED, REFUSED] = [1, 2, 3, 7, 8];

  const HELP = new Uint8Array([6]);
  const crew = Array.from({ length: helpers }, () => globalThis.tracedrop.startWorker());
  const ready = crew.map((helper) => new Promise((resolve) => (helper.onmessage = resolve)));
  await Promise.all(ready);
  const ports = crew.map((helper) => {
    const { port1, port2 } = new MessageChannel();
    helper.postMessage([HELP, port2], [port2]);
    return port1;
  });
  const worker = globalThis.tracedrop.startWorker();
  try {
    return await new Promise((resolve, reject) => {
      const exported = {};
      let [started, first, all, silence] = [0, 0, 0, 0];
      let finishing = false;
      const next = () => {
        const ticket = Object.keys(exported).length;
        if (ticket === exporters.length) resolve({ first, all, exported });
        else worker.postMessage([exportAs(ticket, exporters[ticket])]);
      };
      worker.onerror = (event) => reject(new Error(event.message));
      worker.onmessage = async ({ data: [message, blob] }) => {
        const kind = message[0];
        if (!started) {
          started = performance.now();
          worker.postMessage([open, ...files, ...ports], ports);
          silence = setTimeout(() => reject(new Error('the worker does not answer: is the message encoded correctly?')), 60_000);
          return;
        }
        clearTimeout(silence);
        if (kind === PROGRESS) finishing ||= message.at(-1) === 1;
        if (kind === FAILED) resolve({ failed: new TextDecoder().decode(message) });
        if (kind === DOCUMENT) {
          first ||= performance.now() - started;
          if (finishing && !all) {
            all = performance.now() - started;
            next();
          }
        }
        if (kind === EXPORTED) {
          exported[exporters[message[1]]] = await blob.text();
          next();
        }
        if (kind === REFUSED) {
          exported[exporters[message[1]]] = null;
          next();
        }
      };
    });
  } finally {
    for (const each of [worker, ...crew]) each.terminate();
  }
}

/** An <input> of the page with these files. */
export async function inputWith(page, paths) {
  const input = await page.evaluateHandle(() => {
    const element = document.createElement('input');
    element.type = 'file';
    element.multiple = true;
    document.body.append(element);
    return element;
  });
  await input.setInputFiles(paths);
  return input;
}

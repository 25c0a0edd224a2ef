// <trace-drop src="trace.json" report="gpu-breakdown" theme="dark" limits="budget.txt"></trace-drop>
//
// Shows a report of a trace in any page. The trace is read in a frame in a sandbox, by Tracedrop's page in one file
// (tracedrop.html, which lies beside this one). That page can make no request; what it is to show is fetched here, by the
// page around it, and handed over by messages, which docs/embed.md describes.
//
// What stands between the tags shows until the report does, and where scripts do not run: a picture, a table, a link.

const VERSION = 1;
const ATTRIBUTES = ['src', 'report', 'theme', 'limits', 'frame', 'show', 'label'];
/** Higher than any report has reason to be: a mistake in the frame shall not make the page endless. */
const MAX_HEIGHT_PX = 20_000;

// A sheet made by a script: policies of the page around have nothing against it.
const STYLE = globalThis.CSSStyleSheet && new CSSStyleSheet();
STYLE?.replaceSync(`
  :host { display: block; }
  :host([hidden]) { display: none; }
  iframe { display: block; width: 100%; height: 12rem; border: 0; color-scheme: normal; }
  [part="problem"] { margin: 0 0 0.5em; }
  [hidden] { display: none !important; }
`);

async function load(address, what) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${what} ${address}: the server said ${response.status}`);
  return response;
}

/** The last part of the path of an address. */
function nameOf(address) {
  const last = new URL(address, document.baseURI).pathname.split('/').pop();
  try {
    return decodeURIComponent(last) || 'trace';
  } catch {
    return last;
  }
}

// Servers that render pages load this too, and have no elements: there it does nothing.
export class TraceDrop extends (globalThis.HTMLElement ?? class {}) {
  static observedAttributes = ATTRIBUTES;

  #frame = null;
  #ready = null;
  #tellReady = null;
  #problem;
  #fallback;
  #shadow;
  #onMessage = (event) => this.#hear(event);
  /** Counts what was asked to be opened: an answer that is late for something older is dropped. */
  #asked = 0;

  constructor() {
    super();
    this.#shadow = this.attachShadow({ mode: 'open' });
    this.#shadow.adoptedStyleSheets = [STYLE];
    this.#problem = Object.assign(document.createElement('p'), { hidden: true });
    this.#problem.setAttribute('part', 'problem');
    this.#problem.setAttribute('role', 'alert');
    this.#fallback = document.createElement('slot');
    this.#shadow.append(this.#problem, this.#fallback);
  }

  connectedCallback() {
    addEventListener('message', this.#onMessage);
    this.#start();
  }

  disconnectedCallback() {
    removeEventListener('message', this.#onMessage);
    this.#stop();
  }

  attributeChangedCallback(name, before, now) {
    if (!this.#frame || before === now) return;
    if (name === 'frame' || name === 'show') {
      this.#stop();
      this.#start();
    } else if (name === 'src') this.#openSource();
    else if (name === 'limits') this.#holdLimits();
    else if (name === 'report') this.#sendLater('report', '');
    else if (name === 'theme') this.#sendLater('theme', 'system');
    else if (name === 'label') this.#frame.title = this.#label();
  }

  /**
   * Shows these files in place of `src`; several are read together.
   * Each is `{ name, data }`, with data a Blob, an ArrayBuffer, a view of one, or a string.
   */
  async open(files) {
    const asked = (this.#asked += 1);
    await this.#ready;
    if (asked === this.#asked) this.#send({ type: 'open', files: [...files] });
  }

  /** Holds limits, as text, against the trace. */
  async hold(limits) {
    await this.#ready;
    this.#send({ type: 'limits', limits });
  }

  #label() {
    return this.getAttribute('label') ?? `Report of ${this.getAttribute('src') ? nameOf(this.getAttribute('src')) : 'a trace'}`;
  }

  #start() {
    this.#ready = new Promise((done) => (this.#tellReady = done));
    const address = new URL(this.getAttribute('frame') ?? new URL('./tracedrop.html', import.meta.url), document.baseURI);
    address.searchParams.set('mode', 'embed');
    for (const name of ['theme', 'report', 'show']) {
      if (this.getAttribute(name)) address.searchParams.set(name, this.getAttribute(name));
    }
    // Once more, as servers that take `.html` off addresses take this off, too.
    address.hash = address.searchParams;
    const frame = document.createElement('iframe');
    // Scripts and nothing else: no origin, so no storage and no cookies; no forms, windows, or ways out of the frame.
    frame.setAttribute('sandbox', 'allow-scripts');
    frame.setAttribute('referrerpolicy', 'no-referrer');
    frame.loading = 'lazy';
    frame.title = this.#label();
    frame.src = address.href;
    this.#frame = frame;
    this.#shadow.append(frame);
    this.#openSource();
    this.#holdLimits();
  }

  #stop() {
    this.#asked += 1;
    this.#frame?.remove();
    this.#frame = null;
    this.#fallback.hidden = false;
    this.#problem.hidden = true;
  }

  async #openSource() {
    const source = this.getAttribute('src');
    if (!source) return;
    const asked = (this.#asked += 1);
    await this.#ready;
    try {
      const data = await (await load(source, 'the trace')).blob();
      if (asked === this.#asked) this.#send({ type: 'open', files: [{ name: nameOf(source), data }] });
    } catch (error) {
      if (asked === this.#asked) this.#fail(error.message, '');
    }
  }

  async #holdLimits() {
    const limits = this.getAttribute('limits');
    if (!limits) return;
    await this.#ready;
    try {
      this.#send({ type: 'limits', limits: await (await load(limits, 'the limits')).text() });
    } catch (error) {
      this.#fail(error.message, '');
    }
  }

  #send(message) {
    // The frame has no origin that could be named; it is this element's own.
    this.#frame?.contentWindow?.postMessage({ tracedrop: VERSION, ...message }, '*');
  }

  /** What the attribute says once the frame listens: what is sent before is lost, and sites change themes while they start. */
  async #sendLater(name, otherwise) {
    await this.#ready;
    this.#send({ type: name, [name]: this.getAttribute(name) ?? otherwise });
  }

  #fail(what, hint) {
    this.#problem.textContent = [what, hint].filter(Boolean).join('. ');
    this.#problem.hidden = false;
    this.#tell('problem', { what, hint });
  }

  #tell(name, detail) {
    this.dispatchEvent(new CustomEvent(`trace-drop-${name}`, { detail, bubbles: true }));
  }

  #hear({ source, data }) {
    if (!this.#frame || source !== this.#frame.contentWindow || data?.tracedrop !== VERSION) return;
    const { tracedrop: _, type, ...detail } = data;
    switch (type) {
      case 'ready':
        this.#tellReady();
        return this.#tell('ready', detail);
      case 'height':
        if (Number.isFinite(detail.height)) this.#frame.style.height = `${Math.min(Math.max(detail.height, 0), MAX_HEIGHT_PX)}px`;
        return;
      case 'read':
        this.#fallback.hidden = true;
        this.#problem.hidden = true;
        return this.#tell('read', detail);
      case 'limits':
        return this.#tell('limits', detail);
      case 'problem':
        return this.#fail(String(detail.what), String(detail.hint));
    }
  }
}

if (globalThis.customElements && !customElements.get('trace-drop')) customElements.define('trace-drop', TraceDrop);

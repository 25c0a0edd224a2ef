// <trace-drop src="trace.json" report="gpu-breakdown" theme="dark" limits="budget.txt"></trace-drop>
//
// Shows a report of a trace in any page. Tracedrop's single-file page (tracedrop.html, in the same folder) parses the trace
// in a sandboxed frame. That page can make no request, so this script fetches the trace and passes it on by the messages
// that docs/embed.md describes.
//
// The content between the tags shows until the report does, and where scripts do not run: a picture, a table, a link.

const VERSION = 1;
const ATTRIBUTES = ['src', 'report', 'theme', 'limits', 'frame', 'show', 'label'];
/** Limit on the height of the frame, so that a mistake inside it cannot make the page endless. */
const MAX_HEIGHT_PX = 20_000;

// A constructed style sheet, which the host page's policy does not block.
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
  if (!response.ok) throw new Error(`${what} ${address}: the server returned ${response.status}`);
  return response;
}

/** File name in a URL. */
function nameOf(address) {
  const last = new URL(address, document.baseURI).pathname.split('/').pop();
  try {
    return decodeURIComponent(last) || 'trace';
  } catch {
    return last;
  }
}

// With server-side rendering there are no elements: there it does nothing.
export class TraceDrop extends (globalThis.HTMLElement ?? class {}) {
  static observedAttributes = ATTRIBUTES;

  #frame = null;
  #ready = null;
  #tellReady = null;
  #problem;
  #fallback;
  #shadow;
  #onMessage = (event) => this.#hear(event);
  /** Counts requests to open something, so that late answers to older ones are dropped. */
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
   * Shows these files instead of `src`; several are combined into one run.
   * Each is `{ name, data }`, where data is a Blob, an ArrayBuffer, a view of one, or a string.
   */
  async open(files) {
    const asked = (this.#asked += 1);
    await this.#ready;
    if (asked === this.#asked) this.#send({ type: 'open', files: [...files] });
  }

  /** Checks the trace against limits, given as text. */
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
    // In the fragment as well, because servers that strip `.html` also strip the query string.
    address.hash = address.searchParams;
    const frame = document.createElement('iframe');
    // Scripts only: no origin, so no storage or cookies; no forms, windows or navigation of the host page.
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
    // The frame has no origin to name; it belongs to this element.
    this.#frame?.contentWindow?.postMessage({ tracedrop: VERSION, ...message }, '*');
  }

  /** Sends the attribute's value once the frame listens: earlier messages are lost, and sites change themes while they load. */
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

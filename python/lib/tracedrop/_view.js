// Runs in a notebook, at the end of each output of `view()`: shows the viewer in a frame and sends it the trace.
//
// The viewer is megabytes, so one output of the notebook has it and puts its blob URL into `tracedropViewers`; the others wait for
// the event `tracedrop-viewer`, because notebooks also draw outputs out of order. The messages are those of docs/embed.md.
(() => {
  const START_MS = 30_000;

  function start(view) {
    view.dataset.started = '';
    const summary = view.querySelector('[data-part="summary"]');
    const status = view.querySelector('[data-part="status"]');
    const say = (text) => {
      status.textContent = text;
      summary.hidden = false;
    };

    const address = globalThis.tracedropViewers?.[view.dataset.viewer];
    if (!address) {
      say('The viewer is in another output of this notebook: scroll to the first view(), or run its cell. If it is gone, use view(with_viewer=True).');
      addEventListener('tracedrop-viewer', () => start(view), { once: true });
      return;
    }
    const light = document.body.dataset.jpThemeLight;
    const theme = { true: 'light', false: 'dark' }[light] ?? 'system';
    const frame = document.createElement('iframe');
    // Scripts only: no origin, so no access to the notebook, and no storage, windows or downloads.
    frame.setAttribute('sandbox', 'allow-scripts');
    frame.title = view.dataset.label;
    frame.style.cssText = `display: block; width: 100%; height: ${view.dataset.height}px; border: 1px solid #8884`;
    frame.src = `${address}#${new URLSearchParams({ mode: 'embed', theme, report: view.dataset.report })}`;
    status.textContent = '';
    summary.hidden = true;

    const blocked = setTimeout(() => say('The viewer did not start. If this program blocks frames or workers, open the notebook in JupyterLab.'), START_MS);
    // A notebook may replace the output at any time; the listener must not keep its data.
    const held = new WeakRef(frame);
    const hear = ({ source, data }) => {
      const frame = held.deref();
      if (!frame) return removeEventListener('message', hear);
      if (!source || source !== frame.contentWindow || data?.tracedrop !== 1) return;
      const view = frame.closest('.tracedrop-view');
      if (data.type === 'ready') {
        clearTimeout(blocked);
        status.textContent = '';
        summary.hidden = true;
        // Each time: a frame starts again when the notebook moves its output.
        const files = [...view.querySelectorAll('script[data-name]')].map(({ dataset, textContent }) => ({
          name: dataset.name,
          data: Uint8Array.from(atob(textContent), (letter) => letter.charCodeAt(0)),
        }));
        frame.contentWindow.postMessage({ tracedrop: 1, type: 'open', files }, '*');
      } else if (data.type === 'problem') {
        say([data.what, data.hint].filter(Boolean).join('. '));
      }
    };
    addEventListener('message', hear);
    view.append(frame);
  }

  for (const view of document.querySelectorAll('.tracedrop-view:not([data-started])')) start(view);
})();

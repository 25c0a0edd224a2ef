// Zoom and search in the flame graphs of a picture. Without this script, the picture is the same, with all texts as tooltips.
'use strict';
(() => {
  const root = document.documentElement;
  // As the picture is laid out: width of a letter, least widths of boxes with texts and without, space between boxes, and more
  // than the rounding of places.
  const [LETTER, MIN_TEXT, MIN_WIDTH, GAP, SLACK] = [7.1, 26, 0.25, 1, 0.05];
  // Opacity of boxes that a search finds, and of others.
  const [FOUND, OTHERS] = [0.65, 0.12];
  const [INK, SOFT] = ['#16202c', '#4f5c6b'];
  const flames = [...root.querySelectorAll('.flame'), ...(root.classList.contains('flame') ? [root] : [])];
  const graphs = flames.map((svg) => {
    const rects = [...svg.querySelectorAll('rect[fill-opacity]')];
    const boxes = rects.map((rect) => {
      const at = (name) => Number(rect.getAttribute(name));
      const next = rect.nextElementSibling;
      const text = next && next.tagName === 'text' ? next : null;
      const name = rect.querySelector('title').textContent.split('\n')[0];
      const box = { rect, text, name, x: at('x'), y: at('y'), width: at('width'), opacity: at('fill-opacity') };
      return { ...box, label: text ? text.textContent : '' };
    });
    // Thin boxes are drawn wider than they are, so none reaches beyond the next one of its row.
    const inRows = [...boxes].sort((a, b) => a.y - b.y || a.x - b.x);
    inRows.forEach((box, at) => {
      const next = inRows[at + 1];
      const end = next && next.y === box.y ? next.x : Infinity;
      box.span = Math.min(box.width + GAP, end - box.x);
    });
    const left = Math.min(...boxes.map((box) => box.x));
    const right = Math.max(...boxes.map((box) => box.x + box.span));
    return { boxes, left, right };
  });

  const make = (label, x, onChoose) => {
    const text = document.createElementNS(root.namespaceURI, 'text');
    const set = { x, y: 20, 'text-anchor': 'end', fill: '#0b5394' };
    Object.entries(set).forEach(([name, value]) => text.setAttribute(name, value));
    text.textContent = label;
    root.append(text);
    if (!onChoose) return text;
    text.setAttribute('role', 'button');
    text.setAttribute('tabindex', 0);
    text.style.cursor = 'pointer';
    text.addEventListener('click', onChoose);
    text.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      event.preventDefault();
      onChoose();
    });
    return text;
  };

  const put = (box, x, width, label) => {
    const isShown = width > 0;
    box.rect.style.display = isShown ? '' : 'none';
    box.rect.setAttribute('x', x);
    box.rect.setAttribute('width', Math.max(width - GAP, MIN_WIDTH));
    if (!box.text && isShown && label) {
      box.text = document.createElementNS(root.namespaceURI, 'text');
      box.text.setAttribute('y', box.y + 13);
      box.text.setAttribute('fill', SOFT);
      box.text.style.pointerEvents = 'none';
      box.rect.after(box.text);
    }
    if (!box.text) return;
    box.text.style.display = isShown && label ? '' : 'none';
    box.text.setAttribute('x', x + 4);
    box.text.textContent = label;
  };

  const cut = (name, width) => {
    const room = Math.floor((width - 8) / LETTER);
    if (width < MIN_TEXT) return '';
    return name.length <= room ? name : `${name.slice(0, room - 1)}…`;
  };

  /** Shows a box in full width, below those around it. */
  const zoom = ({ boxes, left, right }, to) => {
    const scale = (right - left) / to.span;
    const last = to.x + to.span;
    for (const box of boxes) {
      const end = box.x + box.span;
      const isWithin = box.y >= to.y && box.x >= to.x - SLACK && box.x < last - SLACK && end <= last + SLACK;
      const isAround = box.y < to.y && box.x <= to.x + SLACK && end >= last - SLACK;
      const width = isWithin ? box.span * scale : isAround ? right - left : 0;
      put(box, isWithin ? left + (box.x - to.x) * scale : left, width, cut(box.name, width));
    }
    reset.style.display = '';
  };

  const zoomOut = () => {
    graphs.forEach(({ boxes }) => boxes.forEach((box) => put(box, box.x, box.span, box.label)));
    reset.style.display = 'none';
  };

  /** Lights boxes whose name matches, and says the share of the width that is below them, each part once. */
  const search = (text) => {
    let finds = () => false;
    if (text) {
      const lower = text.toLowerCase();
      finds = (name) => name.toLowerCase().includes(lower);
      const [exact, parts] = [/^"(.+)"$/.exec(text), /^\/(.+)\/$/.exec(text)];
      try {
        if (exact) finds = (name) => name === exact[1];
        if (parts) finds = ((pattern) => (name) => pattern.test(name))(new RegExp(parts[1], 'i'));
      } catch {
        finds = () => false;
      }
    }
    const shares = graphs.map(({ boxes, left, right }) => {
      boxes.forEach((box) => {
        const isFound = finds(box.name);
        box.rect.setAttribute('fill-opacity', text ? (isFound ? FOUND : OTHERS) : box.opacity);
        box.text?.setAttribute('fill', isFound ? INK : SOFT);
      });
      const found = boxes.filter((box) => finds(box.name)).sort((a, b) => a.x - b.x || a.y - b.y);
      let [sum, end] = [0, -Infinity];
      for (const box of found) {
        if (box.x < end - SLACK) continue;
        sum += box.span;
        end = box.x + box.span;
      }
      return `${((100 * sum) / (right - left)).toFixed(1)}%`;
    });
    matched.textContent = text ? `Found: ${shares.join(', ')}` : '';
  };

  const ask = () => {
    const text = prompt('Part of a name, "exact name", or /regular expression/');
    if (text !== null) search(text.trim());
  };

  const width = root.viewBox.baseVal.width;
  make('Search', width - 8, ask);
  const reset = make('Reset zoom', width - 58, zoomOut);
  const matched = make('', width - 136, null);
  matched.setAttribute('role', 'status');
  reset.style.display = 'none';
  graphs.forEach((graph) => {
    graph.boxes.forEach((box) => {
      box.rect.addEventListener('click', () => zoom(graph, box));
      box.rect.style.cursor = 'pointer';
      if (box.text) box.text.style.pointerEvents = 'none';
    });
  });
  addEventListener('keydown', (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === 'f') {
      event.preventDefault();
      ask();
    } else if (event.key === 'Escape') {
      search('');
      zoomOut();
    }
  });
})();

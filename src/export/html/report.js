// Table sorting and filtering. The page has the same content without it.
'use strict';
for (const table of document.querySelectorAll('table')) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const value = (row, at) => row.cells[at].dataset.v ?? row.cells[at].textContent;
  [...table.tHead.rows[0].cells].forEach((cell, at) => {
    const isNumber = cell.classList.contains('number');
    const button = document.createElement('button');
    button.type = 'button';
    button.append(...cell.childNodes);
    cell.append(button);
    button.addEventListener('click', () => {
      const isDown = cell.getAttribute('aria-sort') ? cell.getAttribute('aria-sort') === 'ascending' : isNumber;
      for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
      cell.setAttribute('aria-sort', isDown ? 'descending' : 'ascending');
      const sign = isDown ? -1 : 1;
      const compare = (a, b) => {
        const [x, y] = [value(a, at), value(b, at)];
        // Missing values come last in both directions.
        if (x === '' || y === '') return (x === '') - (y === '');
        return sign * (isNumber ? Number(x) - Number(y) : x.localeCompare(y));
      };
      body.append(...[...rows].sort(compare));
    });
  });
  if (rows.length < 10) continue;
  const label = document.createElement('label');
  const count = document.createElement('span');
  const field = document.createElement('input');
  field.type = 'search';
  field.className = 'filter';
  field.setAttribute('aria-label', `Filter: ${table.parentElement.getAttribute('aria-label')}`);
  count.setAttribute('role', 'status');
  label.className = 'soft';
  label.append('Filter: ', field, ' ', count);
  table.parentElement.before(label);
  field.addEventListener('input', () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      n += !row.hidden;
    }
    count.textContent = words.length ? `${n} of ${rows.length} rows` : '';
  });
}

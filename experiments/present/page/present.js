// The table, moving from step to step, keys, and print. Graph, card and table always show the same moment.
'use strict';

// ---- the tape as a table

const columns = ['line', 'name', 'op', 'inputs', 'shape', 'value', 'gradient', 'scope'].filter(
    column => !['name', 'scope'].includes(column) || lines.some(line => line[column]));
const rows = lines.map(line => {
    const go = make('button', {title: `To line ${line.line}`, 'aria-label': `To line ${line.line}`}, String(line.line));
    go.addEventListener('click', () => show(stepOf(line.line)));
    const inputs = line.inputs.map(i => (i < 0 ? '–' : i)).join(' ');
    const cells = {line: go, name: line.name, op: kindOf(line), inputs,
                   shape: shapeText(line.shape), value: '', gradient: '', scope: line.scope};
    return make('tr', {}, ...columns.map(column => make('td', {class: column}, cells[column])));
});
const heads = columns.map(column => make('th', {scope: 'col'}, column));
at('tape').append(make('table', {}, make('thead', {}, make('tr', {}, ...heads)), make('tbody', {}, ...rows)));

function drawTable(k) {
    const step = steps[k], known = gradientsAt(k), touched = new Set(step.passed.map(({line}) => line));
    lines.forEach((line, i) => {
        const row = rows[i], gradient = known.get(i);
        row.classList.toggle('now', step.line === i);
        row.classList.toggle('later', k < i);
        row.classList.toggle('touched', k > turn && touched.has(i));
        row.querySelector('.value').textContent = k < i ? '' : summary(line.value);
        row.querySelector('.gradient').textContent = !gradient ? (k > turn ? 'not computed' : '')
            : summary(gradient) + (completed.get(i) > k ? ' so far' : '');
        if (step.line === i) row.setAttribute('aria-current', 'step');
        else row.removeAttribute('aria-current');
    });
    // Not scrollIntoView: it would move the whole page on a small screen.
    const area = at('tape'), row = rows[step.line ?? 0];
    const room = area.clientHeight + area.querySelector('thead').offsetHeight - row.offsetHeight;
    area.scrollTop = row.offsetTop - room / 2;
}

// ---- what is said, and moving on

function says(step, k) {
    const where = `Step ${k + 1} of ${steps.length}. `;
    if (step.phase === 'gradients') return where + at('verdict').textContent;
    const line = lines[step.line], op = line.name && line.kind === 'op' ? `, ${line.op}` : '';
    const what = `${phaseNames[step.phase]}, line ${named(step.line)}${op}. `;
    if (step.phase === 'forward') return `${where}${what}Shape ${shapeText(line.shape)}, value ${summary(line.value)}.`;
    return where + what + step.passed.map(({line: to, gradient}) => `Gradient of ${named(to)}: ${summary(gradient)}.`).join(' ');
}

function show(k, area) {
    now = Math.min(Math.max(k, 0), steps.length - 1);
    const step = steps[now];
    document.querySelector('main').dataset.phase = step.phase;
    at('where').textContent = `${now + 1} / ${steps.length}`;
    at('progress').style.setProperty('--done', (now + 1) / steps.length);
    at('progress').style.setProperty('--turn', turn / steps.length);
    at('card').replaceChildren(...card(now));
    at('card').scrollTop = 0;
    drawTable(now);
    drawGraph(now, area ?? {width: at('graph').clientWidth, height: at('graph').clientHeight});
    at('said').textContent = says(step, now);
    for (const id of ['first', 'back']) at(id).disabled = now === 0;
    for (const id of ['on', 'last']) at(id).disabled = now === steps.length - 1;
}

function derive(line) {
    const {op, kind, name} = lines[line], page = data.ops[op]?.derivation;
    const article = at('derivation').querySelector('article');
    if (page) {
        article.innerHTML = page; // made from a page of the docs, all text in it escaped
        typeset(article);
    } else if (kind === 'op')
        article.replaceChildren(make('h2', {}, op), make('p', {}, data.ops[op].formula || 'This op has no page of its own.'));
    else article.replaceChildren(make('h2', {}, name || `line ${line}`), make('p', {}, kind === 'variable'
        ? 'A variable. Nothing is derived: its gradient is the sum of what every line that reads it passes back.'
        : 'A constant. No gradient is passed to it.'));
    at('derivation').showModal();
    article.scrollTop = 0;
}

// ---- one page for every step, for print and slides

const slide = {width: 400, height: 640}, slideRows = 9;

function frames() {
    const from = now, pages = [];
    steps.forEach((step, k) => {
        show(k, slide);
        const page = make('section', {class: 'frame'});
        for (const part of document.querySelectorAll('body > header, body > main')) page.append(part.cloneNode(true));
        page.querySelectorAll('[id]').forEach(element => element.removeAttribute('id'));
        page.querySelectorAll('[tabindex]').forEach(element => element.removeAttribute('tabindex'));
        const all = [...page.querySelectorAll('.tape tbody tr')], middle = step.line ?? all.length;
        const begin = Math.max(0, Math.min(middle - Math.floor(slideRows / 2), all.length - slideRows));
        all.forEach((row, i) => { if (i < begin || i >= begin + slideRows) row.remove(); });
        pages.push(page);
    });
    at('frames').replaceChildren(...pages);
    document.body.classList.add('framed');
    show(from);
}

function unframe() {
    at('frames').replaceChildren();
    document.body.classList.remove('framed');
    show(now);
}

// ---- keys

const keys = {
    ArrowRight: () => show(now + 1), ' ': () => show(now + 1), PageDown: () => show(now + 1),
    ArrowLeft: () => show(now - 1), PageUp: () => show(now - 1),
    ArrowDown: () => at('card').scrollBy(0, 60), ArrowUp: () => at('card').scrollBy(0, -60),
    Home: () => show(0), End: () => show(steps.length - 1), b: () => show(turn),
    d: () => { if (steps[now].line !== null) derive(steps[now].line); },
    '+': () => { zoom *= 1.25; show(now); }, '-': () => { zoom /= 1.25; show(now); },
    0: () => { seeAll = !seeAll; zoom = 1; show(now); },
    t: () => setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark'),
    '?': () => at('help').showModal(),
};
document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector('dialog[open]')) return;
    if (event.key === ' ' && event.target.closest('button')) return; // it presses the button
    if (event.key.startsWith('Arrow') && event.target === at('tape') && !/Left|Right/.test(event.key)) return; // it scrolls
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
});
at('first').addEventListener('click', keys.Home);
at('back').addEventListener('click', keys.ArrowLeft);
at('on').addEventListener('click', keys.ArrowRight);
at('last').addEventListener('click', keys.End);
at('help-button').addEventListener('click', keys['?']);
document.querySelectorAll('dialog').forEach(dialog => dialog.addEventListener('click', event => {
    if (event.target === dialog || event.target.closest('.close')) dialog.close();
}));

// ---- light or dark: as the reader's system says, until `t` is pressed

const dark = matchMedia('(prefers-color-scheme: dark)');
function setTheme(theme) { document.documentElement.dataset.theme = theme; }
dark.addEventListener('change', () => setTheme(dark.matches ? 'dark' : 'light'));
setTheme(dark.matches ? 'dark' : 'light');

addEventListener('beforeprint', frames);
addEventListener('afterprint', unframe);
addEventListener('resize', () => show(now));
if (location.hash === '#frames') frames();
else show(Number.parseInt(location.hash.slice(1), 10) - 1 || 0);

// Steps through a tape: the graph, this step's card and the table always show the same moment. Nothing is computed here.
'use strict';

const at = id => document.getElementById(id);
const data = JSON.parse(at('data').textContent);
const lines = data.lines;

// ---- the moments: every line forward, the cotangent, every step of the sweep, the gradients

const steps = [
    ...lines.map(line => ({phase: 'forward', line: line.line, passed: []})),
    {phase: 'cotangent', line: data.output, passed: [{line: data.output, adjoint: data.cotangent}]},
    ...data.steps.map(step => ({phase: 'backward', ...step})),
    {phase: 'gradients', line: null, passed: []},
];
const turn = lines.length; // where the sweep begins
const completed = new Map(); // line → the step after which its adjoint is complete
steps.forEach((step, k) => step.passed.forEach(({line}) => completed.set(line, k)));
let now = 0;

/// Every adjoint as it stands after step k, by line.
function adjoints(k) {
    const found = new Map();
    for (let i = turn; i <= k; ++i) for (const {line, adjoint} of steps[i].passed) found.set(line, adjoint);
    return found;
}

/// The step that shows a line, in the direction we are in.
function stepOf(line) {
    if (now < turn) return line;
    const own = steps.findIndex((step, k) => k >= turn && step.line === line && step.phase === 'backward');
    return own >= 0 ? own : completed.get(line) ?? line;
}

// ---- numbers

const minus = text => text.replaceAll('-', '−');
const short = x => (typeof x === 'string' ? x : minus(String(Number(x.toPrecision(4)))));
const shapeText = shape => '(' + shape.join(', ') + ')';

function summary(numbers) {
    if (!numbers) return 'shape only';
    if (numbers.size === 0) return 'empty';
    if (numbers.size === 1) return short(numbers.min);
    if (numbers.not_finite > 0) return `${numbers.not_finite} of ${numbers.size} not finite`;
    return `${short(numbers.min)} … ${short(numbers.max)}`;
}

/// Which of n indices are drawn: all, or the first ones, a gap and the last.
function shown(n, most) {
    const all = [...Array(n).keys()];
    return n <= most ? all : [...all.slice(0, most - 2), null, n - 1];
}

/// An array as a table: the last axis runs to the right. Colour says sign and size; `full` gives every digit, five in a row.
function grid(numbers, shape, full = false) {
    if (!numbers?.numbers) return make('p', {class: 'summary'}, summary(numbers));
    const columns = shape.length ? shape[shape.length - 1] : 1, rows = columns ? numbers.size / columns : 0;
    const most = Math.max(Math.abs(numbers.min), Math.abs(numbers.max)), block = shape.length > 2 ? shape[shape.length - 2] : 0;
    const body = make('tbody');
    for (const i of shown(rows, full ? 64 : 8)) {
        let row = make('tr', block && i && i % block === 0 ? {class: 'slice'} : {});
        for (const j of shown(columns, full ? 64 : 8)) {
            if (full && j && j % 5 === 0) {
                body.append(row);
                row = make('tr', {class: 'more'});
            }
            if (i === null || j === null) {
                row.append(make('td', {class: 'gap'}, '…'));
                continue;
            }
            const x = numbers.numbers[i * columns + j], cell = make('td', {title: `[${i}, ${j}] ${x}`}, full ? String(x) : short(x));
            if (typeof x === 'string') cell.className = 'wrong';
            else if (most > 0 && x !== 0) {
                cell.className = x < 0 ? 'negative' : 'positive';
                cell.style.setProperty('--size', (Math.abs(x) / most).toFixed(3));
            }
            row.append(cell);
        }
        body.append(row);
    }
    return make('table', {class: full ? 'grid full' : 'grid'}, body);
}

function named(line) {
    const {op, name} = lines[line];
    return name ? `${line} ${name}` : `${line} ${op}`;
}

/// A number grid with what it is above it.
function figure(head, note, numbers, shape, full) {
    return make('figure', {}, make('figcaption', {}, make('b', {}, head), ' ', note), grid(numbers, shape, full));
}

/// What a formula calls an operand: γ for "gamma", with a bar for its adjoint.
const letters = ['alpha', 'beta', 'gamma', 'tau', 'sigma'];
function symbol(name, barred = false) {
    const tex = letters.includes(name) ? '\\' + name : name === 'eps' ? '\\varepsilon' : name.length === 1 ? name : `\\text{${name.replace(/[^A-Za-z0-9 ]/g, ' ')}}`;
    if (typeof katex === 'undefined') return name + (barred ? '\u0304' : '');
    return formula(barred ? `\\bar{${tex}}` : tex, false);
}

// ---- the card of this step

const phaseNames = {forward: 'Forward', cotangent: 'The sweep begins', backward: 'Backward', gradients: 'Gradients'};

function title(step) {
    if (step.phase === 'gradients') return [make('h2', {class: 'backward'}, 'Gradients')];
    const line = lines[step.line];
    const rest = [` line ${line.line}`, line.name ? ` · ${line.name}` : '', line.kind === 'op' ? ` · ${line.op}` : ` · ${line.kind}`,
                  line.scope ? ` · in ${line.scope}` : ''];
    return [make('h2', {class: step.phase === 'forward' ? 'forward' : 'backward'}, make('b', {}, phaseNames[step.phase]), rest.join(''))];
}

function formulas(line, direction) {
    const op = data.ops[line.op], box = make('div', {class: 'formulas'});
    if (op?.[direction].length) box.append(...op[direction].map(tex => formula(tex, true)));
    else if (op?.formula) box.append(make('code', {}, op.formula));
    return box;
}

/// "x = 0 h (3, 4)": what the names in the formula stand for.
function reads(line, operands) {
    const list = make('p', {class: 'reads'});
    if (operands)
        line.inputs.forEach((input, i) => {
            const what = input < 0 ? 'not given' : `${named(input)} ${shapeText(lines[input].shape)}`;
            list.append(make('span', {}, symbol(line.input_names[i]), ' = ', what));
        });
    for (const [key, value] of Object.entries(line.attributes)) list.append(make('span', {}, symbol(key), ' = ', value));
    return list;
}

function forwardCard(step) {
    const line = lines[step.line], figures = make('div', {class: 'figures'});
    if (line.kind !== 'op') {
        figures.append(figure('value', shapeText(line.shape), line.value, line.shape));
        const about = line.kind === 'variable' ? 'A leaf: its value is given, its gradient is wanted.' : 'A constant: its value is given, it gets no gradient.';
        return [make('p', {}, about), figures];
    }
    line.inputs.forEach((input, i) => {
        if (input >= 0) figures.append(figure(symbol(line.input_names[i]), `${named(input)} ${shapeText(lines[input].shape)}`, lines[input].value, lines[input].shape));
    });
    figures.append(figure(symbol('y'), `the value ${shapeText(line.shape)}`, line.value, line.shape));
    if (line.saved?.size)
        figures.append(figure('saved', `for the backward: ${line.saved.size} ${line.saved.size === 1 ? 'number' : 'numbers'}`, line.saved, [line.saved.size]));
    return [formulas(line, 'forward'), reads(line, false), figures];
}

function cotangentCard(step) {
    const line = lines[step.line], one = line.value?.size === 1;
    return [make('p', {}, one ? 'The output is one number, so its adjoint is 1.' : 'What the loss says of the output: the cotangent the sweep starts from.'),
            make('div', {class: 'figures'}, figure(symbol('y'), `the value ${shapeText(line.shape)}`, line.value, line.shape),
                 figure(symbol('y', true), 'the cotangent', data.cotangent, line.shape))];
}

function backwardCard(step, k) {
    const line = lines[step.line], before = adjoints(k - 1);
    const figures = make('div', {class: 'figures'}, figure(symbol('y', true), `has arrived at ${named(step.line)}`, before.get(step.line), line.shape));
    for (const {line: to, adjoint} of step.passed) {
        const input = line.inputs.indexOf(to), note = before.has(to) ? ', added to what was there' : '';
        figures.append(figure(symbol(line.input_names[input], true), `to ${named(to)}${note}`, adjoint, lines[to].shape));
    }
    return [formulas(line, 'backward'), reads(line, true), figures];
}

function gradientsCard(k) {
    const end = adjoints(k), figures = make('div', {class: 'figures'});
    let equal = true;
    for (const {line, adjoint} of data.gradients) {
        const reached = end.get(line);
        equal = equal && JSON.stringify(reached?.numbers) === JSON.stringify(adjoint.numbers);
        const box = figure(named(line), shapeText(lines[line].shape), reached, lines[line].shape, true);
        box.dataset.line = line;
        figures.append(box);
    }
    const verdict = equal ? '✓ Equal to the gradients of backward(), to the last digit.' : '✗ Not the gradients of backward().';
    return [make('p', {id: 'verdict', class: equal ? 'pass' : 'fail'}, verdict), figures];
}

function card(k) {
    const step = steps[k];
    const body = step.phase === 'forward' ? forwardCard(step) : step.phase === 'cotangent' ? cotangentCard(step)
        : step.phase === 'backward' ? backwardCard(step, k) : gradientsCard(k);
    return [...title(step), ...body];
}

// ---- the tape as a table

const columns = ['line', 'name', 'op', 'inputs', 'shape', 'value', 'adjoint', 'scope'].filter(
    column => !['name', 'scope'].includes(column) || lines.some(line => line[column]));
const rows = lines.map(line => {
    const go = make('button', {title: `To line ${line.line}`, 'aria-label': `To line ${line.line}`}, String(line.line));
    go.addEventListener('click', () => show(stepOf(line.line)));
    const cells = {line: go, name: line.name, op: line.kind === 'op' ? line.op : line.kind, inputs: line.inputs.map(i => (i < 0 ? '–' : i)).join(' '),
                   shape: shapeText(line.shape), value: '', adjoint: '', scope: line.scope};
    return make('tr', {}, ...columns.map(column => make('td', {class: column}, cells[column])));
});
at('tape').append(make('table', {}, make('thead', {}, make('tr', {}, ...columns.map(column => make('th', {scope: 'col'}, column)))),
                       make('tbody', {}, ...rows)));

function drawTable(k) {
    const step = steps[k], known = adjoints(k), touched = new Set(step.passed.map(({line}) => line));
    lines.forEach((line, i) => {
        const row = rows[i], adjoint = known.get(i);
        row.classList.toggle('now', step.line === i);
        row.classList.toggle('later', k < i);
        row.classList.toggle('touched', k > turn && touched.has(i));
        row.querySelector('.value').textContent = k < i ? '' : summary(line.value);
        row.querySelector('.adjoint').textContent = !adjoint ? (k > turn ? 'not computed' : '')
            : summary(adjoint) + (completed.get(i) > k ? ' so far' : '');
        if (step.line === i) row.setAttribute('aria-current', 'step');
        else row.removeAttribute('aria-current');
    });
    // Not scrollIntoView: it would move the whole page on a small screen.
    const area = at('tape'), row = rows[step.line ?? 0];
    const top = row.offsetTop - area.querySelector('thead').offsetHeight, bottom = row.offsetTop + row.offsetHeight;
    if (top < area.scrollTop) area.scrollTop = top;
    else if (bottom > area.scrollTop + area.clientHeight) area.scrollTop = bottom - area.clientHeight;
}

// ---- the graph, drawn twice, in light and in dark colours with one layout

const drawings = ['light', 'dark'].map(theme => {
    const svg = at('graph').querySelector(`.${theme} svg`), find = line => at(`${theme}-line-${line.line}`);
    const edges = [...svg.querySelectorAll(`[id^="${theme}-edge-"]`)].map(element => {
        const [from, to] = element.id.replace(`${theme}-edge-`, '').split('-').map(Number);
        return {element, from, to};
    });
    return {svg, nodes: lines.map(find), edges};
});
const whole = {width: drawings[0].svg.viewBox.baseVal.width, height: drawings[0].svg.viewBox.baseVal.height};
let zoom = 1;

for (const {svg, nodes} of drawings) {
    svg.removeAttribute('width');
    svg.removeAttribute('height');
    nodes.forEach((node, line) => {
        if (!node) return;
        node.setAttribute('tabindex', '0');
        node.setAttribute('role', 'button');
        node.setAttribute('aria-label', `${lines[line].kind === 'op' ? lines[line].op : lines[line].kind}, line ${named(line)}, shape ${shapeText(lines[line].shape)}`);
        node.addEventListener('click', () => derive(line));
        node.addEventListener('keydown', event => {
            if (event.key !== 'Enter' && event.key !== ' ') return;
            event.preventDefault();
            event.stopPropagation();
            derive(line);
        });
    });
}

/// The middle of a line's box, in the drawing's own units; only the drawing that is seen can tell.
function middle(line) {
    for (const {svg, nodes} of drawings) {
        const box = nodes[line]?.getBBox();
        if (!box?.width) continue;
        const {e, f} = svg.querySelector('.graph').transform.baseVal.consolidate().matrix;
        return {x: box.x + box.width / 2 + e, y: box.y + box.height / 2 + f};
    }
    return {x: whole.width / 2, y: whole.height / 2};
}

/// The whole graph where its text stays legible; else a window around this line.
function windowAround(line, area) {
    const fits = Math.min(area.width / whole.width, area.height / whole.height), legible = Math.min(1, area.width / whole.width);
    const scale = Math.max(fits, legible) * zoom, width = area.width / scale, height = area.height / scale, centre = middle(line);
    const place = (at, part, all) => (part >= all ? (all - part) / 2 : Math.min(Math.max(at - part / 2, 0), all - part));
    return [place(centre.x, width, whole.width), place(centre.y, height, whole.height), width, height].join(' ');
}

function drawGraph(k, area) {
    const step = steps[k], known = adjoints(k), sent = new Set(step.passed.map(({line}) => line));
    const view = windowAround(step.line ?? data.output, area);
    for (const {svg, nodes, edges} of drawings) {
        svg.setAttribute('viewBox', view);
        nodes.forEach((node, line) => {
            node?.classList.toggle('now', step.line === line);
            node?.classList.toggle('later', k < line);
            node?.classList.toggle('adjoint', known.has(line));
            node?.classList.toggle('touched', k > turn && sent.has(line));
        });
        for (const {element, from, to} of edges) {
            element.classList.toggle('later', k < to);
            element.classList.toggle('now', step.line === to && step.phase === 'forward');
            element.classList.toggle('back', step.line === to && step.phase === 'backward' && sent.has(from));
        }
    }
}

// ---- what is said, and moving on

function says(step, k) {
    const where = `Step ${k + 1} of ${steps.length}. `;
    if (step.phase === 'gradients') return where + at('verdict').textContent;
    const line = lines[step.line], what = `${phaseNames[step.phase]}, line ${named(step.line)}${line.name && line.kind === 'op' ? ', ' + line.op : ''}. `;
    if (step.phase === 'forward') return `${where}${what}Shape ${shapeText(line.shape)}, value ${summary(line.value)}.`;
    return where + what + step.passed.map(({line: to, adjoint}) => `Adjoint of ${named(to)}: ${summary(adjoint)}.`).join(' ');
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
    const {op, kind, name} = lines[line], page = data.ops[op]?.derivation, article = at('derivation').querySelector('article');
    if (page) article.replaceChildren(...markdown(page));
    else if (kind === 'op') article.replaceChildren(make('h2', {}, op), make('p', {}, data.ops[op]?.formula || 'This op has no page of its own.'));
    else article.replaceChildren(make('h2', {}, name || `line ${line}`), make('p', {}, kind === 'variable'
        ? 'A variable. Nothing is derived: its gradient is the sum of what every line that reads it passes back.'
        : 'A constant. No gradient is passed to it.'));
    at('derivation').showModal();
    article.scrollTop = 0;
}

// ---- one page for every step, for print and slides

const slide = {width: 400, height: 620}, slideRows = 11;

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
    Home: () => show(0), End: () => show(steps.length - 1), b: () => show(turn),
    d: () => { if (steps[now].line !== null) derive(steps[now].line); },
    '+': () => { zoom *= 1.25; show(now); }, '-': () => { zoom /= 1.25; show(now); }, 0: () => { zoom = 1; show(now); },
    t: () => setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark'),
    '?': () => at('help').showModal(),
};
document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector('dialog[open]')) return;
    if (event.key === ' ' && event.target.closest('button')) return; // it presses the button
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

// What is shown, from the data in the page: the moments of a computation, and numbers as text and tables. Nothing is
// computed here.
'use strict';

/// An element with attributes and children; strings become text.
function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
}

/// A formula, on a line of its own or in a line.
function formula(latex, displayed) {
    const box = make('span', {}, make('x-equation', displayed ? {type: 'display'} : {}, latex));
    typeset(box);
    return box;
}

const at = id => document.getElementById(id);
const data = JSON.parse(at('data').textContent);
const lines = data.lines;

// ---- the moments: every line forward, the cotangent, every step of the sweep, the gradients

const steps = [
    ...lines.map(line => ({phase: 'forward', line: line.line, passed: []})),
    {phase: 'cotangent', line: data.output, passed: [{line: data.output, gradient: data.cotangent}]},
    ...data.steps.map(step => ({phase: 'backward', ...step})),
    {phase: 'gradients', line: null, passed: []},
];
const turn = lines.length; // where the sweep begins
const completed = new Map(); // line → the step after which its gradient is complete
steps.forEach((step, k) => step.passed.forEach(({line}) => completed.set(line, k)));
let now = 0;

/// Every gradient as it stands after step k, by line.
function gradientsAt(k) {
    const found = new Map();
    for (let i = turn; i <= k; ++i) for (const {line, gradient} of steps[i].passed) found.set(line, gradient);
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
const short = (x, digits = 4) => (typeof x === 'string' ? x : minus(String(Number(x.toPrecision(digits)))));
const shapeText = shape => '(' + shape.join(', ') + ')';

function summary(numbers) {
    if (!numbers) return 'shape only';
    if (numbers.size === 0) return 'empty';
    if (numbers.size === 1) return short(numbers.min);
    if (numbers.not_finite > 0) return `${numbers.not_finite} of ${numbers.size} not finite`;
    return `${short(numbers.min)} … ${short(numbers.max)}`;
}

/// As many decimals as leave the largest number of an array `digits` digits: the points stand below each other. 0 is exactly 0.
function aligned(x, most, digits) {
    const decimals = digits - 1 - Math.floor(Math.log10(most));
    if (typeof x === 'string' || x === 0 || !(decimals >= 0 && decimals <= digits + 2)) return short(x, digits);
    return minus(x.toFixed(decimals));
}

/// Which of n indices are drawn: all, or the first ones, a gap and the last.
function shown(n, most) {
    const all = [...Array(n).keys()];
    return n <= most ? all : [...all.slice(0, most - 2), null, n - 1];
}

/// An array as a table: the last axis runs to the right. Colour says sign and size; `full`: every digit, four in a row.
function grid(numbers, shape, full = false) {
    if (!numbers?.numbers) return make('p', {class: 'summary'}, summary(numbers));
    const columns = shape.length ? shape[shape.length - 1] : 1, rows = columns ? numbers.size / columns : 0;
    const most = Math.max(Math.abs(numbers.min), Math.abs(numbers.max)); // NaN when a number is not finite: no colours
    const block = shape.length > 2 ? shape[shape.length - 2] : 0;
    const body = make('tbody'), narrow = columns > 5; // then two of them still stand side by side
    for (const i of shown(rows, full ? 64 : 8)) {
        let row = make('tr', block && i && i % block === 0 ? {class: 'slice'} : {});
        for (const j of shown(columns, full ? 64 : 8)) {
            if (full && j && j % 4 === 0) {
                body.append(row);
                row = make('tr', {class: 'more'});
            }
            if (i === null || j === null) {
                row.append(make('td', {class: 'gap'}, '…'));
                continue;
            }
            const x = numbers.numbers[i * columns + j], digits = full ? String(x) : aligned(x, most, narrow ? 3 : 4);
            const cell = make('td', {title: `[${i}, ${j}] ${x}`}, digits);
            if (typeof x === 'string') cell.className = 'wrong';
            else if (most > 0 && x !== 0) {
                cell.className = x < 0 ? 'negative' : 'positive';
                cell.style.setProperty('--size', (Math.abs(x) / most).toFixed(3));
            }
            row.append(cell);
        }
        body.append(row);
    }
    return make('table', {class: full ? 'grid full' : narrow ? 'grid narrow' : 'grid'}, body);
}

const kindOf = line => (line.kind === 'op' ? line.op : line.kind);

function named(line) {
    const {op, name} = lines[line];
    return name ? `${line} ${name}` : `${line} ${op}`;
}

/// A number grid with what it is above it.
function figure(head, note, numbers, shape, full) {
    return make('figure', {}, make('figcaption', {}, make('b', {}, head), ' ', note), grid(numbers, shape, full));
}

/// What a formula calls an operand: γ for "gamma", with a bar for its gradient.
const letters = ['alpha', 'beta', 'gamma', 'tau', 'sigma'];
function symbol(name, barred = false) {
    const word = `\\text{${name.replace(/[^A-Za-z0-9 ]/g, ' ')}}`;
    const tex = letters.includes(name) ? '\\' + name : name === 'eps' ? '\\varepsilon' : name.length === 1 ? name : word;
    if (typeof katex === 'undefined') return name + (barred ? '\u0304' : '');
    return formula(barred ? `\\bar{${tex}}` : tex, false);
}

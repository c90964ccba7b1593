// The card of a step: its formulas, and the numbers that come in and go out.
'use strict';

const phaseNames = {forward: 'Forward', cotangent: 'The sweep begins', backward: 'Backward', gradients: 'Gradients'};

function title(step) {
    if (step.phase === 'gradients') return [make('h2', {class: 'backward'}, 'Gradients')];
    const line = lines[step.line];
    const parts = [`line ${line.line}`, line.name, kindOf(line), line.scope && `in ${line.scope}`].filter(part => part);
    const direction = step.phase === 'forward' ? 'forward' : 'backward';
    return [make('h2', {class: direction}, make('b', {}, phaseNames[step.phase]), ' ' + parts.join(' · '))];
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
    for (const [key, value] of Object.entries(line.attributes))
        list.append(make('span', {}, symbol(key), ' = ', value));
    return list;
}

/// What the forward keeps for the backward, if anything.
function saved(line, note) {
    const size = line.saved.size;
    return size > 0 ? [figure('saved', `${note}: ${size} ${size === 1 ? 'number' : 'numbers'}`, line.saved, [size])] : [];
}

function forwardCard(step) {
    const line = lines[step.line], figures = make('div', {class: 'figures'});
    if (line.kind !== 'op') {
        figures.append(figure('value', shapeText(line.shape), line.value, line.shape));
        const about = line.kind === 'variable' ? 'A leaf: its value is given, its gradient is wanted.'
            : 'A constant: its value is given, it gets no gradient.';
        return [make('p', {}, about), figures];
    }
    figures.append(figure(symbol('y'), `the value ${shapeText(line.shape)}`, line.value, line.shape));
    line.inputs.forEach((input, i) => {
        if (input < 0) return;
        const {shape, value} = lines[input];
        figures.append(figure(symbol(line.input_names[i]), `${named(input)} ${shapeText(shape)}`, value, shape));
    });
    figures.append(...saved(line, 'for the backward'));
    return [formulas(line, 'forward'), reads(line, false), figures];
}

function cotangentCard(step) {
    const line = lines[step.line];
    const about = line.value.size === 1 ? 'The output is one number, so its cotangent is 1.'
        : 'What the loss says of the output: the cotangent the sweep starts from.';
    return [make('p', {}, about),
            make('div', {class: 'figures'}, figure(symbol('y'), `the value ${shapeText(line.shape)}`, line.value, line.shape),
                 figure(symbol('y', true), 'the cotangent', data.cotangent, line.shape))];
}

function backwardCard(step, k) {
    const line = lines[step.line], before = gradientsAt(k - 1);
    const arrived = figure(symbol('y', true), `has arrived at ${named(step.line)}`, before.get(step.line), line.shape);
    const figures = make('div', {class: 'figures'}, arrived);
    for (const {line: to, gradient} of step.passed) {
        const input = line.inputs.indexOf(to), note = before.has(to) ? ', added to what was there' : '';
        const head = symbol(line.input_names[input], true);
        figures.append(figure(head, `to ${named(to)}${note}`, gradient, lines[to].shape));
    }
    figures.append(...saved(line, 'by the forward'));
    return [formulas(line, 'backward'), reads(line, true), figures];
}

function gradientsCard(k) {
    const end = gradientsAt(k), figures = make('div', {class: 'figures'});
    let equal = true;
    for (const {line, gradient} of data.gradients) {
        const reached = end.get(line);
        equal = equal && JSON.stringify(reached?.numbers) === JSON.stringify(gradient.numbers);
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

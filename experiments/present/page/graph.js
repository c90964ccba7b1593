// The graph, drawn twice, in light and in dark colours with one layout: what is lit, and which part is seen.
'use strict';

const drawings = ['light', 'dark'].map(theme => {
    const svg = at('graph').querySelector(`.${theme} svg`), find = line => at(`${theme}-line-${line.line}`);
    const edges = [...svg.querySelectorAll(`[id^="${theme}-edge-"]`)].map(element => {
        const [from, to] = element.id.replace(`${theme}-edge-`, '').split('-').map(Number);
        return {element, from, to};
    });
    return {svg, nodes: lines.map(find), edges};
});
const whole = {width: drawings[0].svg.viewBox.baseVal.width, height: drawings[0].svg.viewBox.baseVal.height};
const legible = 1.1; // pixels a point: 13 pixels high
let zoom = 1, seeAll = false;

for (const {svg, nodes} of drawings) {
    svg.removeAttribute('width');
    svg.removeAttribute('height');
    nodes.forEach((node, line) => {
        if (!node) return;
        node.setAttribute('tabindex', '0');
        node.setAttribute('role', 'button');
        node.setAttribute('aria-label', `${kindOf(lines[line])}, line ${named(line)}, shape ${shapeText(lines[line].shape)}`);
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

/// The whole graph where its text stays legible, at the end, and when asked for; else a window around this line.
function windowAround(line, area) {
    const fits = Math.min(area.width / whole.width, area.height / whole.height);
    const scale = (seeAll || line === null ? fits : Math.max(fits, legible)) * zoom;
    const width = area.width / scale, height = area.height / scale, centre = middle(line);
    const place = (at, part, all) => part >= all ? (all - part) / 2 : Math.min(Math.max(at - part / 2, 0), all - part);
    return [place(centre.x, width, whole.width), place(centre.y, height, whole.height), width, height].join(' ');
}

function drawGraph(k, area) {
    const step = steps[k], known = gradientsAt(k), sent = new Set(step.passed.map(({line}) => line));
    const view = windowAround(step.line, area);
    for (const {svg, nodes, edges} of drawings) {
        svg.setAttribute('viewBox', view);
        nodes.forEach((node, line) => {
            node?.classList.toggle('now', step.line === line);
            node?.classList.toggle('later', k < line);
            node?.classList.toggle('reached', known.has(line));
            node?.classList.toggle('touched', k > turn && sent.has(line));
        });
        for (const {element, from, to} of edges) {
            element.classList.toggle('later', k < to);
            element.classList.toggle('now', step.line === to && step.phase === 'forward');
            element.classList.toggle('back', step.line === to && step.phase === 'backward' && sent.has(from));
        }
    }
}

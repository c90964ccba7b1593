// The Markdown of the derivation pages as elements. Text only ever becomes text nodes.
'use strict';

/// An element with attributes and children; strings become text.
function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
}

/// A formula typeset by KaTeX; as it stands where KaTeX is not there or does not know a word of it.
function formula(tex, displayed) {
    const element = make('span', {class: displayed ? 'display' : 'inline'});
    if (typeof katex === 'undefined')
        element.append(make('code', {}, tex));
    else
        katex.render(tex, element, {displayMode: displayed, throwOnError: false, strict: 'ignore'});
    return element;
}

/// Within a paragraph: $formula$ and $$formula$$, `code`, **strong**, *emphasis*, [text](link); a link is only its text.
function inlines(text) {
    const out = [];
    const pattern = /\$\$([^$]+)\$\$|\$([^$]+)\$|`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|\[([^\]]+)\]\([^)]*\)/;
    for (let found; (found = pattern.exec(text)); text = text.slice(found.index + found[0].length)) {
        out.push(text.slice(0, found.index));
        const [, displayed, tex, code, strong, emphasis, link] = found;
        if (displayed !== undefined) out.push(formula(displayed, true));
        else if (tex !== undefined) out.push(formula(tex, false));
        else if (code !== undefined) out.push(make('code', {}, code));
        else if (strong !== undefined) out.push(make('strong', {}, ...inlines(strong)));
        else if (emphasis !== undefined) out.push(make('em', {}, ...inlines(emphasis)));
        else out.push(...inlines(link));
    }
    out.push(text);
    return out;
}

function table(lines) {
    const cells = line => line.replace(/^\||\|$/g, '').split('|').map(cell => inlines(cell.trim()));
    const row = (line, tag) => make('tr', {}, ...cells(line).map(cell => make(tag, {}, ...cell)));
    const rows = lines.filter((_, i) => i !== 1).map((line, i) => row(line, i === 0 ? 'th' : 'td'));
    return make('table', {}, ...rows);
}

/// Headings, paragraphs, lists, fenced code, tables and displayed formulas.
function markdown(text) {
    const lines = text.split('\n'), out = [];
    const take = wanted => {
        const taken = [];
        while (lines.length && wanted(lines[0])) taken.push(lines.shift());
        return taken;
    };
    while (lines.length) {
        const line = lines[0], heading = /^(#+) +(.*)$/.exec(line);
        if (line.trim() === '') {
            lines.shift();
        } else if (heading) {
            lines.shift();
            out.push(make('h' + Math.min(heading[1].length + 1, 6), {}, ...inlines(heading[2])));
        } else if (line.startsWith('```')) {
            lines.shift();
            out.push(make('pre', {}, take(each => !each.startsWith('```')).join('\n')));
            lines.shift();
        } else if (line.startsWith('$$')) {
            const taken = [lines.shift()];
            while (lines.length && !/\$\$\s*$/.test(taken.join('\n').slice(2))) taken.push(lines.shift());
            out.push(formula(taken.join('\n').trim().slice(2, -2), true));
        } else if (line.startsWith('|')) {
            out.push(table(take(each => each.startsWith('|'))));
        } else if (/^(\*|\d+\.) /.test(line)) {
            const list = make(line.startsWith('*') ? 'ul' : 'ol');
            while (lines.length && /^(\*|\d+\.) /.test(lines[0])) {
                const item = [lines.shift().replace(/^\S+ /, ''), ...take(each => /^ +\S/.test(each))];
                list.append(make('li', {}, ...inlines(item.join(' '))));
            }
            out.push(list);
        } else {
            const taken = [lines.shift(), ...take(each => each.trim() !== '' && !/^(#|```|\$\$|\||\* )/.test(each))];
            out.push(make('p', {}, ...inlines(taken.join(' '))));
        }
    }
    return out;
}

// Formulas of a page, typeset by KaTeX; where it is not in the page they stay as LaTeX.
'use strict';

/// The formulas inside an element; those that are typeset already stay.
function typeset(root) {
    if (typeof katex === 'undefined') return;
    for (const each of root.querySelectorAll('x-equation:not(.typeset)')) {
        const displayMode = each.getAttribute('type') === 'display';
        katex.render(each.textContent, each, {displayMode, throwOnError: false, strict: 'ignore'});
        each.className = 'typeset';
    }
}

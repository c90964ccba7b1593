"""The page of `chalkgrad present`, driven by its keys: forward, backward, and the gradients of backward()."""

import json
import os
import pathlib
import re
import subprocess
import tempfile

from harness import Browser, Checks, Keys, arguments, skip

parser = arguments(__doc__)
parser.add_argument("--program", required=True, help="the chalkgrad of this build")
parser.add_argument("subjects", nargs="+", help="blocks, ops, experiments")
options = parser.parse_args()
checks = Checks()
if not pathlib.Path("/usr/share/javascript/katex/katex.min.js").exists():
    skip("libjs-katex is not installed")


def chalkgrad(*words, **environment):
    return subprocess.run([options.program, *words], capture_output=True, text=True, check=True, env=os.environ | environment)


def shown_numbers(browser, line):
    """The gradient of a line as the last card shows it, digit for digit."""
    cells = browser.run("""const cells = at('card').querySelectorAll(`figure[data-line='${arguments[0]}'] td`);
                           return [...cells].map(cell => cell.textContent)""", line)
    return [float(cell) for cell in cells]


def look(browser):
    """Where we are, what is said, and by how much the page is wider and higher than the screen."""
    return browser.run("""const e = document.documentElement; return [at('where').textContent, at('said').textContent,
                          e.scrollWidth - e.clientWidth, e.scrollHeight - e.clientHeight]""")


def step_through(browser, name, page):
    """To the end and back with the arrow keys; what is shown must be what `trace` computes."""
    trace = json.loads(chalkgrad("trace", name, "--json").stdout)
    browser.open(page)
    turn, swept = len(trace["lines"]), [line for line in trace["lines"] if line["kind"] == "op" and line["adjoint"]]
    count = turn + len(swept) + 2
    said = set()
    for step in range(1, count + 1):
        where, words, *over = look(browser)
        checks.equal(where, f"{step} / {count}", f"{name}: after {step - 1} times →")
        checks.equal(over, [0, 0], f"{name}, step {step}: wider or higher than the screen by")
        said.add(words)
        if step in (3, turn + 2, count):
            browser.shot(f"{name}-{step}")
        browser.press(Keys.ARROW_RIGHT)
    checks.equal(len(said), count, f"{name}: every step is said differently")
    checks.equal(look(browser)[0], f"{count} / {count}", f"{name}: → at the end")
    checks.that(browser.text("#verdict").startswith("✓"), f"{name}: {browser.text('#verdict')}")
    variables = [line for line in trace["lines"] if line["kind"] == "variable" and line["adjoint"]]
    checks.that(variables, f"{name}: no variables")
    for line in variables:
        got, want = shown_numbers(browser, line["line"]), [float(x) for x in line["adjoint"]["numbers"]]
        checks.equal(got, want, f"{name}: gradient of line {line['line']}")
    browser.press(Keys.ARROW_LEFT)
    checks.equal(look(browser)[0], f"{count - 1} / {count}", f"{name}: ←")
    browser.press(Keys.HOME)
    checks.equal(look(browser)[0], f"1 / {count}", f"{name}: Home")
    checks.none(browser.faults(), name)
    return trace


def keys_and_readers(browser, trace):
    """Everything by keyboard, and words for those who do not see the page."""
    turn, count = len(trace["lines"]), browser.run("return steps.length")
    browser.press("b")
    checks.equal(look(browser)[0], f"{turn + 1} / {count}", "b")
    browser.press(Keys.PAGE_DOWN, " ", Keys.PAGE_UP)
    checks.equal(look(browser)[0], f"{turn + 2} / {count}", "the keys of a presenter")
    line = browser.run("return steps[now].line")
    browser.press("d")
    title = browser.run("return document.querySelector('#derivation[open] article h2')?.textContent")
    checks.equal(title, trace["lines"][line]["op"], "d opens the derivation")
    checks.that(browser.run("return document.querySelectorAll('#derivation .katex').length") > 5, "it is not typeset")
    browser.shot("derivation")
    browser.press(Keys.ARROW_RIGHT)
    checks.equal(look(browser)[0], f"{turn + 2} / {count}", "no step while the derivation is open")
    browser.press(Keys.ESCAPE)
    checks.that(browser.run("return !document.querySelector('dialog[open]')"), "Esc closes the derivation")
    browser.press("?")
    checks.that(browser.run("return at('help').open"), "? opens the keys")
    browser.press(Keys.ESCAPE)
    browser.press("t")
    checks.equal(browser.run("return document.documentElement.dataset.theme"), "dark", "t")
    browser.shot("dark")
    browser.press("t")
    view = browser.run("return drawings[0].svg.getAttribute('viewBox')")
    browser.press("0")
    checks.that(browser.run("return drawings[0].svg.getAttribute('viewBox')") != view, "0 shows all of the graph")
    browser.press("0")

    # Tab reaches the buttons, every box of the graph that is seen, and every line.
    browser.run("""window.reached = [];
        document.addEventListener('focusin', e => reached.push(e.target.id || e.target.getAttribute('aria-label')));
        document.activeElement.blur()""")
    browser.press(*[Keys.TAB] * (2 * turn + 30))
    reached = browser.run("return reached")
    lines = [text for i in range(turn) for text in (f"light-line-{i}", f"To line {i}")]
    for want in ["on", "card", "tape", *lines]:
        checks.that(want in reached, f"Tab does not reach {want}")
    unnamed = browser.run("""const all = [...document.querySelectorAll('button, [role=button], [tabindex], dialog, nav')];
        return all.filter(e => !e.getAttribute('aria-label') && !e.textContent.trim()).map(e => e.outerHTML)""")
    checks.equal(unnamed, [], "without a name for screen readers")
    browser.run("at('light-line-2').focus()")
    browser.press(Keys.ENTER)
    checks.that(browser.run("return at('derivation').open"), "Enter on a box opens its derivation")
    browser.press(Keys.ESCAPE)


def derivations(browser):
    """No formula of docs/derivations is refused by KaTeX."""
    pages = sorted((pathlib.Path(__file__).parents[2] / "docs" / "derivations").glob("*.md"))
    checks.that(len(pages) > 60, f"only {len(pages)} derivations")
    for page in pages:
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        found = [a or b for a, b in re.findall(r"\$\$(.+?)\$\$|\$(.+?)\$", text, flags=re.DOTALL)]
        wrong = browser.run("""
            const box = make('div', {}, ...arguments[0].map(latex => formula(latex, true)));
            return [...box.querySelectorAll('.katex-error')].map(each => each.title)""", found)
        checks.equal(wrong, [], page.name)


def hostile_names(browser, page):
    """A name with tags in it is text, in the table, the card, the titles and what is said."""
    name = "<img src=x onerror=console.error(1)></script><script>console.error(2)</script>"
    text = page.read_text()
    as_json = name.replace("<", "\\u003c")
    changed = text.replace('"name":"gamma"', f'"name":"{as_json}"').replace('"op":"rms_norm"', f'"op":"{as_json}"')
    checks.that(changed != text, "the page has no such name")
    hostile = page.with_name("hostile.html")
    hostile.write_text(changed.replace('"rms_norm":{', f'"{as_json}":{{'))
    browser.open(hostile)
    seen = browser.run("""let seen = '';
        for (let k = 0; k < steps.length; ++k) {
            show(k);
            if (steps[k].line !== null) derive(steps[k].line);
            for (const part of ['graph', 'card', 'tape', 'said', 'derivation']) seen += at(part).textContent;
            at('derivation').close();
        }
        return seen""")
    checks.that(name in seen, "the name is not shown")
    checks.that(browser.run("return !document.querySelector('img')"), "a name became an element")
    checks.none(browser.faults(), "hostile names")


def without_katex(browser, folder):
    """Formulas then stand as TeX, and a message says why."""
    page = folder / "plain.html"
    said = chalkgrad("present", "silu", "-o", page, CHALKGRAD_KATEX=str(folder / "none")).stderr
    checks.that("libjs-katex" in said, f"no word of the missing KaTeX: {said}")
    browser.open(page)
    browser.press(Keys.ARROW_RIGHT)
    checks.that("\\sigma" in browser.text(".formulas"), "no TeX instead of KaTeX")
    checks.none(browser.faults(), "without KaTeX")


def slides(folder, name, trace):
    """As many printed pages as steps."""
    page, pdf = folder / f"{name}.html", folder / "slides.pdf"
    subprocess.run(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000",
                    "--no-pdf-header-footer", f"--user-data-dir={folder / 'profile'}", f"--print-to-pdf={pdf}",
                    f"file://{page}#frames"], check=True, capture_output=True)
    swept = [line for line in trace["lines"] if line["kind"] == "op" and line["adjoint"]]
    pages = max(int(n) for n in re.findall(rb"/Count (\d+)", pdf.read_bytes()))
    checks.equal(pages, len(trace["lines"]) + len(swept) + 2, "slides")


with tempfile.TemporaryDirectory() as folder, Browser(options.shots) as browser:
    folder = pathlib.Path(folder)
    for number, name in enumerate(options.subjects):
        page = folder / f"{name}.html"
        checks.equal(chalkgrad("present", name, "-o", page).stderr, "", f"{name}: standard error")
        trace = step_through(browser, name, page)
        if number == 0:
            first = trace
            keys_and_readers(browser, trace)
            derivations(browser)
            hostile_names(browser, page)
    without_katex(browser, folder)
    slides(folder, options.subjects[0], first)
checks.finish()

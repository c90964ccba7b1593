"""The page of `chalkgrad present`, driven by its keys alone: forward, backward, and the gradients of backward() at the end."""

import json
import os
import pathlib
import re
import subprocess
import tempfile

from harness import Browser, Checks, Keys, arguments

parser = arguments(__doc__)
parser.add_argument("--program", required=True, help="the chalkgrad of this build")
parser.add_argument("subjects", nargs="+", help="blocks, ops, experiments")
options = parser.parse_args()
checks = Checks()


def chalkgrad(*words, **environment):
    return subprocess.run([options.program, *words], capture_output=True, text=True, env=os.environ | environment, check=True)


def shown_numbers(browser, line):
    """The gradient of a line as the last card shows it, digit for digit."""
    cells = browser.run("return [...document.querySelectorAll(`#card figure[data-line='${arguments[0]}'] td`)].map(c => c.textContent)", line)
    return [float(cell) for cell in cells]


def step_through(browser, name, page):
    """To the end and back with the arrow keys; what is shown must be what `trace` computes."""
    trace = json.loads(chalkgrad("trace", name, "--json").stdout)
    browser.open(page)
    count = int(browser.text("#where").split("/")[1])
    ops = [line for line in trace["lines"] if line["kind"] == "op"]
    swept = [line for line in ops if line["adjoint"]]
    checks.equal(count, len(trace["lines"]) + len(swept) + 2, f"{name}: steps")
    said = set()
    for step in range(1, count):
        said.add(browser.text("#said"))
        if step in (3, len(trace["lines"]) + 2):
            browser.shot(f"{name}-{step}")
        browser.press(Keys.ARROW_RIGHT)
        checks.equal(browser.text("#where"), f"{step + 1} / {count}", f"{name}: after →")
    checks.equal(len(said), count - 1, f"{name}: every step is said differently")
    browser.shot(f"{name}-end")
    checks.that(browser.text("#verdict").startswith("✓"), f"{name}: {browser.text('#verdict')}")
    variables = [line for line in trace["lines"] if line["kind"] == "variable" and line["adjoint"]]
    checks.that(variables, f"{name}: no variables")
    for line in variables:
        checks.equal(shown_numbers(browser, line["line"]), [float(x) for x in line["adjoint"]["numbers"]], f"{name}: gradient of line {line['line']}")
    browser.press(Keys.ARROW_RIGHT)
    checks.equal(browser.text("#where"), f"{count} / {count}", f"{name}: → at the end")
    browser.press(Keys.ARROW_LEFT)
    checks.equal(browser.text("#where"), f"{count - 1} / {count}", f"{name}: ←")
    browser.press(Keys.HOME)
    checks.equal(browser.text("#where"), f"1 / {count}", f"{name}: Home")
    checks.none(browser.faults(), name)
    return trace


def keys_and_readers(browser, trace):
    """Everything by keyboard, and words for those who do not see the page."""
    count = int(browser.text("#where").split("/")[1])
    browser.press("b")
    checks.equal(browser.text("#where"), f"{len(trace['lines']) + 1} / {count}", "b")
    browser.press(Keys.PAGE_DOWN, " ", Keys.PAGE_UP)
    checks.equal(browser.text("#where"), f"{len(trace['lines']) + 2} / {count}", "the keys of a presenter")
    line = browser.run("return steps[now].line")
    browser.press("d")
    title = browser.run("return document.querySelector('#derivation[open] article h2')?.textContent")
    checks.equal(title, trace["lines"][line]["op"], "d opens the derivation")
    checks.that(browser.run("return document.querySelectorAll('#derivation .katex').length") > 5, "the derivation is typeset")
    checks.that(browser.run("return !document.querySelector('.katex-error')"), "a formula of the derivation is not understood")
    browser.shot("derivation")
    browser.press(Keys.ARROW_RIGHT)
    checks.equal(browser.text("#where"), f"{len(trace['lines']) + 2} / {count}", "no step while the derivation is open")
    browser.press(Keys.ESCAPE)
    checks.that(browser.run("return !document.querySelector('dialog[open]')"), "Esc closes the derivation")
    browser.press("?")
    checks.that(browser.run("return document.querySelector('#help').open"), "? opens the keys")
    browser.press(Keys.ESCAPE)

    # Tab reaches the buttons, every box of the graph that is seen, and every line.
    reached = set()
    browser.run("document.activeElement.blur()")
    for _ in range(2 * len(trace['lines']) + 30):
        browser.press(Keys.TAB)
        reached.add(browser.run("const e = document.activeElement; return e.id || e.getAttribute('aria-label') || e.tagName"))
    for want in ["on", "card", "tape", *(f"light-line-{k['line']}" for k in trace["lines"]), *(f"To line {k['line']}" for k in trace["lines"])]:
        checks.that(want in reached, f"Tab does not reach {want}")
    unnamed = browser.run("""return [...document.querySelectorAll('button, [role=button], [tabindex], dialog, nav')].filter(
        e => !(e.getAttribute('aria-label') || e.textContent.trim())).map(e => e.outerHTML.slice(0, 80))""")
    checks.equal(unnamed, [], "without a name for screen readers")
    browser.run("document.getElementById('light-line-2').focus()")
    browser.press(Keys.ENTER)
    checks.that(browser.run("return document.querySelector('#derivation').open"), "Enter on a box opens its derivation")
    browser.press(Keys.ESCAPE)


def fits(browser, name):
    """On a projector of 1280 x 720 nothing needs the page itself to be scrolled, at any step, in light and dark."""
    for theme in ("light", "dark"):
        browser.scheme(theme)
        browser.press(Keys.HOME)
        checks.equal(browser.run("return document.documentElement.dataset.theme"), theme, "theme")
        for step in range(int(browser.text("#where").split("/")[1])):
            over = browser.run("const e = document.documentElement; return [e.scrollWidth - e.clientWidth, e.scrollHeight - e.clientHeight]")
            checks.equal(over, [0, 0], f"{name}, {theme}, step {step + 1}: wider or higher than the screen by")
            browser.press(Keys.ARROW_RIGHT)
        browser.shot(f"{name}-{theme}")
    browser.scheme("light")


def derivations(browser):
    """Every page of docs/derivations is understood: no formula that KaTeX refuses, no mark of Markdown left as text."""
    pages = sorted((pathlib.Path(__file__).parents[2] / "docs" / "derivations").glob("*.md"))
    checks.that(len(pages) > 60, f"only {len(pages)} derivations")
    for page in pages:
        wrong = browser.run("""
            const box = make('div', {}, ...markdown(arguments[0]));
            const faults = [...box.querySelectorAll('.katex-error')].map(e => e.title);
            box.querySelectorAll('.katex, code, pre').forEach(e => e.remove());
            return [...faults, ...(box.textContent.match(/\\$|\\*\\*|`|\\]\\(|^#/gm) ?? []), ...(box.querySelector('h2') ? [] : ['no heading'])]""",
                            page.read_text())
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
    seen = ""
    for _ in range(int(browser.text("#where").split("/")[1])):
        seen += browser.text("main") + browser.text("#said")
        browser.press("d", Keys.ESCAPE, Keys.ARROW_RIGHT)
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


def slides(folder, name):
    """As many pages as steps."""
    pdf = folder / "slides.pdf"
    chalkgrad("present", name, "--frames", pdf)
    trace = json.loads(chalkgrad("trace", name, "--json").stdout)
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
            keys_and_readers(browser, trace)
            fits(browser, name)
            checks.none(browser.faults(), name)
            derivations(browser)
            hostile_names(browser, page)
    without_katex(browser, folder)
    slides(folder, options.subjects[0])
checks.finish()

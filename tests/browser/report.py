"""The report of all experiments: nothing asked of a network, every figure drawn, every link leads somewhere, nothing sticks out."""

import json
import pathlib

from harness import Browser, Checks, arguments

parser = arguments(__doc__)
parser.add_argument("folder", type=pathlib.Path, help="what `chalkgrad run --all --out` made")
folder = parser.parse_args().folder
shots = parser.parse_args().shots

checks = Checks()
with Browser(shots) as browser:
    browser.open(folder / "index.html")
    browser.run("document.querySelectorAll('details').forEach(each => each.open = true)")
    browser.run("return new Promise(done => setTimeout(done, 100))")  # formulas are typeset when their page is opened
    checks.none(browser.faults(), "index.html")
    if pathlib.Path("/usr/share/javascript/katex/katex.min.js").exists():
        checks.equal(browser.run("return document.querySelectorAll('x-equation:not(.typeset), .katex-error').length"), 0, "formulas not typeset")
        checks.that(browser.run("return document.querySelectorAll('.katex').length") > 300, "hardly any formulas")

    drawn = browser.run("return document.querySelectorAll('figure > svg').length")
    checks.equal(drawn, len(list(folder.glob("*.svg"))), "figures on the page against .svg files beside it")
    nameless = browser.run("return [...document.querySelectorAll('figure > svg')].filter(e => !e.querySelector('title')).length")
    checks.equal(nameless, 0, "figures without a title for those who cannot see them")
    ids = browser.run("return [...document.querySelectorAll('[id]')].map(e => e.id)")
    checks.equal(len(set(ids)), len(ids), "different ids")

    for href in browser.run("return [...document.querySelectorAll('a[href]')].map(e => e.getAttribute('href'))"):
        leads = href[1:] in ids if href.startswith("#") else (folder / href).is_file()
        checks.that(leads, f"the link {href} leads nowhere")

    # One article for each experiment; each number's verdict is the one of its JSON file.
    articles = browser.run("return [...document.querySelectorAll('article')].map(e => [e.id, e.querySelectorAll('.verdict').length])")
    checks.that(len(articles) >= 22, f"only {len(articles)} experiments")
    for name, verdicts in articles:
        numbers = json.loads((folder / f"{name}.json").read_text())["numbers"]
        checks.equal(verdicts, len(numbers), f"{name}: verdicts shown")

    for width in (1280, 800):
        browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                       {"width": width, "height": 720, "deviceScaleFactor": 1, "mobile": False})
        wide = browser.run("return document.documentElement.scrollWidth")
        checks.that(wide <= width, f"at {width} pixels the page is {wide} wide")

    browser.run("document.querySelectorAll('details').forEach(each => each.open = false)")
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.shot("top")
    for section in browser.run("return [...document.querySelectorAll('main > section')].map(e => e.id)"):
        browser.run("document.getElementById(arguments[0]).scrollIntoView()", section)
        browser.shot(section)
checks.finish()

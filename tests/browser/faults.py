"""The harness itself: a sound page has no faults, and each kind of fault is seen."""

import pathlib
import tempfile

from harness import Browser, Checks, arguments

SOUND = """<!DOCTYPE html><title>sound</title><svg width="40" height="40"><rect width="10" height="10"/></svg>
<img src="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='4' height='4'/>"><img src="beside.svg">"""
BESIDE = "<svg xmlns='http://www.w3.org/2000/svg' width='4' height='4'/>"
FAULTY = {
    "console.error": ("<script>console.error('heard')</script>", "heard"),
    "uncaught": ("<script>undefined_function()</script>", "undefined_function"),
    "network": ("<script>fetch('https://example.org/x').catch(() => 0)</script>", "asks for https://example.org/x"),
    "broken picture": ("<img src='none.png'>", "broken picture"),
    "empty svg": ("<svg class='empty' width='9' height='9'></svg>", "nothing drawn in an svg of class \"empty\""),
    "flat svg": ("<svg class='flat' width='9' height='0'><rect width='9' height='9'/></svg>", "class \"flat\""),
}

options = arguments(__doc__).parse_args()
checks = Checks()
with tempfile.TemporaryDirectory() as folder, Browser(options.shots) as browser:
    page = pathlib.Path(folder, "page.html")
    pathlib.Path(folder, "beside.svg").write_text(BESIDE)
    page.write_text(SOUND)
    browser.open(page)
    checks.none(browser.faults(), "a sound page")
    for name, (body, want) in FAULTY.items():
        page.write_text(f"<!DOCTYPE html><title>faulty</title>{body}")
        browser.open(page)
        browser.run("return new Promise(done => setTimeout(done, 100))")
        faults = browser.faults()
        checks.that(any(want in fault for fault in faults), f"{name} is not seen: {faults}")
checks.finish()

"""Opens pages: no console error, no network request, every figure drawn; keeps a picture of each."""

import pathlib

from harness import Browser, Checks, arguments

parser = arguments(__doc__)
parser.add_argument("pages", nargs="+", metavar="PAGE.html", help="pages, or folders with pages")
options = parser.parse_args()

checks = Checks()
pages = [page for given in map(pathlib.Path, options.pages)
         for page in (sorted(given.glob("**/*.html")) if given.is_dir() else [given])]
checks.that(pages, f"no page in {', '.join(options.pages)}")
with Browser(options.shots) as browser:
    for page in pages:
        browser.scheme("light")
        browser.open(page)
        # Down to its foot, so that what is drawn on being seen is drawn.
        browser.run("window.scrollTo(0, document.body.scrollHeight)")
        checks.none(browser.faults(), page.name)
        browser.run("window.scrollTo(0, 0)")
        browser.shot(page.stem)
        browser.scheme("dark")
        browser.shot(page.stem + "-dark")
checks.finish()

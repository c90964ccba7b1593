"""Drives Debian's Chromium without a window: opens a page, presses keys, and holds it to what every page must keep."""

import argparse
import json
import pathlib
import shutil
import sys
import tempfile

SKIPPED = 77  # what CTest takes for "could not run here"


def skip(why):
    print(f"skipped: {why}; apt-get install chromium chromium-driver python3-selenium libjs-katex fonts-katex")
    sys.exit(SKIPPED)


try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys  # noqa: F401, for the tests
except ImportError:
    skip("python3-selenium is not installed")


class Browser:
    """One Chromium of 1280 x 720 without a network. `shots` is where pictures of pages go."""

    def __init__(self, shots):
        chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
        if not chromium or not driver:
            skip("chromium or chromium-driver is not installed")
        self.shots = pathlib.Path(shots)
        self.shots.mkdir(parents=True, exist_ok=True)
        self.profile = tempfile.TemporaryDirectory(prefix="chalkgrad-browser-", ignore_cleanup_errors=True)
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for argument in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                         "--hide-scrollbars", "--no-first-run", "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND",
                         f"--user-data-dir={self.profile.name}"]:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service(driver), options=options)
        self.driver.set_page_load_timeout(60)
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": 1280, "height": 720, "deviceScaleFactor": 1, "mobile": False})
        self.console, self.requests = [], []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()
        self.profile.cleanup()

    def open(self, page, fragment=""):
        """Loads a file, and forgets what earlier pages said and asked for."""
        self.page = pathlib.Path(page).resolve()
        self.listen()
        self.console, self.requests = [], []
        self.driver.get("about:blank")
        self.driver.get(self.page.as_uri() + fragment)
        self.run("return document.fonts.ready.then(() => 0)")

    def listen(self):
        """Collects what the console said and what was asked of the network since the last time."""
        self.console += [entry for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])

    def run(self, script, *arguments):
        """The result of JavaScript: a function body."""
        return self.driver.execute_script(script, *arguments)

    def text(self, selector):
        """What stands in the first such element, drawn or not."""
        return self.run("return document.querySelector(arguments[0])?.textContent ?? null", selector)

    def press(self, *keys):
        """Keys go where the focus is, as from a keyboard; nothing is clicked."""
        ActionChains(self.driver).send_keys(*keys).perform()

    def shot(self, name):
        path = self.shots / f"{name}.png"
        self.driver.save_screenshot(str(path))
        return path

    # ---- what every page must keep: each returns a list of faults

    def faults(self):
        """All that is wrong with the page by now."""
        self.listen()
        return self.console_faults() + self.network_faults() + self.figure_faults()

    def console_faults(self):
        return [f"the console says: {entry['message']}" for entry in self.console]

    def network_faults(self):
        """Anything but the page, what stands in it, and files of its own folder."""
        home = self.page.parent.as_uri() + "/"
        inside = (home, "data:", "blob:", "about:")
        return [f"asks for {url[:200]}" for url in self.requests if not url.startswith(inside)]

    def figure_faults(self):
        """Pictures that are broken, or take no room, or are empty."""
        return self.run("""
            const faults = [], shown = e => e.checkVisibility ? e.checkVisibility() : true;
            document.querySelectorAll('img').forEach(e => {
                if (shown(e) && (!e.complete || e.naturalWidth === 0))
                    faults.push('broken picture ' + e.src.slice(0, 100));
            });
            document.querySelectorAll('svg').forEach(e => {
                if (e.parentElement.closest('svg') || e.closest('.katex') || !shown(e)) return;
                const box = e.getBoundingClientRect();
                const drawn = e.querySelector('path, polygon, polyline, ellipse, circle, rect, line, text, image, use');
                if (!(box.width > 1 && box.height > 1) || !drawn)
                    faults.push(`nothing drawn in an svg of class "${e.getAttribute('class')}"`);
            });
            return faults""")


def arguments(description):
    """The command line of a test: --shots DIR, and whatever the caller adds."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--shots", default="shots", help="folder for the pictures of pages")
    return parser


class Checks:
    """Collects faults, so that one run shows all of them."""

    def __init__(self):
        self.faults = []

    def that(self, holds, what):
        if not holds:
            self.faults.append(what)

    def equal(self, got, want, what):
        self.that(got == want, f"{what}: {got!r} instead of {want!r}")

    def none(self, faults, where):
        self.faults += [f"{where}: {fault}" for fault in faults]

    def finish(self):
        for fault in self.faults:
            print("FAULT", fault)
        print("all holds" if not self.faults else f"{len(self.faults)} fault(s)")
        sys.exit(1 if self.faults else 0)

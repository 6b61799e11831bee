#!/usr/bin/env python3
"""Pictures of what `go tool trace` shows of a trace.

    tools/trace-pictures.py TRACE FOLDER NAME FROM TO

writes FOLDER/trace-timeline.png, the P's and goroutines of FROM to TO seconds, and
FOLDER/trace-goroutines.png, what the goroutines of this NAME have spent their time with. Chromium
opens the pages, and a WebDriver takes the pictures. It needs Debian's packages `chromium` and
`chromium-driver`, and the program that `GO_TRACE` names, or `go tool trace`.
"""

import base64
import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

WIDTH, HEIGHT = 1400, 500
# Without these options, Chromium connects to its maker's hosts.
CHROMIUM = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
            "--disable-component-update", "--disable-sync", "--hide-scrollbars", f"--window-size={WIDTH},{HEIGHT}"]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextlib.contextmanager
def server(command, url):
    """A program that serves `url`, until the block ends."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(url).close()
                break
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait()


class Browser:
    """A session of the driver."""

    def __init__(self, driver):
        self.driver = driver
        options = {"goog:chromeOptions": {"binary": "/usr/bin/chromium", "args": CHROMIUM}}
        session = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": options}})
        self.path = f"/session/{session['sessionId']}"

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.driver + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            sys.exit(f"{path}: {error.read().decode()}")

    def open(self, url):
        self.ask("POST", f"{self.path}/url", {"url": url})

    def run(self, script):
        return self.ask("POST", f"{self.path}/execute/sync", {"script": script, "args": []})

    def until(self, script):
        for _ in range(600):
            if self.run(script):
                return
            time.sleep(0.1)
        sys.exit(f"never: {script}")

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.ask("GET", f"{self.path}/screenshot")))
        print(path)

    def close(self):
        self.ask("DELETE", self.path)


def timeline(browser, pages, path, part):
    """Takes the viewer when it has drawn. It shows a dialog as long as it reads."""
    browser.open(f"{pages}/trace?view=proc")
    view = "document.querySelector('tr-ui-timeline-view')"
    browser.until(f"return Boolean({view} && {view}.model && {view}.trackView)")
    browser.until("return !document.querySelector('tr-ui-b-overlay')")
    # Hides the notes that nothing is selected, and that the browser is newer than the page.
    for name in "tr-ui-a-analysis-view", "tr-ui-b-drag-handle":
        browser.run(f"{view}.querySelector('{name}').style.display = 'none'")
    browser.run("document.querySelectorAll('tr-ui-b-info-bar').item(0).style.display = 'none'")
    time.sleep(1)
    low, high = (float(second) * 1000 for second in part)
    browser.run(f"const port = {view}.trackView.viewport, to = port.currentDisplayTransform.clone();"
                f"to.xSetWorldBounds({low}, {high}, port.modelTrackContainer.canvas.clientWidth);"
                "port.setDisplayTransformImmediately(to)")
    time.sleep(2)
    browser.picture(path)


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    trace, folder, name, *part = sys.argv[1:]
    ours, drivers = free_port(), free_port()
    pages, driver = f"http://127.0.0.1:{ours}", f"http://127.0.0.1:{drivers}"
    tool = os.environ.get("GO_TRACE", "go tool trace").split()
    # Keeps `go tool trace` from opening a browser of its own.
    os.environ["BROWSER"] = "true"
    with server([*tool, f"-http=127.0.0.1:{ours}", trace], pages), \
            server(["chromedriver", f"--port={drivers}"], f"{driver}/status"):
        browser = Browser(driver)
        timeline(browser, pages, f"{folder}/trace-timeline.png", part)
        browser.open(f"{pages}/goroutine?name={urllib.parse.quote(name)}")
        browser.run("[...document.querySelectorAll('h3')].find(h => h.textContent == 'Breakdown').scrollIntoView()")
        browser.picture(f"{folder}/trace-goroutines.png")
        browser.close()


main()

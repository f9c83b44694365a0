"""A headless Chromium, spoken to through its DevTools pipe: no driver and no package is needed.

`Chromium.open` loads a page in a tab. A tab evaluates expressions, sends mouse and keys as a user
would, and keeps what the page said on the console and which addresses it asked for.
"""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

ARGUMENTS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
    "--disable-dev-shm-usage", "--disable-background-networking", "--remote-debugging-pipe",
]


class Chromium:
    """The browser; it ends with the `with` block."""

    def __enter__(self):
        self.home = tempfile.mkdtemp()
        to_browser, self.outgoing = os.pipe()
        self.incoming, from_browser = os.pipe()

        def own_pipes():
            # Copies first: one of the pipes may have the number of the other's target.
            read, write = os.dup(to_browser), os.dup(from_browser)
            os.dup2(read, 3)
            os.dup2(write, 4)

        command = ["chromium", *ARGUMENTS, f"--user-data-dir={self.home}", "about:blank"]
        self.process = subprocess.Popen(
            command, preexec_fn=own_pipes, pass_fds=(3, 4, to_browser, from_browser),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.bytes = b""
        self.number = 0
        self.events = []
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    def message(self):
        while b"\0" not in self.bytes:
            piece = os.read(self.incoming, 1 << 16)
            if not piece:
                raise RuntimeError("the browser has ended")
            self.bytes += piece
        text, self.bytes = self.bytes.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, session=None, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if session:
            request["sessionId"] = session
        rest = json.dumps(request).encode() + b"\0"
        while rest:
            rest = rest[os.write(self.outgoing, rest):]
        while True:
            answer = self.message()
            if answer.get("id") == request["id"]:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def open(self, address, width=1440, height=1000, **media):
        return Tab(self, address, width, height, media)


class Tab:
    """A page. `media`: features such as `prefers_color_scheme="dark"`."""

    def __init__(self, browser, address, width, height, media):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        attached = browser.call("Target.attachToTarget", targetId=target, flatten=True)
        self.target, self.session = target, attached["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(f"{domain}.enable")
        features = [{"name": name.replace("_", "-"), "value": value}
                    for name, value in media.items()]
        self.call("Emulation.setEmulatedMedia", features=features)
        self.size(width, height)
        self.call("Page.navigate", url=address)
        self.wait("window.terracePage && document.readyState === 'complete'")

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, expression, seconds=30):
        until = time.monotonic() + seconds
        while not self.value(expression):
            if time.monotonic() > until:
                raise AssertionError(f"not within {seconds} s: {expression}")
            time.sleep(0.05)

    def point(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, key):
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def picture(self, path, clip=None):
        extra = {"clip": {**clip, "scale": 1}} if clip else {}
        data = self.call("Page.captureScreenshot", format="png", **extra)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def own(self, method):
        return [event["params"] for event in self.browser.events
                if event.get("sessionId") == self.session and event["method"] == method]

    def problems(self):
        """Errors and warnings of the console, and exceptions."""
        self.value("0")
        said = [it for it in self.own("Runtime.consoleAPICalled")
                if it["type"] in ("error", "warning", "assert")]
        logged = [it["entry"] for it in self.own("Log.entryAdded")
                  if it["entry"]["level"] in ("error", "warning")]
        return said + logged + self.own("Runtime.exceptionThrown")

    def addresses(self):
        """All addresses that the page asked for."""
        self.value("0")
        return [it["request"]["url"] for it in self.own("Network.requestWillBeSent")]

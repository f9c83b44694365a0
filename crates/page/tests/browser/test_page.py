"""Tests of the page in a headless browser.

`PAGES` is a directory with the output of the example `page_samples` and, as `replay.html`, a page
of `terrace lab replay`. The pages are loaded from files, the live one from a server on this host.
"""

import functools
import http.server
import json
import os
import pathlib
import threading
import unittest
import urllib.parse

from chromium import Chromium

PAGES = pathlib.Path(os.environ["PAGES"]).resolve()

# A hash of the picture of a map, to see whether it has changed.
SUM = """(() => {
  const picture = terracePage.views[0].map.canvas.toDataURL();
  let sum = 0;
  for (let i = 0; i < picture.length; i++) sum = (sum * 31 + picture.charCodeAt(i)) % 2147483647;
  return sum;
})()"""

TEXT = "document.querySelector('{}').textContent"


class Frames(http.server.BaseHTTPRequestHandler):
    """Serves the live page, and frames up to `shown`."""

    shown = 1
    fails = False

    def do_GET(self):
        address = urllib.parse.urlparse(self.path)
        if address.path == "/live.html":
            self.answer("text/html; charset=utf-8", (PAGES / "live.html").read_bytes())
        elif address.path == "/live.json" and not type(self).fails:
            after = urllib.parse.parse_qs(address.query).get("after")
            after = int(after[0]) if after else None
            self.answer("application/json", self.frame(after))
        else:
            self.send_error(503)

    def frame(self, after):
        shown = type(self).shown
        if after is None or after > shown:
            return (PAGES / f"frames/whole-{shown}.json").read_bytes()
        if after < shown:
            return (PAGES / f"frames/{after + 1}.json").read_bytes()
        frame = json.loads((PAGES / f"frames/whole-{shown}.json").read_bytes())
        empty = {key: [] for key in frame["zones"]}, {key: [] for key in frame["tables"]}
        return json.dumps({**frame, "after": after, "shape": None, "zones": empty[0],
                           "tables": empty[1]}).encode()

    def answer(self, kind, content):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = cls.enterClassContext(Chromium())
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Frames)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.addClassCleanup(cls.server.shutdown)
        cls.live = f"http://127.0.0.1:{cls.server.server_port}/live.html"

    def open(self, address, **options):
        tab = self.browser.open(address, **options)
        self.addCleanup(tab.close)
        return tab

    def open_live(self, shown=1, **options):
        Frames.shown, Frames.fails = shown, False
        tab = self.open(self.live, **options)
        tab.wait("terracePage.views[0].store.number > 0 && terracePage.drawTimes.length > 0")
        return tab

    def open_replay(self, name="replay.html", **options):
        options.setdefault("prefers_reduced_motion", "reduce")
        tab = self.open((PAGES / name).as_uri(), **options)
        tab.wait("terracePage.player && terracePage.views.every((view) => view.store.number > 0)")
        return tab

    def seek(self, tab, part):
        tab.value(f"terracePage.player.at = terracePage.player.end * {part}; terracePage.wake()")
        tab.wait("!terracePage.isAwake && !terracePage.views.some((view) => view.lanesDue)")

    def zone(self, tab, condition):
        """The first zone for which the condition on `s` and `z` holds, and its middle."""
        zone = tab.value(f"""(() => {{ const s = terracePage.views[0].store;
            for (let z = 0; z < s.shape.zones; z++) if ({condition}) return z; return -1; }})()""")
        self.assertGreaterEqual(zone, 0, condition)
        x, y = tab.value(f"""(() => {{ const map = terracePage.views[0].map;
            const box = map.canvas.getBoundingClientRect(), [x, y] = map.middle({zone});
            return [box.left + x, box.top + y]; }})()""")
        return zone, x, y

    def test_new_frames_change_the_picture_and_the_numbers(self):
        tab = self.open_live()
        before = tab.value(SUM), tab.value(TEXT.format(".figures .zones"))
        Frames.shown = 8
        tab.wait("terracePage.views[0].store.number === 8")
        tab.wait("!terracePage.isAwake")
        after = tab.value(SUM), tab.value(TEXT.format(".figures .zones"))
        self.assertNotEqual(before[0], after[0])
        self.assertNotEqual(before[1], after[1])
        self.assertRegex(tab.value(TEXT.format("#status")), "^live, open for")
        self.assertRegex(tab.value(TEXT.format(".figures .written")), r"^\d+\.\d\d")
        whole = json.loads((PAGES / "frames/whole-8.json").read_bytes())
        self.assertEqual(tab.value("terracePage.views[0].store.tables.size"),
                         len(whole["tables"]["gap"]))
        self.assertEqual(tab.value("[...terracePage.views[0].store.dead]"), whole["zones_dead"]
                         if "zones_dead" in whole else self.column(whole["zones"], "dead"))
        self.assertEqual(tab.problems(), [])

    def column(self, zones, name):
        found, at = [0] * 120, 0
        for gap, value in zip(zones["gap"], zones[name]):
            at += gap
            found[at] = value
        return found

    def test_hold_keeps_the_picture_and_a_server_that_fails_is_told(self):
        tab = self.open_live(2)
        tab.press(" ")
        Frames.shown = 6
        tab.value("new Promise((done) => setTimeout(done, 1200))")
        self.assertEqual(tab.value("terracePage.views[0].store.number"), 2)
        self.assertEqual(tab.value(TEXT.format("#status")), "held")
        tab.press(" ")
        tab.wait("terracePage.views[0].store.number === 6")
        Frames.fails = True
        tab.wait("document.getElementById('status').textContent.startsWith('no answer')")

    def test_a_pointer_over_a_zone_shows_its_tables(self):
        tab = self.open_live(8)
        zone, x, y = self.zone(tab, "s.tablesOf(z).length > 0")
        self.assertTrue(tab.value("document.getElementById('tip').hidden"))
        tab.point(x, y)
        tab.wait("!document.getElementById('tip').hidden")
        tip = tab.value("document.getElementById('tip').innerText")
        self.assertIn(f"Zone {zone}", tip)
        self.assertIn("user", tip)
        self.assertIn("written", tip)
        rows = tab.value("document.querySelectorAll('#tip tbody tr').length")
        tables = tab.value(f"terracePage.views[0].store.tablesOf({zone}).length")
        self.assertEqual(rows, min(tables, 10))

    def test_filters_dim_the_other_zones(self):
        tab = self.open_live(8)
        whole = tab.value(SUM)
        passing = """(() => { const { store } = terracePage.views[0]; let n = 0;
            for (let z = 0; z < store.shape.zones; z++) n += terracePage.filter.passes(store, z);
            return n; })()"""
        self.assertEqual(tab.value(passing), 120)
        tab.value("[...document.querySelectorAll('#states .chip')]"
                  ".find((chip) => chip.textContent === 'empty').click()")
        empty = tab.value("terracePage.views[0].store.state.filter((s) => s === 0).length")
        self.assertEqual(tab.value(passing), empty)
        tab.wait("!terracePage.isAwake")
        self.assertNotEqual(tab.value(SUM), whole)
        tab.press("a")
        self.assertEqual(tab.value(passing), 120)
        tab.value("document.querySelector('#levels .chip').click()")
        self.assertTrue(0 < tab.value(passing) < 120)
        tab.press("a")
        tab.value("least.value = 50; least.dispatchEvent(new Event('input'))")
        self.assertTrue(0 < tab.value(passing) < 120)

    def test_keys_move_among_zones_and_play_and_step(self):
        tab = self.open_replay()
        tab.press("z")
        tab.press("ArrowRight")
        tab.press("ArrowDown")
        columns = tab.value("terracePage.views[0].map.columns")
        self.assertEqual(tab.value("terracePage.views[0].map.focus"), columns + 1)
        self.assertIn(f"Zone {columns + 1},", tab.value(TEXT.format("#spoken")))
        tab.press("Escape")
        self.assertEqual(tab.value("terracePage.views[0].map.focus"), -1)
        index = "terracePage.player.tracks.map((track) => track.index)"
        before = tab.value(index)
        tab.press(".")
        tab.wait("!terracePage.isAwake")
        self.assertGreater(sum(tab.value(index)), sum(before))
        tab.press(",")
        tab.wait("!terracePage.isAwake")
        self.assertEqual(tab.value(index), before)
        tab.press("+")
        self.assertEqual(tab.value("terracePage.player.speed"), 2)
        tab.press(" ")
        at = tab.value("terracePage.player.at")
        tab.wait(f"terracePage.player.at > {at} + 1")
        tab.press(" ")
        self.assertFalse(tab.value("terracePage.player.isPlaying"))
        tab.press("?")
        self.assertTrue(tab.value("document.getElementById('keys').open"))

    def test_a_replay_goes_back_to_the_state_that_it_had(self):
        tab = self.open_replay()
        self.seek(tab, 0.5)
        there = tab.value(SUM)
        self.seek(tab, 1)
        self.assertNotEqual(tab.value(SUM), there)
        self.seek(tab, 0.5)
        self.assertEqual(tab.value(SUM), there)
        self.assertEqual(tab.value("terracePage.views.length"), 2)

    def test_marks_of_both_systems_are_shown(self):
        tab = self.open_replay()
        seen = tab.value("""terracePage.player.tracks.map(({ recording }) => [
            Math.max(...recording.frames.map((frame) => (frame.windows || []).length)),
            Math.max(...recording.frames.map((frame) => (frame.pointers || []).length))])""")
        self.assertGreater(seen[0][0], 0, "windows of geardb")
        self.assertGreater(seen[1][1], 0, "pointers of lifetime")

    def test_nothing_is_fetched_from_elsewhere_and_nothing_is_said(self):
        for tab in [self.open_replay(), self.open_live(3), self.open_replay("large.html")]:
            own = ("file://", f"http://127.0.0.1:{self.server.server_port}/", "data:")
            addresses = tab.addresses()
            self.assertTrue(addresses)
            self.assertEqual([it for it in addresses if not it.startswith(own)], [])
            self.assertEqual(tab.problems(), [])

    def test_dark_and_light_follow_the_system_and_the_switch(self):
        ground = "getComputedStyle(document.body).backgroundColor"
        dark = self.open_live(3, prefers_color_scheme="dark")
        light = self.open_live(3, prefers_color_scheme="light")
        shades = dark.value(ground), light.value(ground)
        self.assertEqual(shades, ("rgb(20, 23, 27)", "rgb(251, 250, 247)"))
        light.press("t")
        self.assertEqual(light.value(ground), shades[0])
        light.press("t")

    def test_no_width_scrolls_sideways(self):
        for tab in [self.open_live(8), self.open_replay()]:
            for width in [320, 390, 768, 1024, 1920]:
                tab.size(width, 800)
                tab.value("new Promise((done) => setTimeout(done, 150))")
                self.assertLessEqual(tab.value("document.documentElement.scrollWidth"), width)

    def test_50_000_zones_are_drawn_to_the_end(self):
        tab = self.open_replay("large.html")
        tab.value("terracePage.drawTimes.length = 0; terracePage.player.speed = 10;"
                  "terracePage.player.play()")
        tab.wait("!terracePage.player.isPlaying", 60)
        times = tab.value("terracePage.drawTimes.filter(([, drawn]) => drawn >= 1000)")
        spent = sorted(time for time, _ in times)
        self.assertGreater(len(spent), 20)
        half, most = spent[len(spent) // 2], spent[len(spent) * 9 // 10]
        print(f"\n50,000 zones: {len(spent)} frames of 1000 and more changed zones, "
              f"half within {half:.1f} ms, nine of ten within {most:.1f} ms")


if __name__ == "__main__":
    unittest.main()

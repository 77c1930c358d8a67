#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Opens every page of the site in headless Chromium, wide and narrow.

    look.py SITE SHOTS

A page must not scroll sideways: in a frame of 1280 and of 390 pixels it asks for no more.
Screenshots of the narrow and the wide page go to SHOTS. Exit code 1 if a page is too wide.
"""

import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

WIDTHS = (1280, 390)
# Chromium's own window is never narrower than some 500 pixels; a frame is.
FRAME = """<body style="margin:0"><iframe id=f src="{page}" style="border:0;width:{width}px;
height:1600px"></iframe><pre id=out></pre><script>f.onload = () => {{ const d = f.contentDocument;
const wide = [...d.querySelectorAll("article *")].filter(e =>
  e.getBoundingClientRect().right > {width} && !e.closest("pre, .md-typeset__scrollwrap, .tabbed-set"));
out.textContent = "WIDTH " + d.documentElement.scrollWidth + " " + d.body.scrollWidth + " " +
  wide.slice(0, 3).map(e => e.tagName + ":" + e.textContent.trim().slice(0, 40)).join(" | ") }}
</script>"""


def chromium(*arguments):
    """What it prints; nothing if it hangs."""
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
               "--allow-file-access-from-files", "--virtual-time-budget=3000"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        try:
            return subprocess.run([*command, f"--user-data-dir={profile}", *arguments],
                                  capture_output=True, text=True, timeout=120).stdout
        except subprocess.TimeoutExpired:
            return ""


def look(page, shots, width):
    """What is wrong with a page of that width, or nothing."""
    name = f"{page.parent.name}-{page.stem}-{width}"
    with tempfile.NamedTemporaryFile("w", suffix=".html") as frame:
        frame.write(FRAME.format(page=page.as_uri(), width=width))
        frame.flush()
        address = pathlib.Path(frame.name).as_uri()
        found = re.search(r"WIDTH (\d+) (\d+) (.*?)</pre>",
                          chromium("--window-size=1300,1650", "--dump-dom", address), re.S)
        chromium(f"--window-size={max(width, 500)},1600", f"--screenshot={shots}/{name}.png",
                 address)
    if not found:
        return f"{page.name} at {width}: could not be measured"
    if max(int(found[1]), int(found[2])) > width:
        return f"{page.name} at {width}: {found[1]} pixels; {found[3]}"
    return None


def main():
    site, shots = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    shots.mkdir(parents=True, exist_ok=True)
    pages = sorted(page for page in site.rglob("*.html") if page.name != "404.html")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrong = [error for error in pool.map(
            lambda job: look(job[0], shots, job[1]),
            [(page, width) for page in pages for width in WIDTHS]) if error]
    print(*wrong, f"{len(pages)} pages, {len(wrong)} too wide", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

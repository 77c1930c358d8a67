#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Opens every page of the site in headless Chromium, wide and narrow.

    look.py SITE SHOTS

A page must have text, show its pictures, and not scroll sideways: in a frame of 1280 and of 390
pixels it asks for no more. Every link that Chromium finds in a page must lead to a file of the
site, and to an element of that page with the id behind its `#`. Links out of the site are
listed, not fetched. Screenshots of the narrow and the wide page go to SHOTS. Exit code 1 if
something is wrong.
"""

import concurrent.futures
import html
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.parse

WIDTHS = (1280, 390)
# Chromium's own window is never narrower than some 500 pixels; a frame is.
FRAME = """<body style="margin:0"><iframe id=f src="{page}" style="border:0;width:{width}px;
height:1600px"></iframe><pre id=out></pre><script>f.onload = () => {{ const d = f.contentDocument;
const all = (selector, get) => [...d.querySelectorAll(selector)].map(get);
const wide = [...d.querySelectorAll("article *")].filter(e =>
  e.getBoundingClientRect().right > {width} && !e.closest("pre, .md-typeset__scrollwrap, .tabbed-set"));
out.textContent = "FOUND " + JSON.stringify({{
  width: Math.max(d.documentElement.scrollWidth, d.body.scrollWidth),
  wide: wide.slice(0, 3).map(e => e.tagName + ":" + e.textContent.trim().slice(0, 40)),
  words: all("article p, article li, article td", e => e.textContent).join(" ").split(" ").length,
  missing: [...d.images].filter(e => !e.naturalWidth).map(e => e.src),
  ids: all("[id]", e => e.id).concat(all("a[name]", e => e.name)),
  links: all("a[href]", e => [e.href, e.textContent.trim()]) }}) + " END" }}
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
    """What Chromium finds in a page of that width; nothing if it cannot open it."""
    name = f"{page.parent.name}-{page.stem}-{width}"
    with tempfile.NamedTemporaryFile("w", suffix=".html") as frame:
        frame.write(FRAME.format(page=page.as_uri(), width=width))
        frame.flush()
        address = pathlib.Path(frame.name).as_uri()
        found = re.search(r">FOUND (.*?) END</pre>",
                          chromium("--window-size=1300,1650", "--dump-dom", address), re.S)
        chromium(f"--window-size={max(width, 500)},1600", f"--screenshot={shots}/{name}.png",
                 address)
    return json.loads(html.unescape(found[1])) if found else None


def faults(page, width, found):
    """What is wrong with what a page shows."""
    where = f"{page.name} at {width}"
    if not found:
        yield f"{where}: could not be opened"
        return
    if found["width"] > width:
        yield f"{where}: {found['width']} pixels; {' | '.join(found['wide'])}"
    if found["words"] < 10:
        yield f"{where}: has no text"
    for picture in found["missing"]:
        yield f"{where}: does not show {picture}"


def follow(site, found):
    """Dead links of all pages, and links out of the site; `found` is by page."""
    ids = {page: set(facts["ids"]) for page, facts in found.items()}
    dead, outside = [], set()
    for page, facts in found.items():
        for address, words in facts["links"]:
            parts = urllib.parse.urlsplit(address)
            if parts.scheme != "file":
                outside.add(address)
                continue
            target = pathlib.Path(urllib.parse.unquote(parts.path))
            anchor = urllib.parse.unquote(parts.fragment)
            link = f"{page.relative_to(site)}: the link '{words}'"
            if not target.is_file() or not target.is_relative_to(site):
                dead.append(f"{link} leads to {target}, which is not in the site")
            elif anchor and anchor not in ids.get(target, ()):
                dead.append(f"{link} leads to #{anchor}, which {target.name} lacks")
    return dead, sorted(outside)


def main():
    site, shots = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    shots.mkdir(parents=True, exist_ok=True)
    pages = sorted(page for page in site.rglob("*.html") if page.name != "404.html")
    jobs = [(page, width) for page in pages for width in WIDTHS]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = dict(zip(jobs, pool.map(lambda job: look(job[0], shots, job[1]), jobs)))
    wrong = [error for (page, width), facts in found.items()
             for error in faults(page, width, facts)]
    whole = {page: facts for (page, width), facts in found.items() if width == WIDTHS[0] and facts}
    dead, outside = follow(site, whole)
    print("links out of the site, not fetched:", *outside, sep="\n  ")
    print(*wrong, *dead, sep="\n")
    links = sum(len(facts["links"]) for facts in whole.values())
    print(f"{len(pages)} pages, {len(wrong)} faults; {links} links, {len(dead)} dead")
    return 1 if wrong or dead else 0


if __name__ == "__main__":
    sys.exit(main())

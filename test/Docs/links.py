#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every link of a page leads somewhere: to a file, and to a heading of a page. Every page of
docs/ is in the site's table of contents.

    links.py ROOT
"""

import pathlib
import re
import sys

LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]*))?\)")


def anchors(page):
    """The anchors of a page's headings, as GitHub and the site make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip(" "))
            for heading in re.findall(r"^#+ +(.*)$", text, re.M)}


def check(page):
    """Links of a page that lead nowhere."""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        for target, anchor in LINK.findall(line):
            if ":" in target:
                continue
            file = (page.parent / target).resolve() if target else page
            if not file.exists():
                yield f"{page}:{number}: there is no {target}"
            elif anchor and file.suffix == ".md" and anchor not in anchors(file):
                yield f"{page}:{number}: {target or page.name} has no heading #{anchor}"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    pages = [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("examples/**/*.md")]
    wrong = [error for page in pages for error in check(page)]
    contents = (root / "mkdocs.yml").read_text(encoding="utf-8")
    wrong += [f"mkdocs.yml lacks {name}" for page in root.glob("docs/**/*.md")
              if (name := page.relative_to(root / "docs").as_posix()) not in contents]
    print(*wrong, f"{len(pages)} pages, {len(wrong)} wrong", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

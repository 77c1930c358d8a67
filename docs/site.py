#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts the pages where mkdocs takes them from, build/site/pages: those of docs/ as they are,
the README, CONTRIBUTING, CHANGELOG and the examples' READMEs beside them. Links between pages
follow; those to sources become their names, as the site has none."""

import os
import pathlib
import re
import shutil

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ROOT / "build" / "site" / "pages"
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
STYLE = """
.md-grid { max-width: 80rem; }
.md-typeset table:not([class]) td code { white-space: nowrap; }
.md-typeset pre > code { font-size: .78em; }
@media (min-width: 76.25em) { .md-sidebar--primary { width: 10rem; } }
.md-typeset img { border: 1px solid var(--md-default-fg-color--lightest); }
"""


def places():
    """Where each page of the repository goes in the site."""
    pages = {page: page.relative_to(ROOT / "docs") for page in ROOT.glob("docs/**/*.md")}
    pages |= {ROOT / "README.md": pathlib.Path("index.md"),
              ROOT / "CONTRIBUTING.md": pathlib.Path("contributing.md"),
              ROOT / "CHANGELOG.md": pathlib.Path("changes.md"),
              ROOT / "examples/README.md": pathlib.Path("examples.md")}
    for page in ROOT.glob("examples/*/README.md"):
        pages[page] = pathlib.Path("examples") / f"{page.parent.name}.md"
    pages |= {picture: picture.relative_to(ROOT / "docs")
              for picture in ROOT.glob("docs/pictures/*")}
    return pages


def relink(page, where):
    """The text of a page, with links to where others stand now."""
    def link(match):
        picture, words, target, anchor = match.groups()
        if ":" in target:
            return match[0]
        file = (page.parent / target).resolve()
        if file not in where:
            return words if "`" in words else f"{words} (`{file.relative_to(ROOT)}`)"
        path = os.path.relpath(where[file], where[page].parent)
        return f"{picture}[{words}]({path}{anchor or ''})"
    return LINK.sub(link, page.read_text(encoding="utf-8"))


def main():
    shutil.rmtree(PAGES, ignore_errors=True)
    where = places()
    for page, place in where.items():
        (PAGES / place).parent.mkdir(parents=True, exist_ok=True)
        if page.suffix == ".md":
            # A list after a line of text is one on GitHub, and here after an empty line.
            text = re.sub(r"^((?![*\-] |\s|\|).+)\n(?=[*-] )", r"\1\n\n", relink(page, where),
                          flags=re.M)
            (PAGES / place).write_text(text, encoding="utf-8")
        else:
            shutil.copy(page, PAGES / place)
    (PAGES / "site.css").write_text(STYLE, encoding="utf-8")


if __name__ == "__main__":
    main()

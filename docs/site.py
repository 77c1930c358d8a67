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
BLOCK = re.compile(r"(^```.*?^```$)", re.M | re.S)
CODE = re.compile(r"`[^`]+`")
# Characters of code in text that a line of a phone takes.
PHONE = 36
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
STYLE = """
.md-grid { max-width: 80rem; }
.md-typeset pre > code { font-size: .78em; }
/* Of MLIR, the lexer of LLVM's text knows strings and comments. */
.language-mlir code span:not(.s, .c, .c1) { color: inherit; }
/* What a command prints is no command: it has a bar, and nothing to copy. */
.md-typeset .language-text pre > code { border-left: .15rem solid var(--md-primary-fg-color); }
.language-text :is(.md-clipboard, .md-code__nav) { display: none; }
/* Code in text is not broken at its hyphens, `--emit-bytecode`, if a line of a phone takes it. */
.md-typeset :is(p, li) > code:not(.long) { white-space: nowrap; }
@media (min-width: 45em) { .md-typeset td > code { white-space: nowrap; } }
@media (max-width: 45em) {
  .md-typeset table:not([class]) { background: none; }
  .md-typeset table:not([class]) td code { word-break: normal; }
  .md-typeset table:not([class]) :is(th, td) { min-width: 4rem; padding: .5em .6em; }
  .md-typeset :is(.md-clipboard, .md-code__nav) { display: none; }
  /* A shadow at the right says that there is more of a table or a block; its end covers it. */
  .md-typeset__scrollwrap { --under: var(--md-default-bg-color); }
  .md-typeset pre > code { --under: var(--md-code-bg-color); }
  .md-typeset__scrollwrap, .md-typeset pre > code {
    background: linear-gradient(to left, var(--under) 60%, transparent) right / 1.2rem 100% no-repeat local,
                linear-gradient(to left, rgba(0, 0, 0, .2), transparent) right / .5rem 100% no-repeat scroll,
                var(--under);
  }
}
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


def mark(text):
    """Text whose long code has a class, for the style."""
    parts = BLOCK.split(text)
    parts[::2] = [CODE.sub(lambda code: code[0] + "{.long}" * (len(code[0]) - 2 > PHONE), part)
                  for part in parts[::2]]
    return "".join(parts)


def main():
    shutil.rmtree(PAGES, ignore_errors=True)
    where = places()
    for page, place in where.items():
        (PAGES / place).parent.mkdir(parents=True, exist_ok=True)
        if page.suffix == ".md":
            # A list after a line of text is one on GitHub, and here after an empty line.
            text = re.sub(r"^((?![*\-] |\s|\|).+)\n(?=[*-] )", r"\1\n\n", relink(page, where),
                          flags=re.M)
            (PAGES / place).write_text(mark(text), encoding="utf-8")
        else:
            shutil.copy(page, PAGES / place)
    (PAGES / "site.css").write_text(STYLE, encoding="utf-8")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every file that a page or the description of a pass or an op names exists.

    paths.py ROOT

A name is what stands in backticks or as a link's target and begins with a folder of
the project, or with one of include/: `test/Exam/exam.md`, `tpopt/Sharding/Rule.h`.
Names with <..>, {..} or $ are patterns of names, and a * is matched. Exit code 1 if a
file is missing.
"""

import pathlib
import re
import sys

NAME = re.compile(r"`([\w./*+-]+/[\w./*+-]*)`|\]\(([\w./-]+)(?:#[\w-]*)?\)")


def find_names(root):
    pages = [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("test/**/*.md"),
             *root.glob("examples/**/*.md"), *root.glob("include/**/*.td")]
    for page in pages:
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            for quoted, target in NAME.findall(line):
                yield page, number, quoted, target


def main():
    root = pathlib.Path(sys.argv[1])
    folders = {path.name for path in root.iterdir() if path.is_dir()}
    bases = {**{name: root for name in folders - {"build"}},
             **{path.name: root / "include" for path in (root / "include").iterdir()}}
    checked = missing = 0
    for page, number, quoted, target in find_names(root):
        if target:
            exists = (page.parent / target).exists()
        elif base := bases.get(quoted.split("/")[0]):
            exists = any(base.glob(quoted.rstrip("/")))
        else:
            continue
        checked += 1
        if not exists:
            missing += 1
            print(f"{page.relative_to(root)}:{number}: {quoted or target} does not exist")
    print(f"{checked} names, {missing} missing")
    return 1 if missing or not checked else 0


if __name__ == "__main__":
    sys.exit(main())

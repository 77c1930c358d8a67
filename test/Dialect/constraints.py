#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that each line of an op's Constraints has a case in the tests.

    constraints.py REFERENCE.md... -- INVALID.mlir...

A case says what it breaks in its first line, as in `// tp.slice 2: past the
end`; the cases of an op stand in the order of its constraints.
"""

import pathlib
import re
import sys

LINE = re.compile(r"^(\d+)\. ", re.M)
CASE = re.compile(r"^// ((?:tp|spmd)\.\w+) (\d+): ", re.M)


def constraints(page):
    """The number of constraints of every op of a page."""
    for section in re.split(r"(?=^### )", page, flags=re.M):
        op = re.match(r"### `([\w.]+)`", section)
        listed = re.search(r"^\*\*Constraints\*\*\n+(.*?)(?=\n\n|\Z)", section,
                           re.M | re.S)
        if op and listed:
            yield op[1], len(LINE.findall(listed[1]))


def main():
    split = sys.argv.index("--")
    cases = {}
    for name in sys.argv[split + 1:]:
        for op, number in CASE.findall(pathlib.Path(name).read_text()):
            cases.setdefault(op, []).append(int(number))
    errors, checked = [], 0
    for name in sys.argv[1:split]:
        for op, count in constraints(pathlib.Path(name).read_text()):
            checked += count
            seen = cases.pop(op, [])
            wanted = range(1, count + 1)
            errors += [f"{op}: no case for constraint {n}"
                       for n in wanted if n not in seen]
            if seen != sorted(seen) or not set(seen) <= set(wanted):
                errors.append(f"{op}: cases are in the order {seen} of "
                              f"{count} constraints")
    errors += [f"{op}: has cases and no constraints" for op in cases]
    print("\n".join(errors) if errors else f"{checked} constraints have cases")
    return 1 if errors or not checked else 0


if __name__ == "__main__":
    sys.exit(main())

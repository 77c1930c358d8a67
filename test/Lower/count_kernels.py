# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts the distinct row programs of a step module by their text, with values
renamed in the order of their definition, and compares with the kernels of a PTX
file: count_kernels.py MODULE.mlir FILE.ptx"""

import re
import sys


def normalise(lines):
    """The text without names: operands' types, then the body."""
    header, body = lines[0], "\n".join(line.strip() for line in lines[1:])
    names = {}
    body = re.sub(r"%\w+", lambda name: names.setdefault(name[0], f"%v{len(names)}"), body)
    return re.sub(r"%\w+", "%", header), body


def main():
    module, ptx = (open(path).read() for path in sys.argv[1:])
    programs, current = set(), None
    for line in module.splitlines():
        # What stands in a step.together is part of its kernel.
        if current is None and line.strip().startswith(("step.rows", "step.together")):
            current, indent = [line.strip()], len(line) - len(line.lstrip())
        elif current is not None:
            current.append(line)
            if line == " " * indent + "}":
                programs.add(normalise(current))
                current = None
    entries = re.findall(r"\.entry (\w+)\(", ptx)
    launches = re.findall(r"^// (\w+): \d+ blocks of \d+ threads$", ptx, re.MULTILINE)
    assert programs, "no row programs"
    assert len(entries) == len(programs), (len(entries), len(programs))
    assert entries == launches, (entries, launches)
    assert ".extern" not in ptx


main()

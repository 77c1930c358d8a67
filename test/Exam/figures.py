#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the collectives of a report with what an exam item expects.

  figures.py ITEM.mlir REPORT.json

ITEM.mlir has a line `// EXPECT: AR{tp} V=2048, AG{x,y} V=64` or `// EXPECT: none`
and may have `// WIRE: 3072`, elements sent per device. With WIRE a plan that
sends less is as good, whatever it is made of, and so is one that sends as much
in no more launches; without it the collectives must be those. Otherwise this
says "miss" and exits with 1. Element sizes are four bytes.
"""

import json
import re
import sys

KINDS = {
    "AR": "all_reduce",
    "AG": "all_gather",
    "RS": "reduce_scatter",
    "A2A": "all_to_all",
    "CP": "collective_permute",
}


def expected(text):
    items = []
    for kind, axes, volume in re.findall(r"(\w+)\{([^}]*)\} V=(\d+)", text):
        items.append((KINDS[kind], tuple(sorted(axes.split(","))), int(volume)))
    return sorted(items)


def main():
    item, report = sys.argv[1:]
    lines = open(item).read()
    wanted = expected(re.search(r"// EXPECT: (.*)", lines).group(1))
    wire_limit = re.search(r"// WIRE: (\d+)", lines)

    found, wire = [], 0.0
    for function in json.load(open(report))["functions"]:
        for collective in function["collectives"]:
            found += [(
                collective["kind"],
                tuple(sorted(collective["axes"])),
                collective["bytes"] // 4,
            )] * collective["times"]
            wire += collective["wire_bytes"] / 4 * collective["times"]
    found.sort()
    print(f"found {found}, wire {wire:g}")
    print(f"wanted {wanted}" + (f", wire {wire_limit.group(1)}" if wire_limit else ""))
    if wire_limit:
        limit = int(wire_limit.group(1))
        ok = wire < limit - 1e-6 or (
            wire <= limit + 1e-6 and len(found) <= len(wanted))
    else:
        ok = found == wanted
    if not ok:
        print("miss")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())

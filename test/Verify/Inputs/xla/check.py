#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds pairs of programs that XLA has made against one another.

    check.py TP-OPT NAME...

With integers and in a prime field.
"""

import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).parent


def main():
    failures = 0
    for name in sys.argv[2:]:
        for options in ("", " field=true"):
            done = subprocess.run(
                [sys.argv[1], str(FOLDER / f"{name}.local.mlir"), "-o", "/dev/null",
                 f"--tp-verify-against=whole={FOLDER}/{name}.whole.mlir{options}"],
                capture_output=True, text=True, timeout=120)
            if done.returncode or done.stderr:
                print(f"{name}{options}: {done.stderr}")
                failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

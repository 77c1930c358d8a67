#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that reports itemise all that changes the price of a plan.

    price.py TP-OPT FOLDER...

Reports on every program in the folders, with and without a machine, after the
collectives and at the end. The items add up to the totals, and none is `other`:
each pass that changes what a program costs keeps the record.
"""

import collections
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import schema  # noqa: E402


def main():
    kinds = collections.Counter()
    reports = 0
    for folder in sys.argv[2:]:
        for program in sorted(pathlib.Path(folder).glob("*.mlir")):
            for machine in ("", " machine=h100"):
                for stage in ("collectives", "localize"):
                    run = subprocess.run(
                        [sys.argv[1], program, f"--tp-shard=verify=off stop-after={stage}{machine}",
                         "--tp-report=file=- table=false", "-o", "/dev/null"],
                        capture_output=True, text=True, check=False)
                    if run.returncode:
                        sys.exit(f"{program}: {run.stderr}")
                    report = json.loads(run.stdout)
                    assert schema.REPORT(report)
                    for function in report["functions"]:
                        assert function["price"], program
                        schema.check_sums(function)
                        schema.check_price(function)
                        kinds.update(item["kind"] for item in function["price"])
                    reports += 1
    assert kinds["other"] == 0, kinds
    print(f"{reports} reports:", ", ".join(f"{kind} {kinds[kind]}" for kind in schema.PRICES))


if __name__ == "__main__":
    main()

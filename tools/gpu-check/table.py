# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The one table: a row at a time, as a run may be cut off."""

import json
import sys
import time

COLUMNS = ("program", "on", "result", "us", "peer us", "us/peer", "floor us", "us/floor",
           "parts us")


class Table:
    """Rows are written to `path`, too, after each of them, and to stderr."""

    def __init__(self, minutes, path=None):
        self.rows, self.failed, self.path = [], 0, path
        self.deadline = time.monotonic() + 60 * minutes

    def get_seconds_left(self):
        return self.deadline - time.monotonic()

    def is_over(self, program, on):
        """Whether there is no time left, which is said in the table."""
        if self.get_seconds_left() > 0:
            return False
        self.add(program, on, "not started, because time ran out")
        return True

    def add(self, program, on, result="ok", note=False, us=None, **others):
        """A result that is not `ok` is a failure, unless it is but noted: of others, or of
        what is not there. `others` are the times to compare with: peer, floor, parts."""
        self.failed += result != "ok" and not note
        row = {"program": program, "on": on, "result": result}
        if us is not None:
            row["us"] = f"{us:.1f}"
        for name, other in others.items():
            if other is not None:
                row |= {f"{name} us": f"{other:.1f}", f"us/{name}": f"{us / other:.2f}"}
        self.rows.append(row)
        print("  ".join(self.rows[-1].values()), file=sys.stderr, flush=True)
        if self.path:
            self.path.write_text(json.dumps(self.rows, indent=1) + "\n")

    def print(self):
        lines = [COLUMNS] + [[row.get(column, "") for column in COLUMNS] for row in self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(COLUMNS))]
        for line in lines:
            print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())

# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sides of a bench, each a process that lives as long as its case, which take turns."""

import json
import statistics
import subprocess
import tempfile
import time


class SideError(Exception):
    """What a side says before it ends."""


class Side:
    """A process that answers requests, a line of JSON each. Its first line is its name."""

    def __init__(self, command, environment=None):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([str(word) for word in command], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, env=environment)
        self.turns = []

    def read(self):
        reply = self.process.stdout.readline()
        if not reply:
            self.process.wait()
            self.errors.seek(0)
            lines = self.errors.read().strip().splitlines() or ["it ended without a word"]
            raise SideError(lines[-1][-400:])
        return json.loads(reply)

    def ask(self, **request):
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # read() says why
        return self.read()

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.stdout.close()
        self.process.wait()
        self.errors.close()


def start_sides(commands, tell, **check):
    """Starts a side for each command and lets it answer `check`, one after the other, so that
    the first one's values are there for the rest. Those that fail, or are further off than
    `tell(name, reply)` lets pass, are left out, and said why: {name: reason}."""
    sides, failed = {}, {}
    for name, (command, environment) in commands.items():
        side = Side(command, environment)
        try:
            side.name = side.read()["name"]
            side.checked = side.ask(do="check", **check)
            reason = tell(name, side.checked)
        except SideError as error:
            reason = str(error)
        if reason:
            failed[name] = reason
            side.close()
        else:
            sides[name] = side
    return sides, failed


def take_turns(sides, rounds, steps, pause=0.05):
    """Each side `steps` times in each of `rounds`, and in one before that warms up. The first
    of a round is another one each time, and a pause lets the last one's threads fall asleep.
    Sides that fail are left out, and said why: {name: reason}."""
    failed = {}
    for number in range(rounds + 1):
        names = list(sides)
        start = number % len(names)
        for name in names[start:] + names[:start]:
            time.sleep(pause)
            try:
                reply = sides[name].ask(do="turn", steps=steps)
            except SideError as error:
                failed[name] = str(error)
                sides.pop(name).close()
                continue
            if number:
                sides[name].turns.append(reply["ms"])
        if not sides:
            break
    return failed


def get_rows(case, sides, ours):
    """A row for each side: the median of its rounds, and of the ratios to ours, taken round by
    round, as what else the machine does changes from one to the next; and its least time."""
    medians = {name: [statistics.median(turn) for turn in side.turns]
               for name, side in sides.items()}
    return [{"case": case, "engine": side.name, "ms": statistics.median(medians[name]),
             "ratio": statistics.median(time / own for time, own in
                                        zip(medians[name], medians[ours])),
             "least": min(min(turn) for turn in side.turns), "off": side.checked["off"]}
            for name, side in sides.items()]


def print_table(rows, file=None):
    print("| case | engine | ms | ratio | least ms | logits off by |\n"
          "|---|---|---|---|---|---|", file=file)
    for row in rows:
        print(f"| {row['case']} | {row['engine']} | {row['ms']:.1f} | {row['ratio']:.2f} "
              f"| {row['least']:.1f} | {row['off']:.1e} |", file=file)

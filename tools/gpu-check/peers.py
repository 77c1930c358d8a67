# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Those we are measured against: torch_peer.py and jax_peer.py, each in a process of
its own that answers requests, a line of JSON each. What goes wrong there is an answer,
too; a process that has died, or has not answered in time, is replaced by a new one.

    {"do": "hello"}                              {"is": "torch 2.9.1"}
    {"do": "prepare", "case": {..}}              {"variants": {"eager": "", "jit": "why not"}}
    {"do": "time", "variant": "eager", "runs": 20}           {"us": 123.4}
    {"do": "attention", "sizes": [1, 8192, 32, 8, 128],
     "backend": "cudnn", "runs": 20}                         {"error": "why not"}
"""

import json
import os
import pathlib
import select
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


class Peer:
    """One of the two, from outside."""

    def __init__(self, name, python):
        self.name, self.python, self.process = name, python, None
        self.log = tempfile.TemporaryFile()

    def start(self):
        self.log.truncate(0)
        self.process = subprocess.Popen(
            [self.python, "-u", HERE / f"{self.name}_peer.py"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.log, bufsize=0)

    def ask(self, timeout, **request):
        """The answer, or {"error": why there is none}."""
        try:
            if self.process is None:
                self.start()
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            line, deadline = b"", time.monotonic() + timeout
            while not line.endswith(b"\n"):
                left = max(0, deadline - time.monotonic())
                if not select.select([self.process.stdout], [], [], left)[0]:
                    return self.give_up(f"no answer in {timeout:.0f} s")
                piece = self.process.stdout.read(1 << 16)
                if not piece:
                    return self.give_up("")
                line += piece
            return json.loads(line)
        except (OSError, ValueError) as error:
            return self.give_up(f"{type(error).__name__}: {error}")

    def give_up(self, why):
        said = self.get_last_words()
        self.close()
        return {"error": why or said or "it has died"}

    def get_last_words(self):
        self.log.seek(0)
        lines = self.log.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:200] if lines else ""

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            for stream in (self.process.stdin, self.process.stdout):
                stream.close()
        self.process = None


# Seconds in which the clocks of a GPU that was idle rise.
WARM_UP = 0.3


def warm_up(begin, wait, seconds=WARM_UP):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begin()
        wait()


def time_calls(begin, wait, runs):
    """Microseconds of a call on a warm GPU, waited for one by one, or of many that are
    waited for together, whichever is less."""
    warm_up(begin, wait)
    singles = []
    for _ in range(runs):
        start = time.perf_counter()
        begin()
        wait()
        singles.append(time.perf_counter() - start)
    start = time.perf_counter()
    for _ in range(runs):
        begin()
    wait()
    together = (time.perf_counter() - start) / runs
    return 1e6 * min(statistics.median(singles), together)


class Ways:
    """The ways in which a peer runs what it has prepared: functions by their names, that
    begin a run, which the peer's own `wait` waits for."""

    def __init__(self):
        self.calls = {}

    def make_all(self, makers):
        """Of each way "", or why there is none: the others may work."""
        variants = {}
        for label, make in makers.items():
            try:
                self.calls[label] = make()
                variants[label] = ""
            except Exception as error:
                variants[label] = describe(error)
        return {"variants": variants}

    def time(self, variant, runs):
        return {"us": time_calls(self.calls[variant], self.wait, runs)}


def serve(answers):
    """Answers requests by the functions of an object. What libraries print must not
    look like an answer, so it goes where messages go."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = getattr(answers, request.pop("do"))(**request)
        except Exception as error:  # told to who asked, and the next may work
            reply = {"error": describe(error)}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


def describe(error):
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"[:200]

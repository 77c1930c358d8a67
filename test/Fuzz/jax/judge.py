# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tp-opt and tp-run make of a program, against what JAX computes."""

import dataclasses
import pathlib
import re
import subprocess
import time

import ml_dtypes  # noqa: F401  teaches NumPy the types of safetensors
import numpy as np
import safetensors.numpy

ERROR = re.compile(r"error: (?:.*?\[(TP\d+)\] )?(.*)")
SECONDS = 60
SLOW = 10


@dataclasses.dataclass
class Verdict:
    """`right`, `refused` with a code, or one of what must not be: `wrong`, `uncoded`,
    `crash`, `hangs`, `slow`."""
    kind: str
    stage: str = ""
    code: str = ""
    text: str = ""

    @property
    def is_failure(self):
        return self.kind in ("wrong", "uncoded", "crash", "hangs", "slow")

    def is_like(self, other):
        return (self.kind, self.stage, self.code) == (other.kind, other.stage, other.code)


class Ended(Exception):
    def __init__(self, verdict):
        self.verdict = verdict


def call(stage, *command):
    start = time.monotonic()
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True,
                              errors="replace", timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise Ended(Verdict("hangs", stage, text=f"no end after {SECONDS} s")) from None
    if done.returncode == 0:
        # Of this process alone: others may keep the machine busy.
        if time.monotonic() - start > SLOW:
            return Verdict("slow", stage, text=f"{time.monotonic() - start:.1f} s")
        return None
    error = ERROR.search(done.stderr)
    code, text = error.groups() if error else (None, done.stderr.strip()[-300:])
    if done.returncode < 0 or done.returncode not in (1, 2, 3):
        raise Ended(Verdict("crash", stage, str(done.returncode), text))
    if not code or done.returncode == 2:
        raise Ended(Verdict("uncoded", stage, code or "", text))
    raise Ended(Verdict("refused", stage, code, text))


def compare(got, wanted, allowed):
    """What is wrong with an output; None if nothing is."""
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"{got.dtype}{list(got.shape)} for {wanted.dtype}{list(wanted.shape)}"
    if allowed == 0.0:
        with np.errstate(invalid="ignore"):
            bad = ~((got == wanted) | ((got != got) & (wanted != wanted)))
    elif not np.isfinite(allowed):
        return None  # it grows beyond all bounds: nothing can be said
    else:
        bad = ~(np.abs(got.astype(np.float64) - wanted.astype(np.float64)) <= allowed)
    if not bad.any():
        return None
    place = tuple(int(i[0]) for i in np.nonzero(bad))
    return (f"{bad.sum()} of {bad.size} differ: at {list(place)} {got[place]}, wanted "
            f"{wanted[place]} within {allowed:.2g}")


class Tools:
    def __init__(self, folder, scratch, compiles=True):
        self.opt, self.run = f"{folder}/tp-opt", f"{folder}/tp-run"
        self.scratch, self.compiles = pathlib.Path(scratch), compiles
        self.program = self.scratch / "program.mlir"
        self.inputs = self.scratch / "in.safetensors"
        self.outputs = self.scratch / "out.safetensors"

    def check(self, stage, wanted, allowed):
        got = safetensors.numpy.load_file(self.outputs)
        if len(got) != len(wanted):
            raise Ended(Verdict("wrong", stage, text=f"{len(got)} for {len(wanted)}"))
        for i, array in enumerate(wanted):
            if wrong := compare(got[f"result{i}"], array, allowed[i]):
                raise Ended(Verdict("wrong", stage, text=f"result {i}: {wrong}"))

    def judge(self, text, arguments, wanted, allowed):
        self.program.write_text(text)
        safetensors.numpy.save_file(
            {f"arg{i}": np.ascontiguousarray(a).reshape(a.shape)
             for i, a in enumerate(arguments)}, self.inputs)
        slow = None
        try:
            slow = call("interpreted", self.opt, self.program, "--tp-import-stablehlo",
                        "--tp-shard", f"--tp-interpret-entry=inputs={self.inputs} "
                        f"outputs={self.outputs} tolerance=0.01", "-o", "/dev/null")
            self.check("interpreted", wanted, allowed)
            if self.compiles:
                artifact = self.scratch / "program.tpx"
                slow = call("compile", self.opt, self.program, "--tp-import-stablehlo",
                            "--tp-compile=verify=off", f"--tp-artifact={artifact}",
                            "-o", "/dev/null") or slow
                given = [f"--input=arg{i}={self.inputs}" for i in range(len(arguments))]
                slow = call("run", self.run, artifact, "--threads=1", *given,
                            f"--output={self.outputs}") or slow
                self.check("run", wanted, allowed)
        except Ended as ended:
            return ended.verdict
        return slow or Verdict("right")

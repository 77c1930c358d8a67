#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `tp-run --check` says of training steps, right ones and damaged ones.

    check_campaign.py [--mutants=N] [--seed=N] [--build=build/release] FOLDER...

A FOLDER has the model.mlir and in.safetensors of a step, as training_steps.py and
test/Bench/jax_worker.py write them. Of each, the compiled step must not be WRONG. Then N
errors are put into the program of one device, while the whole program that the artifact
carries stays: a value doubled, negated, not summed over devices, not masked, operands
swapped, or an output that is what came in. An error whose outputs are further from the
whole program's than ten times its rounding errors must be WRONG; those draws are
taken here, with other seeds than tp-run's. Errors that rounding hides are listed.

Exit status 1 if something right is WRONG or an error is missed."""

import argparse
import collections
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np
import safetensors.numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEEDS = range(101, 107)
VISIBLE = 10
ASSIGNED = re.compile(r"^\s*(%\w+) = (\S+) (.*)$")
FLOAT = re.compile(r"^tensor<(?:\d+x)*(?:f\d+|bf16|f8\w+)[,>]")


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


def split_types(text):
    """`a, b` at the commas between types."""
    parts, depth, start = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "<[{(") - (letter in ">]})" and text[i - 1:i + 1] != "->")
        if letter == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [*parts, text[start:].strip()]


class LocalProgram:
    """The text of what a device runs, and ways to damage it."""

    def __init__(self, text):
        self.lines = text.split("\n")
        self.ops = []  # line, result, name, operands, type
        for number, line in enumerate(self.lines):
            match = ASSIGNED.match(line)
            if not match or " : " not in match[3]:
                continue
            kind = match[3].rsplit(" : ", 1)[1].rsplit(" -> ", 1)[-1].strip()
            operands = re.findall(r"%\w+", match[3].split(" : ")[0])
            self.ops.append((number, match[1], match[2], operands, kind))

    def find(self, *names):
        return [op for op in self.ops if op[2] in names and FLOAT.match(op[4])]

    def replace_uses(self, after, old, new, extra=()):
        """The text, with `new` for `old` behind a line, and `extra` lines there."""
        word = re.compile(re.escape(old) + r"\b")
        rest = [word.sub(new, line) for line in self.lines[after + 1:]]
        return "\n".join([*self.lines[:after + 1], *extra, *rest])

    def double(self, draw):
        line, result, _, _, kind = draw.choice(self.find(
            "tp.einsum", "tp.mul", "tp.reduce", "tp.add", "tp.div", "spmd.all_reduce",
            "spmd.reduce_scatter", "tp.transpose"))
        return self.replace_uses(line, result, "%damaged",
                                 [f"%damaged = tp.add {result}, {result} : {kind}"])

    def negate(self, draw):
        line, result, _, _, kind = draw.choice(self.find(
            "tp.einsum", "tp.mul", "tp.reduce", "tp.sub", "tp.div", "spmd.all_reduce"))
        return self.replace_uses(line, result, "%damaged",
                                 [f"%damaged = tp.neg {result} : {kind}"])

    def skip_sum(self, draw):
        line, result, _, operands, kind = draw.choice(self.find("spmd.all_reduce"))
        given = self.lines[line].rsplit(" : ", 1)[1].rsplit(" -> ", 1)[0].strip()
        lines = list(self.lines)
        lines[line] = f"    {result} = tp.convert {operands[0]} : {given} -> {kind}"
        return "\n".join(lines)

    def skip_mask(self, draw):
        line, result, name, operands, _ = draw.choice(self.find("tp.select", "spmd.mask"))
        kept = operands[0] if name == "spmd.mask" else draw.choice(operands[1:3])
        return self.replace_uses(line, result, kept)

    def swap(self, draw):
        line, _, _, (a, b), _ = draw.choice(
            [op for op in self.find("tp.sub", "tp.div") if len(op[3]) == 2])
        lines = list(self.lines)
        lines[line] = lines[line].replace(f" {a}, {b} ", f" {b}, {a} ")
        return "\n".join(lines)

    def keep_old(self, draw):
        """An output that is the argument of its type, as a moment that is not updated."""
        (head,) = (i for i, line in enumerate(self.lines) if " @main(" in line)
        last = max(i for i, line in enumerate(self.lines) if re.match(r"\s+return ", line))
        arguments = re.findall(r'(%\w+): (tensor<.*?>>) \{.*?tp\.name = "([^"]*)"',
                               self.lines[head])
        names = re.findall(r'tp\.name = "(result[^"]*)"', self.lines[head])
        returned = re.findall(r"%\w+", self.lines[last])
        pairs = [(place, argument) for place, output in enumerate(names)
                 for argument, _, name in arguments
                 if name and output.split(".", 2)[-1].endswith(name.removeprefix("state"))]
        place, argument = draw.choice(pairs)
        returned[place] = argument
        types = self.lines[last].rsplit(" : ", 1)[1]
        lines = list(self.lines)
        lines[last] = f"    return {', '.join(returned)} : {types}"
        return "\n".join(lines)


DAMAGES = (LocalProgram.double, LocalProgram.double, LocalProgram.negate,
           LocalProgram.skip_sum, LocalProgram.skip_mask, LocalProgram.swap,
           LocalProgram.keep_old)


def get_ulp(values):
    kind = values.dtype
    relative = (np.finfo(kind).eps if kind in (np.float32, np.float64, np.float16)
                else ml_dtypes.finfo(kind).eps)
    return np.abs(values.astype(np.float64)) * float(relative)


def square_mean(values):
    return float(np.sqrt(np.mean(np.square(values)))) if values.size else 0.0


def measure(got, wanted, draws):
    """How many times its rounding errors an output is off; the worst of all."""
    worst = 0.0
    for name, values in wanted.items():
        if values.dtype.kind in "iub":
            same = values == got[name]
            for draw in draws:
                same |= draw[name] != values
            worst = max(worst, 0.0 if same.all() else np.inf)
            continue
        numbers = values.astype(np.float64)
        off = square_mean(got[name].astype(np.float64) - numbers)
        moved = [square_mean(draw[name].astype(np.float64) - numbers) for draw in draws]
        limit = max(moved) + square_mean(get_ulp(values))
        if np.isnan(off):
            off = np.inf
        if np.isfinite(limit) and off > 0:
            worst = max(worst, off / limit if limit else np.inf)
    return worst


class Step:
    """A training step, its inputs, and what the whole program computes of them."""

    def __init__(self, folder, scratch, build):
        self.folder, self.scratch = folder, scratch
        self.opt, self.run_tool = build / "bin/tp-opt", build / "bin/tp-run"
        self.inputs = folder / "in.safetensors"
        self.wanted, *self.draws = (self.interpret(seed) for seed in (0, *SEEDS))
        local = run(self.opt, folder / "model.mlir", "--tp-keep-program", "--tp-shard",
                    "-o", "-")
        if local.returncode:
            sys.exit(f"{folder}: {local.stderr[-500:]}")
        self.local = LocalProgram(local.stdout)

    def interpret(self, seed):
        out = self.scratch / "whole.safetensors"
        done = run(self.opt, self.folder / "model.mlir", "--tp-import-stablehlo",
                   f"--tp-interpret-entry=inputs={self.inputs} outputs={out} "
                   f"rounding-seed={seed}", "-o", os.devnull)
        if done.returncode:
            sys.exit(f"{self.folder}: {done.stderr[-500:]}")
        return safetensors.numpy.load_file(out)

    def check(self, text):
        """tp-run's exit code and what it says, and how far off the outputs are; None if
        the program is refused before it runs."""
        program, artifact = self.scratch / "local.mlir", self.scratch / "local.tpx"
        out = self.scratch / "out.safetensors"
        program.write_text(text, encoding="utf-8")
        if run(self.opt, program, "--tp-lower-to-step", "--tp-assign-buffers",
               f"--tp-write-artifact=file={artifact}", "-o", os.devnull).returncode:
            return None
        names = safetensors.numpy.load_file(self.inputs)
        done = run(self.run_tool, artifact, "--check", f"--output={out}",
                   *(f"--input={name}={self.inputs}" for name in names))
        said = done.stdout + done.stderr
        if "check " not in said:
            return None
        return done.returncode, said, measure(safetensors.numpy.load_file(out), self.wanted,
                                              self.draws)


def damage(step, draw):
    while True:
        way = draw.choice(DAMAGES)
        try:
            text = way(step.local, draw)
        except (IndexError, ValueError):
            continue  # there is nothing of the kind
        result = step.check(text)
        if result:
            return way.__name__, result


def try_folder(folder, options, build, tally):
    with tempfile.TemporaryDirectory() as scratch:
        step = Step(folder, pathlib.Path(scratch), build)
        code, said, off = step.check("\n".join(step.local.lines))
        outputs, undecided = said.count("\ncheck ") + 1, said.count(": undecided, ")
        tally["outputs"] += outputs
        tally["undecided outputs"] += undecided
        tally["right"] += code == 0
        tally["right called wrong"] += code != 0
        print(f"{folder.name}: exit {code}, {off:.2g} x rounding, {undecided} of {outputs} "
              "outputs undecided")
        for line in said.splitlines():
            if code and ("WRONG" in line or "error" in line):
                print(f"  {line}")
        draw = random.Random(f"{options.seed} {folder.name}")
        for _ in range(options.mutants):
            way, (code, said, off) = damage(step, draw)
            found = "found" if code else "missed" if off > VISIBLE else "hidden"
            tally[found] += 1
            tally[f"{found}: {way}"] += 1
            if found != "found":
                print(f"  {found}: {way}, {off:.2g} x rounding")
            sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("folders", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    tally = collections.Counter()
    for folder in options.folders:
        try_folder(folder, options, options.build.resolve(), tally)
    for what, count in sorted(tally.items()):
        print(f"{count:6} {what}")
    return 1 if tally["missed"] or tally["right called wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())

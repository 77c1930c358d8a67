#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random JAX programs on random meshes: computed by JAX, and by what tp-opt makes of
the text that JAX exports, interpreted and compiled.

    jax_fuzz.py --seed=1 --count=2000 --jobs=2 --out=DIR    2000 programs, from seed 1 on
    jax_fuzz.py --seed=77 --print                           the program of a seed

A program that fails is made small and written to DIR: jax-SEED.mlir, its inputs in
jax-SEED.in.safetensors and what is wrong in jax-SEED.txt. Exit 1 if a program fails. It
takes a Python with JAX, as cmake/setup.sh installs.
"""

import argparse
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

# One thread for each program, and no intermediate in another type than it says.
os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
    " --xla_allow_excess_precision=false --xla_cpu_max_isa=AVX512"
    " --xla_cpu_multi_thread_eigen=false --xla_backend_optimization_level=0")
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

HERE = pathlib.Path(__file__).resolve().parent


# A worker: one process that keeps JAX -------------------------------------------------


def judge(tools, seed, steps=None, output=None):
    """The verdict on a program, and the program."""
    from judge import Verdict
    from programs import Program
    program = Program(seed, steps, output)
    try:
        text = program.export()
        wanted, allowed = program.evaluate()
    except Exception as error:  # Whatever JAX raises is its answer.
        return Verdict("undefined", text=f"{type(error).__name__}: {error}"[:300]), program
    verdict = tools.judge(text, program.arguments, wanted, allowed)
    if verdict.kind == "wrong":
        # XLA's simplifier is not right of everything: it adds the starts of two slices
        # and clamps the sum.
        apart = tools.judge(text, program.arguments, program.evaluate_apart(), allowed)
        if apart.kind == "right":
            return Verdict("xla", text="XLA differs from JAX's operations one by one"), program
    return verdict, program


def shrink(tools, seed, verdict, program):
    """Steps and outputs without which it still fails in the same way."""
    files = [(path, path.read_bytes()) for path in (tools.program, tools.inputs)]
    steps, changed = program.steps, True
    while changed and len(steps) > 1:
        changed = False
        for i in reversed(range(len(steps))):
            fewer = steps[:i] + steps[i + 1:]
            other, _ = judge(tools, seed, fewer)
            if other.is_like(verdict):
                steps, changed = fewer, True
                break
    for output in range(6):
        try:
            other, smaller = judge(tools, seed, steps, output)
        except IndexError:
            break
        if other.is_like(verdict):
            return other, smaller
    other, smaller = judge(tools, seed, steps)
    if other.is_like(verdict):
        return other, smaller
    # JAX need not write a program twice in the same way: it fails all the same.
    for path, content in files:
        path.write_bytes(content)
    return verdict, program


def keep(tools, folder, seed, verdict):
    """Writes the program that was judged last."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(tools.program, folder / f"jax-{seed}.mlir")
    shutil.copy(tools.inputs, folder / f"jax-{seed}.in.safetensors")
    (folder / f"jax-{seed}.txt").write_text(
        f"{verdict.kind} {verdict.stage} {verdict.code}: {verdict.text}\n")


def work(arguments):
    """Judges seeds and says so, a line of JSON before and after each."""
    import warnings
    warnings.simplefilter("ignore")
    import jax
    from judge import Tools
    with tempfile.TemporaryDirectory() as scratch:
        tools = Tools(arguments.tools, scratch, not arguments.interpreted)
        for seed in range(arguments.seed, arguments.seed + arguments.count):
            print(json.dumps({"seed": seed}), flush=True)
            verdict, program = judge(tools, seed)
            if verdict.is_failure:
                if not arguments.whole:
                    verdict, program = shrink(tools, seed, verdict, program)
                keep(tools, arguments.out, seed, verdict)
            print(json.dumps({"seed": seed, **vars(verdict)}), flush=True)
            if seed % 50 == 49:
                jax.clear_caches()


# The parent: shares seeds out, and takes what a worker dies of as a finding ------------


class Campaign:
    kind, script, share_size = "JAX", __file__, 25
    flags = ["whole", "interpreted"]

    def __init__(self, arguments):
        self.arguments, self.lock = arguments, threading.Lock()
        self.next, self.end = arguments.seed, arguments.seed + arguments.count
        self.stop = time.monotonic() + arguments.time if arguments.time else None
        self.counts, self.refusals = collections.Counter(), collections.Counter()
        self.failures = 0

    def take(self, verdict):
        with self.lock:
            self.counts[verdict["kind"]] += 1
            if verdict["kind"] == "refused":
                self.refusals[verdict["code"], verdict["text"][:100]] += 1
            elif verdict["kind"] not in ("right", "undefined", "xla"):
                self.failures += 1
                print(f"{self.kind.lower()}-{verdict['seed']}: {verdict['kind']} {verdict['stage']} "
                      f"{verdict['code']}: {verdict['text'][:300]}", flush=True)

    def share(self):
        """Some seeds for a worker; none at the end."""
        with self.lock:
            if self.stop and time.monotonic() > self.stop:
                return None
            begin, self.next = self.next, min(self.end, self.next + self.share_size)
            return (begin, self.next) if begin < self.next else None

    def employ(self):
        while share := self.share():
            seed, end = share
            while seed < end:
                seed = self.run_worker(seed, end)

    def run_worker(self, seed, end):
        """Seeds up to one that the worker dies of. Returns the next one."""
        a = self.arguments
        command = [sys.executable, self.script, "--worker", f"--seed={seed}",
                   f"--count={end - seed}", f"--out={a.out}", f"--tools={a.tools}"]
        command += [f"--{name}" for name in self.flags if getattr(a, name)]
        running = None
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True) as worker:
            for line in worker.stdout:
                message = json.loads(line)
                running = None if "kind" in message else message["seed"]
                if "kind" in message:
                    self.take(message)
                    seed = message["seed"] + 1
        # A Python error of the worker says nothing about a program.
        if worker.returncode > 0 or (running is None and seed < end):
            self.take({"seed": seed, "kind": "worker", "stage": "", "code": "",
                       "text": f"exit {worker.returncode}; run it: {' '.join(command)}"})
            return end
        if running is not None:
            # Python's own crash: the tools run in processes of their own.
            self.take({"seed": running, "kind": "undefined"})
            seed = running + 1
        return seed

    def run(self):
        begin = time.monotonic()
        threads = [threading.Thread(target=self.employ) for _ in range(self.arguments.jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(f"{sum(self.counts.values())} {self.kind} programs from seed "
              f"{self.arguments.seed} in {time.monotonic() - begin:.1f} s")
        for kind, times in self.counts.most_common():
            print(f"  {kind}: {times}")
        for (code, text), times in self.refusals.most_common():
            print(f"  refused with {code}: {times}: {text}")
        print(f"{self.failures} failures")
        return 1 if self.failures else 0


def make_parser(text):
    parser = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--time", type=float, help="begin nothing after so many seconds")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=lambda p: pathlib.Path(p).resolve(), default=".")
    parser.add_argument("--tools", help="the folder of tp-opt and tp-run",
                        default=str(pathlib.Path(shutil.which("tp-opt") or ".").parent))
    parser.add_argument("--whole", action="store_true", help="leave failures as large")
    parser.add_argument("--print", action="store_true")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser


def parse(parser):
    arguments = parser.parse_args()
    arguments.tools = str(pathlib.Path(arguments.tools).resolve())
    if not shutil.which("tp-opt", path=arguments.tools):
        parser.error(f"no tp-opt in {arguments.tools}: write --tools=FOLDER")
    return arguments


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--interpreted", action="store_true", help="compile nothing")
    arguments = parse(parser)
    sys.path.insert(0, str(HERE))
    if arguments.print:
        from programs import Program
        print(Program(arguments.seed).export())
    elif arguments.worker:
        work(arguments)
    else:
        return Campaign(arguments).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())

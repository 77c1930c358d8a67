#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every pass and pipeline alone on programs at every stage.

    every_pass.py FOLDER PROGRAM.mlir...

Each program is taken as it is and as tp-shard and tp-compile leave it after each
stage. A pass may refuse any of these, with an error that has a code. It may not
crash, and not call a user's order of passes a bug of its own (exit code 2).
"""

import pathlib
import re
import subprocess
import sys

SPLIT = "\n// -----\n"
STAGES = [f"--tp-shard=stop-after={stage}" for stage in
          ("import", "propagate", "partition", "collectives", "localize")]
STAGES += ["--tp-shard=certificate=true", "--tp-compile"]
# What a pass cannot run without. {0} is the folder of the test.
OPTIONS = {
    "tp-apply-plan": "plan=megatron axis=x",
    "tp-interpret-entry": "entry=main outputs={0}/out.safetensors",
    "tp-report": "file={0}/report.json",
    "tp-set-mesh": "axes=x=2",
    "tp-verify-against": "whole={0}/whole.mlir",
    "tp-verify-certificate": "whole={0}/whole.mlir",
    "tp-verify-origin": "whole={0}/whole.mlir",
    "tp-write-artifact": "file={0}/program.tpx",
    "tp-write-interface": "file={0}/interface",
}
NESTED = {"tp-assign-buffers": "step.program"}


def run(*arguments):
    return subprocess.run(["tp-opt", *arguments], capture_output=True, text=True, errors="replace")


def get_passes():
    """All passes and pipelines of ours."""
    return re.findall(r"^      --(tp-[\w-]+) ", run("--help-mlir").stdout, re.M)


def get_programs(files):
    """(name, text) of every program at every stage it reaches."""
    for file in files:
        for index, text in enumerate(re.split(r"^// -----.*$", file.read_text(), flags=re.M)):
            name = f"{file.name}:{index}"
            yield name, text
            for stage in STAGES:
                made = subprocess.run(["tp-opt", stage], input=text, capture_output=True, text=True)
                if made.returncode == 0:
                    yield f"{name} after {stage}", made.stdout


def get_fault(arguments, file):
    """What is wrong with how a pass ends on a file; None if nothing is."""
    result = run(*arguments, "--allow-unregistered-dialect", "--split-input-file", str(file),
                 "-o", "/dev/null")
    if result.returncode not in (0, 1):
        return f"exit code {result.returncode}"
    bare = [line for line in result.stderr.splitlines() if re.search(r"error: (?!.*\[TP\d{4}\])", line)]
    return f"an error without a code: {bare[0]}" if bare else None


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    programs = dict(get_programs([pathlib.Path(name) for name in sys.argv[2:]]))
    corpus, single = folder / "corpus.mlir", folder / "single.mlir"
    corpus.write_text(SPLIT.join(programs.values()))
    (folder / "whole.mlir").write_text(next(iter(programs.values())))
    passes, faults = get_passes(), 0
    for name in passes:
        options = OPTIONS.get(name, "").format(folder)
        text = f"{name}{{{options}}}"
        if name in NESTED:
            text = f"{NESTED[name]}({text})"
        arguments = [f"--pass-pipeline=builtin.module({text})"]
        if not get_fault(arguments, corpus):
            continue
        # Which of them it is.
        for program, text in programs.items():
            single.write_text(text)
            if fault := get_fault(arguments, single):
                print(f"{name} on {program}: {fault}")
                faults += 1
                break
    print(f"{len(passes)} passes on {len(programs)} programs: {faults} faults")
    return 1 if faults or len(passes) < 30 else 0


if __name__ == "__main__":
    sys.exit(main())

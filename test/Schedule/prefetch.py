# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers in a loop whose weights are gathered an iteration ahead: prefetch.py MACHINE WORK MPIRUN...

Each iteration gathers two weights of its layer, and adds its number. With overlap and without,
on threads and with MPI, the outputs must be the same bits, for as many collectives, and the
arena no larger than without and what may be under way."""

import pathlib
import re
import subprocess
import sys

# Too little for the weights of all layers at once.
MEMORY = "1600KiB"
IN_FLIGHT = 1 << 20
PROGRAM = pathlib.Path(__file__).parent / "Inputs/layers.mlir"


def call(*arguments):
    result = subprocess.run(arguments, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{arguments}: {result.stderr}")


def count(steps):
    """All-gathers of a run."""
    gathers, times = 0, 1
    for line in steps.splitlines():
        if loop := re.match(r"    step\.loop (\d+)", line):
            times = int(loop[1])
        elif line.startswith("    }"):
            times = 1
        elif "collective_start all_gather" in line:
            gathers += times
    return gathers


def main():
    machine, work, *mpirun = sys.argv[1:]
    folder = pathlib.Path(work)
    folder.mkdir(parents=True, exist_ok=True)
    text = PROGRAM.read_text()
    for layers in (2, 3, 4, 5, 8):
        (folder / "layers.mlir").write_text(text.replace("LAYERS", str(layers)))
        outputs, sent, loops, arenas = set(), [], [], []
        for overlap in ("true", "false"):
            base = folder / overlap
            call("tp-opt", folder / "layers.mlir", "-o", f"{base}.step",
                 f"--tp-artifact={base}.tpx", f"--tp-compile=machine={machine} memory={MEMORY} "
                 f"overlap={overlap} chunk=false in_flight={IN_FLIGHT}B")
            result = folder / f"{overlap}.safetensors"
            run = ["tp-run", f"{base}.tpx", "--seed=5", f"--output={result}"]
            for launcher in ([], mpirun):
                call(*launcher, *run)
                outputs.add(result.read_bytes())
            steps = pathlib.Path(f"{base}.step").read_text()
            sent.append(count(steps))
            arenas.append(int(re.search(r"arena (\d+)", steps)[1]))
            loops.append(re.findall(r"step\.loop (\d+)", steps))
        if len(outputs) != 1:
            sys.exit(f"{layers} layers: other bits")
        if arenas[0] > arenas[1] + IN_FLIGHT:
            sys.exit(f"{layers} layers: an arena of {arenas[0]} bytes, {arenas[1]} without overlap")
        print(f"{layers} layers: {sent[0]} gathers with overlap, {sent[1]} without; "
              f"loops of {loops[0]}, {loops[1]} iterations")


if __name__ == "__main__":
    main()

# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers in loops whose collectives travel in other iterations than their own, and a gather in
pieces: software_pipeline.py WORK MPIRUN...

* layers: each iteration gathers two weights of its layer, and adds its number;
* sums: each gathers a weight, and sums what is a gradient of its layer over the devices;
* stacks: two loops need the weights of all layers, which are gathered in front of them as the
  program is written;
* gradients: a loop computes gradients of all layers, from the last to the first, which are summed
  behind it as the program is written, with a scatter and with an all-reduce;
* long-gather: no loop, but a gather that is longer than the times at which the link is idle.

With overlap and without, on threads and with MPI, the outputs must be the same bits, for as many
bytes, and the arena no larger than without and what may be under way."""

import pathlib
import re
import subprocess
import sys

IN_FLIGHT = 1 << 20
INPUTS = pathlib.Path(__file__).parent / "Inputs"
# Of layers there is too little memory for the weights of all at once. Where a collective takes long
# to start, gradients are summed together.
PROGRAMS = {"layers": ("even", "memory=1600KiB"), "sums": ("even", ""), "stacks": ("even", ""),
            "gradients": ("slow-starts", ""), "long-gather": ("slow-starts", "")}


def call(*arguments):
    result = subprocess.run(arguments, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{arguments}: {result.stderr}")


def count(steps):
    """Elements that the collectives of a run receive, and how many collectives those are."""
    elements, launches, times = 0, 0, 1
    for line in steps.splitlines():
        if loop := re.match(r"    step\.loop (\d+)", line):
            times = int(loop[1])
        elif line.startswith("    }"):
            times = 1
        elif "collective_start" in line:
            sizes = re.search(r" to memref<([0-9x]+)xf32", line)[1]
            product = times
            for size in sizes.split("x"):
                product *= int(size)
            elements += product
            launches += times
    return elements, launches


def test(name, layers, folder, mpirun):
    machine, words = PROGRAMS[name]
    text = (INPUTS / f"{name}.mlir").read_text()
    path = folder / f"{name}.mlir"
    path.write_text(text.replace("LAYERS", str(layers)).replace("LAST", str(layers - 1)))
    outputs, received, launches, loops, arenas = set(), set(), [], [], []
    for overlap in ("true", "false"):
        base = folder / f"{name}-{overlap}"
        call("tp-opt", path, "-o", f"{base}.step", f"--tp-artifact={base}.tpx",
             f"--tp-compile=machine={INPUTS / machine}.json {words} overlap={overlap} chunk=false "
             f"in_flight={IN_FLIGHT}B")
        result = f"{base}.safetensors"
        run = ["tp-run", f"{base}.tpx", "--seed=5", f"--output={result}"]
        for launcher in ([], mpirun):
            call(*launcher, *run)
            outputs.add(pathlib.Path(result).read_bytes())
        steps = pathlib.Path(f"{base}.step").read_text()
        elements, collectives = count(steps)
        received.add(elements)
        launches.append(collectives)
        arenas.append(int(re.search(r"arena (\d+)", steps)[1]))
        loops.append(re.findall(r"step\.loop (\d+)", steps))
    if len(outputs) != 1:
        sys.exit(f"{name}, {layers} layers: other bits")
    if len(received) != 1:
        sys.exit(f"{name}, {layers} layers: {received} elements received")
    if arenas[0] > arenas[1] + IN_FLIGHT:
        sys.exit(f"{name}, {layers} layers: an arena of {arenas[0]} bytes, {arenas[1]} without "
                 "overlap")
    print(f"{name}, {layers} layers: {launches[0]} collectives with overlap, {launches[1]} "
          f"without; loops of {loops[0]}, {loops[1]} iterations")


def main():
    work, *mpirun = sys.argv[1:]
    folder = pathlib.Path(work)
    folder.mkdir(parents=True, exist_ok=True)
    for name in PROGRAMS:
        for layers in (2, 3, 5, 8) if name != "long-gather" else (1,):
            test(name, layers, folder, mpirun)


if __name__ == "__main__":
    main()

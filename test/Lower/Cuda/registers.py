# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles the PTX in artifacts for each chip, and checks what ptxas says of every
kernel: registers.py PTXAS FOLDER FILE.tpx...

No kernel spills or has a stack. The registers of a block, as the chip hands them out,
and its shared memory, with what the launch adds, are no more than a block may have.
Prints the extremes of each image."""

import re
import subprocess
import sys

import artifact

REGISTERS = 64 << 10  # Of a block, on every chip.
GRAIN = 256  # In which a warp gets them.
STATIC = 48 << 10  # Shared memory that a kernel declares, on every chip.
# With what a launch adds: the CUDA programming guide, table of compute capabilities.
SHARED = {"sm_80": 163 << 10, "sm_89": 99 << 10, "sm_90a": 227 << 10, "sm_100": 227 << 10}

KERNEL = re.compile(
    r"Compiling entry function '(\w+)' for '(\w+)'\n.*\n"
    r"\s*(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads\n"
    r".*Used (\d+) registers(?:.*?(\d+) bytes smem)?")


def check(file, chip, ptx, launches, ptxas, folder):
    source = f"{folder}/kernels.ptx"
    open(source, "wb").write(ptx)
    said = subprocess.run([ptxas, "-v", f"-arch={chip}", source, "-o", "/dev/null"], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    found = {}
    wrong = []
    for kernel, arch, *numbers in KERNEL.findall(said):
        assert arch == chip, (arch, chip)
        stack, stores, loads, registers, static = (int(number or 0) for number in numbers)
        _, threads, added = launches[kernel]
        warps = (threads + 31) // 32
        used = warps * ((registers * 32 + GRAIN - 1) // GRAIN * GRAIN)
        shared = static + added
        what = f"{file}, {chip}, {kernel}: "
        if stack or stores or loads:
            wrong.append(what + f"spills {stores} bytes, has a stack of {stack}")
        if used > REGISTERS:
            wrong.append(what + f"{threads} threads of {registers} registers")
        if static > STATIC or shared > SHARED[chip]:
            wrong.append(what + f"{shared} bytes shared, of which it declares {static}")
        found[kernel] = (registers, shared)
    assert found.keys() == launches.keys(), (file, chip, launches.keys() - found.keys())
    if wrong:
        sys.exit("\n".join(wrong))
    most, largest = (max(numbers) for numbers in zip(*found.values()))
    print(f"{chip}: {len(found)} kernels, at most {most} registers and {largest} bytes shared")


def main():
    ptxas, folder, *files = sys.argv[1:]
    for file in files:
        content = artifact.Artifact(file)
        for image in content.images:
            assert image.kind == "ptx", "compile with ptxas=none"
            check(file, image.chip, image.code, dict(zip(content.kernels, image.launches)), ptxas,
                  folder)


main()

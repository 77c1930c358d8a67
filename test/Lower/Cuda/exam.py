# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the exam's programs for CUDA and runs them on virtual ranks of a GPU that
is none, against the whole program: exam.py EMULATE_KERNELS FAKE_GPU WORK FOLDER.."""

import os
import pathlib
import subprocess
import sys


def run(program, emulate, fake_gpu, work):
    """What went wrong; nothing if all is well."""
    commands = [
        ["tp-opt", program, "--tp-compile=target=cuda ptxas=none chips=sm_90 verify=off",
         f"--tp-artifact={work}/exam.tpx", "-o", f"{work}/exam.step"],
        [emulate, f"{work}/exam.step", "-o", f"{work}/kernels.so"],
        ["tp-run", f"{work}/exam.tpx", "--backend=virtual", "--check"]]
    environment = dict(os.environ, LD_LIBRARY_PATH=fake_gpu, XDG_CACHE_HOME=work,
                       TPRT_FAKE_DEVICES="1", TPRT_EMULATED_KERNELS=f"{work}/kernels.so")
    for command in commands:
        result = subprocess.run(command, env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if result.returncode != 0:
            return f"{' '.join(command)}: {result.returncode}\n{result.stdout}"
    return None


def main():
    emulate, fake_gpu, work, *folders = sys.argv[1:]
    os.makedirs(work, exist_ok=True)
    programs = [str(path) for folder in folders
                for path in sorted(pathlib.Path(folder).rglob("*.mlir"))]
    failed = 0
    for program in programs:
        problem = run(program, emulate, fake_gpu, work)
        if problem:
            failed += 1
            print(f"{program}: {problem}")
    print(f"{len(programs) - failed} of {len(programs)} programs compute the same")
    sys.exit(failed > 0 or not programs)


if __name__ == "__main__":
    main()

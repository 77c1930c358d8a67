# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Our side of benches: models compiled for the CPU, and tp-run on them."""

import re
import subprocess
import sys


def run(*command):
    done = subprocess.run([str(word) for word in command], text=True,
                          capture_output=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")
    return done.stdout


class Ours:
    """Compiled programs, and tp-run on them."""

    def __init__(self, build, model, folder):
        self.build, self.model, self.folder = build, model, folder

    def compile(self, name, imported, options):
        """The artifact of the model, imported and compiled with these options."""
        program = self.folder / f"{name}.mlir"
        run(self.build / "bin/tp-opt", f"--tp-import=hf:{self.model}",
            f"--tp-import-options={imported}", "-o", program)
        return self.build_program(program, options, name)

    def build_program(self, program, options, name):
        artifact = self.folder / f"{name}.tpx"
        run(self.build / "bin/tp-opt", program,
            f"--tp-compile=target=cpu {options}",
            f"--tp-artifact={artifact}", "-o", "/dev/null")
        return artifact

    def time(self, artifact, threads, runs, *inputs):
        """Median and first run in ms, and the recorded run's parts in ms."""
        text = run(self.build / "bin/tp-run", artifact, f"--threads={threads}",
                   f"--bench={runs}", *inputs)
        number = r"([0-9.]+) us"
        parts = {kind: float(time) / 1e3 for kind, time in re.findall(
            r"^  (\w+) +\d+ steps +" + number, text, re.MULTILINE)}
        waiting = re.search(r"waiting for other ranks " + number, text)
        if waiting:
            parts["waiting"] = float(waiting[1]) / 1e3
            parts["collective"] -= parts["waiting"]
        return {"median": float(re.search("median " + number, text)[1]) / 1e3,
                "first": float(re.search("first run +" + number, text)[1]) / 1e3,
                "parts": parts}

    def matmul_peak(self, dtype, threads=2):
        """What the library reaches on a large square product, in GF/s."""
        size = 2048
        square = f"tensor<{size}x{size}x{dtype}>"
        source = (' {tp.source = #tp.source<"w", '
                  f'stored=[{size}, {size}], start=[0, 0], size=[{size}, {size}], '
                  f'view=[{size}, {size}], permutation=[0, 1]>}}')
        program = self.folder / f"square-{dtype}.mlir"
        program.write_text(f"""
func.func @main(%a: {square}, %w: {square}{source}) -> {square} {{
  %0 = tp.einsum "mk,kn->mn" %a, %w : ({square}, {square}) -> {square}
  return %0 : {square}
}}
""")
        artifact = self.build_program(program, "mesh=model=1",
                                      f"square-{dtype}")
        result = self.time(artifact, threads, 5)
        return 2 * size**3 / result["parts"]["matmul"] / 1e6

# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands of the example."""

import json
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
# mpirun as any user, and on fewer cores than ranks.
MPIRUN = ["mpirun", "--oversubscribe", "-n"]
ENVIRONMENT = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class Tools:
    """tp-opt and tp-run of a folder, and a folder for what they write."""

    def __init__(self, binaries, out):
        self.opt = pathlib.Path(binaries).resolve() / "tp-opt"
        self.run = pathlib.Path(binaries).resolve() / "tp-run"
        self.out = pathlib.Path(out).resolve()
        self.out.mkdir(parents=True, exist_ok=True)

    def call(self, *command):
        """What a command prints."""
        result = subprocess.run([str(word) for word in command], env=ENVIRONMENT, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if result.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
        return result.stdout

    def make_step(self, batch):
        """The step of training for a number of crops, as a program."""
        step = self.out / f"step-{batch}.mlir"
        forward = self.out / f"forward-{batch}.mlir"
        text = (HERE / "mlp.mlir").read_text(encoding="utf-8")
        forward.write_text(text.replace("tensor<16x", f"tensor<{batch}x").replace(
            "tensor<16xf32>", f"tensor<{batch}xf32>").replace("<16.0>", f"<{batch}.0>"), encoding="utf-8")
        self.call(self.opt, forward, "--tp-train=loss=loss optimizer=adam(lr=1e-4)", "-o", step)
        return step

    def report(self, step, ranks, machine, artifact=None):
        """What tp-opt predicts of a step that is cut over so many ranks; it is compiled, too,
        if there is a name for that."""
        report = self.out / "report.json"
        options = f"mesh=model={ranks} plan={HERE / 'plan.json'} machine={machine}"
        compile_it = [f"--tp-compile={options}", f"--tp-artifact={artifact}"] if artifact else [
            f"--tp-shard={options}"]
        self.call(self.opt, step, *compile_it, f"--tp-report={report}", "-o", os.devnull)
        functions = json.loads(report.read_text(encoding="utf-8"))["functions"]
        return next(function for function in functions if function["name"] == "main")

    def train(self, artifact, steps, log, *options, launcher=()):
        """The lines of the log."""
        path = self.out / f"{log}.jsonl"
        self.call(*launcher, self.run, artifact, f"--train={self.out / 'crops.safetensors'}",
                  f"--steps={steps}", f"--log={path}", *options)
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

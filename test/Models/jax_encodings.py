#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans the same programs in each form in which JAX writes shardings.

    jax_encodings.py BUILD PROGRAM...

The forms are Shardy's dialect, GSPMD's strings, and what comes back from HLO, where
Shardy's attributes are strings. Programs are named as in test/Bench/jax-peer. Exit status
1 if plans do not send the same number of bytes."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
from jax._src.interpreters.mlir import make_ir_context  # noqa: E402
from jax._src.lib import _jax  # noqa: E402
from jaxlib.mlir import ir  # noqa: E402

import jax_zoo  # noqa: E402


def lower(name, shardy):
    jax.config.update("jax_use_shardy_partitioner", shardy)
    jax.clear_caches()
    program = jax_zoo.build_named(name)
    return program.jitted.lower(*program.arguments)


def through_hlo(lowered):
    module = _jax.mlir.xla_computation_to_mlir_module(lowered.compiler_ir("hlo"))
    with make_ir_context():
        return str(ir.Module.parse(module))


def count_bytes(tool, text, folder):
    program, report = folder / "model.mlir", folder / "report.json"
    program.write_text(text, encoding="utf-8")
    subprocess.run([tool, program, "--tp-shard", f"--tp-report={report}", "-o", os.devnull],
                   check=True)
    (function,) = json.loads(report.read_text(encoding="utf-8"))["functions"]
    return sum(c["times"] * c["wire_bytes"] for c in function["collectives"])


def main():
    tool = pathlib.Path(sys.argv[1]) / "bin/tp-opt"
    same = True
    for name in sys.argv[2:]:
        shardy = lower(name, shardy=True)
        forms = {"sdy.": shardy.as_text(), "xla.sdy.": through_hlo(shardy),
                 "mhlo.sharding": lower(name, shardy=False).as_text()}
        with tempfile.TemporaryDirectory() as folder:
            sent = {}
            for form, text in forms.items():
                assert form in text
                sent[form] = count_bytes(tool, text, pathlib.Path(folder))
        print(name, sent)
        same &= len(set(sent.values())) == 1
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())

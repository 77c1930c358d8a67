# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JAX's side of jax-peer: exports a program, compiles and runs it, and prints what
came of it as JSON.

    jax_worker.py FOLDER PROGRAM CONFIG DEVICES WHAT

The models in jax_zoo.py have one size, whatever CONFIG is.
WHAT is `run`, `compile` to stop before that, or `check` to run once, of code that XLA
makes in a hurry: no time is of use then. Into FOLDER go
model.mlir and, if it runs, in.safetensors, out.safetensors, and one.safetensors, which is
what JAX computes on one device, where no partitioner can be wrong. XLA's log, which has
the times of its passes, goes to stderr."""

import json
import os
import pathlib
import statistics
import sys
import time

folder = pathlib.Path(sys.argv[1])
name, config, devices, what = sys.argv[2:]
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}" + (
    " --xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
    if what == "check" else "")
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "0"
os.environ["TF_CPP_VMODULE"] = "hlo_pass_pipeline=1"

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "Models"), str(HERE.parent.parent / "tools/export")]

import jax  # noqa: E402
import numpy as np  # noqa: E402
import safetensors.numpy  # noqa: E402

import jax_models  # noqa: E402
import jax_zoo  # noqa: E402
import tp_export  # noqa: E402
import xla_program  # noqa: E402
from tp_export.naming import get_parameters, name_leaves  # noqa: E402


def save(named, path):
    safetensors.numpy.save_file(
        {name: np.ascontiguousarray(leaf).reshape(np.shape(leaf)) for name, leaf in named},
        path)


def run_on_one(arguments):
    program = jax_zoo.build_named(name, getattr(jax_models, config.upper()), devices=1)
    return jax.block_until_ready(program.jitted(*arguments))


def main():
    program = jax_zoo.build_named(name, getattr(jax_models, config.upper()), int(devices))
    tp_export.export(program.jitted, *program.arguments, to=folder)
    result = {"jax": jax.__version__}
    lowered = program.jitted.lower(*program.arguments)
    begin = time.perf_counter()
    compiled = lowered.compile()
    result["compile_s"] = time.perf_counter() - begin
    result["collectives"] = [
        {"kind": c.kind, "group_size": c.group, "bytes": c.bytes, "times": c.times,
         "wire_bytes": c.wire_bytes}
        for c in xla_program.read_collectives(compiled.as_text(), int(devices))]
    if what == "compile":
        return result

    arguments = program.make_arguments()
    names = get_parameters(program.jitted, len(arguments))
    save([pair for i, argument in enumerate(arguments)
          for pair in name_leaves(argument, names[i] if i else "")],
         folder / "in.safetensors")
    placed = jax.device_put(arguments, compiled.input_shardings[0])
    outputs = jax.block_until_ready(compiled(*placed))
    save(name_leaves(outputs, "result"), folder / "out.safetensors")
    if name.split("-")[0] not in jax_zoo.ONLY_ON_MESHES:
        save(name_leaves(run_on_one(arguments), "result"), folder / "one.safetensors")
    if what == "check":
        return result
    seconds = []
    while len(seconds) < 7 or (len(seconds) < 1001 and sum(seconds) < 0.5):
        begin = time.perf_counter()
        jax.block_until_ready(compiled(*placed))
        seconds.append(time.perf_counter() - begin)
    result["runs"] = len(seconds)
    result["run_ms"] = statistics.median(seconds) * 1e3
    return result


if __name__ == "__main__":
    print(json.dumps(main()))

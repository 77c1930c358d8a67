#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The training steps of jax_steps.py beside JAX's partitioner. Nothing runs: JAX compiles
what tp-opt partitions.

    public_steps.py [--before=TP_OPT] [--layout=WORD] [--keep=FOLDER] [NAME...]

A NAME is a part of one. Layouts: `data` cuts the batch, `fsdp` also every weight, `tensor`
the batch over one axis and weights over another. For each step are printed

* launches, wire bytes of a device, and its peak memory: tp-opt's and JAX's, and those of
  the older tp-opt that --before names;
* work, of all devices over that of one alone, and with machine=h100 the time of the
  collectives, JAX's priced by the same links, and that of the step. JAX's step is known where
  only the batch is cut: what its devices compute there is the step on a part of the batch;
* what is worse than it may be: launches over JAX's and over what buckets of 25 MiB need,
  bytes over those before, memory or time over those before by more than a thousandth, and
  time over JAX's: of the step, or else of the collectives where there is no more work.

Exit status 1 if anything is. No CI runs it, as it takes minutes. It takes what
requirements-jax.txt lists, and tp-opt on PATH."""

import argparse
import dataclasses
import functools
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
os.environ["JAX_PLATFORMS"] = "cpu"
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tools/export"), str(ROOT / "test/Bench")]

import jax  # noqa: E402
import numpy as np  # noqa: E402
import optax  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec as P  # noqa: E402

import tp_export  # noqa: E402
from jax_steps import GLOBAL, STEPS  # noqa: E402
import xla_program  # noqa: E402

LAYOUTS = {"data2": {"data": 2}, "data4": {"data": 4}, "fsdp2": {"data": 2},
           "fsdp4": {"data": 4}, "tensor2x2": {"data": 2, "model": 2}}
BUCKET = 25 << 20
GATHER = """spmd.mesh @mesh <["x"=2]>
func.func @main(%x: tensor<SIZExf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>})
    -> (tensor<SIZExf32> {spmd.sharding = #spmd.sharding<@mesh, [{}]>}) {
  return %x : tensor<SIZExf32>
}"""

# Megatron's cuts, in paths of weights, with the dimension counted from the last one.
CUTS = ((r"(query|key|value)'", -2), (r"out'.*kernel", -3), (r"down'.*kernel", -2),
        (r"embedding", -2), (r"up'|kernel", -1))


def get_spec(layout, mesh, keys, leaf):
    """Of a weight, or of a moment of one."""
    axis, at = "model" if "model" in mesh.shape else "data", None
    if axis == "model":
        path = jax.tree_util.keystr(keys)
        at = next((at for pattern, at in CUTS if re.search(pattern, path)), None)
    elif layout.startswith("fsdp"):
        # The first dimension that divides, as in most codes.
        at = next((i for i, n in enumerate(leaf.shape) if n % mesh.shape[axis] == 0), None)
    if at is None or leaf.ndim < -at or leaf.shape[at] % mesh.shape[axis]:
        return P()
    dims = [None] * leaf.ndim
    dims[at] = axis
    return P(*dims)


def build(name, layout, alone=False, by_hand=False):
    """The step with its shardings, and shapes for its arguments. By hand, each device makes
    the gradients of its part of the batch."""
    step = STEPS[name]()
    sizes = dict.fromkeys(LAYOUTS[layout], 1) if alone else LAYOUTS[layout]
    devices = np.array(jax.devices()[:np.prod([*sizes.values()])])
    mesh = jax.sharding.Mesh(devices.reshape(*sizes.values()), tuple(sizes))
    named = lambda spec: NamedSharding(mesh, spec)
    cut = lambda tree: jax.tree_util.tree_map_with_path(
        lambda keys, leaf: named(get_spec(layout, mesh, keys, leaf)), tree)
    params = jax.eval_shape(step.init, jax.random.key(0), step.batch)
    state = jax.eval_shape(step.optimizer.init, params)

    def run(params, state, batch, mean=lambda tree: tree):
        loss, gradients = mean(jax.value_and_grad(step.loss)(params, batch))
        updates, state = step.optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, loss
    if by_hand:
        mean = functools.partial(jax.lax.pmean, axis_name="data")
        run = jax.shard_map(functools.partial(run, mean=mean), mesh=mesh, check_vma=False,
                            in_specs=(P(), P(), P("data")), out_specs=P())
    kept = (cut(params), cut(state))
    on_batch = jax.tree.map(lambda _: named(P("data")), step.batch)
    jitted = jax.jit(run, in_shardings=(*kept, on_batch), keep_unused=True,
                     out_shardings=(*kept, named(P())))
    return jitted, (params, state, step.batch)


@dataclasses.dataclass
class Figures:
    launches: int = 0
    bytes: float = 0      # sent by a device
    payload: float = 0
    peak: float = 0
    work: float = 0       # of a device
    us: float = 0         # of the collectives on an h100
    step_us: float = 0

    def __str__(self):
        times = f", {self.us:.0f} us" if self.us else ""
        if self.step_us:
            times += f" of {self.step_us:.0f}"
        return (f"{self.launches} launches, {self.bytes / 1e6:.3f} MB, peak "
                f"{self.peak / 1e6:.1f} MB, work {self.work:.2f}{times}")


def partition(tool, program, folder, shard=""):
    report = folder / "report.json"
    done = subprocess.run([tool, program, f"--tp-shard={shard}", f"--tp-report={report}", "-o",
                           os.devnull], text=True, capture_output=True)
    if done.returncode:
        raise RuntimeError(f"{tool}: {done.stderr[-600:]}")
    (function,) = json.loads(report.read_text(encoding="utf-8"))["functions"]
    total = lambda what: sum(c["times"] * c[what] for c in function["collectives"])
    return Figures(sum(c["times"] for c in function["collectives"]), total("wire_bytes"),
                   total("bytes"), function["peak_bytes_per_device"],
                   function["flops_per_device"], function.get("comm_us", 0),
                   function.get("comm_us", 0) + function.get("compute_us", 0))


@functools.cache
def read_link():
    """The microseconds of a start and of a byte on an h100, of two gathers' predicted times."""
    with tempfile.TemporaryDirectory() as folder:
        def gather(size):
            program = pathlib.Path(folder) / "gather.mlir"
            program.write_text(GATHER.replace("SIZE", str(size)), encoding="utf-8")
            figures = partition("tp-opt", program, pathlib.Path(folder), "machine=h100")
            return figures.bytes, figures.us
        (few, short), (many, long) = gather(1 << 10), gather(1 << 28)
    beta = (long - short) / (many - few)
    return short - beta * few, beta


def compile_jax(jitted, arguments, devices, folder):
    compiled = jitted.lower(*arguments).compile()
    (folder / "jax.txt").write_text(compiled.as_text(), encoding="utf-8")
    found = xla_program.read_collectives(compiled.as_text(), devices)
    memory = compiled.memory_analysis()
    alpha, beta = read_link()
    return Figures(
        sum(c.times for c in found), sum(c.times * c.wire_bytes for c in found),
        sum(c.times * c.bytes for c in found),
        memory.temp_size_in_bytes + memory.argument_size_in_bytes
        + memory.output_size_in_bytes - memory.alias_size_in_bytes,
        compiled.cost_analysis()["flops"],
        sum(c.times * (alpha + beta * c.wire_bytes) for c in found))


@functools.cache
def count_alone(name):
    """The work of one device without others, tp-opt's and JAX's."""
    jitted, arguments = build(name, "data2", alone=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        tp_export.export(jitted, *arguments, to=folder)
        return (partition("tp-opt", folder / "model.mlir", folder).work,
                compile_jax(jitted, arguments, 1, folder).work)


def find_worse(now, timed, before, jax):
    """What is worse than it may be, in words."""
    if now.launches > max(jax.launches, math.ceil(now.payload / BUCKET)):
        yield "launches"
    more = lambda ours, limit: ours > 1.001 * limit
    if jax.step_us and more(timed.step_us, jax.step_us):
        yield "time"
    elif not jax.step_us and more(timed.us, jax.us) and timed.work <= jax.work * 1.01:
        yield "time"
    if before and now.bytes > before[0].bytes:
        yield "bytes"
    if before and more(now.peak, before[0].peak):
        yield "memory"
    if before and more(timed.step_us, before[1].step_us):
        yield "time before"


def compare(name, layout, folder, tools):
    jitted, arguments = build(name, layout)
    tp_export.export(jitted, *arguments, to=folder)
    devices = math.prod(LAYOUTS[layout].values())
    theirs = compile_jax(jitted, arguments, devices, folder)
    if layout.startswith("data") and name not in GLOBAL:
        hand, arguments = build(name, layout, by_hand=True)
        tp_export.export(hand, *arguments, to=folder / "by-hand")
        local = partition("tp-opt", folder / "by-hand/model.mlir", folder, "machine=h100")
        theirs.step_us = theirs.us + local.step_us - local.us
    # In the order of the tools: today's, and the older one if there is one.
    found = [[partition(tool, folder / "model.mlir", folder, shard)
              for shard in ("", "machine=h100")] for tool in tools]
    alone = count_alone(name)
    for figures, whole in ((theirs, alone[1]), *((f, alone[0]) for both in found for f in both)):
        figures.work *= devices / whole
    worse = list(find_worse(*found[0], found[1] if found[1:] else None, theirs))
    lines = [("JAX", theirs), *(pair for word, both in zip(("now", "before"), found)
                                for pair in ((word, both[0]), (f"{word}, h100", both[1])))]
    print(f"{name}-{layout}: {', '.join(worse).upper() or 'right'}")
    for word, figures in lines:
        print(f"    {word:14}{figures}", flush=True)
    return not worse


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before")
    parser.add_argument("--layout", default="")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("names", nargs="*", default=[""])
    options = parser.parse_args()
    tools = ["tp-opt", *([options.before] if options.before else [])]
    tasks = [(name, layout) for name in STEPS for layout in LAYOUTS
             if any(part in name for part in options.names) and options.layout in layout]
    right = 0
    for name, layout in tasks:
        with tempfile.TemporaryDirectory() as scratch:
            folder = options.keep / f"{name}-{layout}" if options.keep else pathlib.Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            right += compare(name, layout, folder, tools)
    print(f"{len(tasks)} steps, {right} right")
    return right < len(tasks)


if __name__ == "__main__":
    sys.exit(main())

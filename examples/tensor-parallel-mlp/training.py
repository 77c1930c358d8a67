# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The dense run, and the same step cut over two ranks: what differs, and what is sent."""

import numpy
import safetensors.numpy

from tools import MPIRUN

BATCH = 16
LOSS_BAR = 1e-5  # Of losses that begin near 0.5.
# Where the gradient of a weight has no digits, Adam makes steps of full size of rounding
# errors: a share of the largest weight of each tensor.
PARAMETER_BAR = 1e-3


def run_all(tools, machine, steps):
    """Name of each run -> its log."""
    step = tools.make_step(BATCH)
    runs = {}
    for name, ranks, launcher in (("dense", 1, ()), ("two threads", 2, ()),
                                  ("two processes", 2, (*MPIRUN, 2))):
        artifact = tools.out / f"{ranks}-{BATCH}.tpx"
        if not launcher:
            tools.report(step, ranks, machine, artifact)
        file = name.replace(" ", "-")
        runs[name] = tools.train(artifact, steps, file,
                                 f"--output={tools.out / file}.safetensors", launcher=launcher)
    return runs


def compare(tools, runs):
    """Ends the example if a run is not the dense one; returns what differs at most."""
    wanted = safetensors.numpy.load_file(tools.out / "dense.safetensors")
    worst = {}
    for name, lines in runs.items():
        if name == "dense":
            continue
        loss = max(abs(a["loss"] - b["loss"]) for a, b in zip(runs["dense"], lines, strict=True))
        found = safetensors.numpy.load_file(tools.out / f"{name.replace(' ', '-')}.safetensors")
        assert found.keys() == wanted.keys()
        share = {key: float(numpy.abs(found[key] - wanted[key]).max() / numpy.abs(wanted[key]).max())
                 for key in wanted}
        key = max(share, key=share.get)
        print(f"{name}: losses differ by {loss:.1e} at most, parameters by {share[key]:.1e} of the "
              f"largest ({key})")
        if loss > LOSS_BAR or share[key] > PARAMETER_BAR:
            raise SystemExit(f"{name} does not compute what the dense run does: {LOSS_BAR:.0e} and "
                             f"{PARAMETER_BAR:.0e} are allowed")
        worst[name] = (loss, share[key])
    threads, processes = (safetensors.numpy.load_file(tools.out / f"two-{kind}.safetensors")
                          for kind in ("threads", "processes"))
    assert all((threads[key] == processes[key]).all() for key in threads), \
        "threads and processes give other bits"
    return worst

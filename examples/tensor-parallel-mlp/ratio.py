# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""R(m), the time of communication over that of compute on m ranks: predicted by tp-opt for
a machine file, and measured."""

import statistics

WARM_UP = 3


def measure(tools, step, ranks, machine, batch, steps):
    artifact = tools.out / f"{ranks}-{batch}.tpx"
    predicted = tools.report(step, ranks, machine, artifact)
    lines = tools.train(artifact, steps + WARM_UP, "ratio", "--threads=1")[WARM_UP:]
    return {
        "ranks": ranks, "batch": batch,
        "predicted": predicted["comm_us"] / predicted["compute_us"],
        "sending": statistics.median(line["communication_s"] / line["compute_s"] for line in lines),
        "all": statistics.median((line["communication_s"] + line["waiting_s"]) / line["compute_s"]
                                 for line in lines)}


def get_ratios(tools, machine, batches, ranks, steps):
    return [measure(tools, tools.make_step(batch), count, machine, batch, steps)
            for batch in batches for count in ranks]


def predict(tools, machine, batch, most):
    """Predicted R of m = 1, 2, 4, .. ranks, up to the first above 1."""
    step, ranks, points = tools.make_step(batch), 1, []
    while ranks <= most:
        predicted = tools.report(step, ranks, machine)
        points.append((ranks, predicted["comm_us"] / predicted["compute_us"]))
        if points[-1][1] > 1:
            break
        ranks *= 2
    return points


def print_ratios(ratios):
    print(f"{'ranks':>6} {'batch':>6} {'predicted':>10} {'sending':>10} {'and waiting':>12}")
    for point in ratios:
        print(f"{point['ranks']:6} {point['batch']:6} {point['predicted']:10.4f} "
              f"{point['sending']:10.4f} {point['all']:12.4f}")

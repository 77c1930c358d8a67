# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The plots of the example, as SVG and PNG."""

import matplotlib
import numpy

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

COLORS = {"dense": "#555555", "two threads": "#0072b2", "two processes": "#d55e00"}
RANKS = {1: "#555555", 2: "#0072b2", 4: "#d55e00"}


def save(figure, tools, name):
    for ending in ("svg", "png"):
        figure.savefig(tools.out / f"{name}.{ending}", dpi=150)
    pyplot.close(figure)


def smooth(values, width):
    """The median of each value and those around it: single steps are disturbed."""
    values = numpy.asarray(values)
    return [numpy.median(values[max(0, i - width):i + width + 1]) for i in range(len(values))]


def plot_training(tools, runs):
    figure, (losses, differences, shares) = pyplot.subplots(
        3, 1, sharex=True, figsize=(8, 9), layout="constrained")
    dense = runs["dense"]
    steps = [line["step"] for line in dense]
    for (name, lines), style in zip(runs.items(), ("-", "--", ":")):
        losses.plot(steps, [line["loss"] for line in lines], style, color=COLORS[name], label=name,
                    linewidth=2.5 if name == "dense" else 1.5)
        if name == "dense":
            continue
        differences.plot(steps, [abs(a["loss"] - b["loss"]) for a, b in zip(dense, lines)], style,
                         color=COLORS[name], label=name)
        for keys, style, what in ((("communication_s", "waiting_s"), "-", "sending and waiting"),
                                  (("communication_s",), ":", "sending")):
            share = [100 * sum(line[key] for key in keys) / line["seconds"] for line in lines]
            shares.plot(steps, smooth(share, 5), style, color=COLORS[name], label=f"{name}, {what}")
    losses.set_yscale("log")
    losses.set_ylabel("loss")
    losses.set_title("An autoencoder of 32 x 32 crops, dense and cut over two ranks")
    differences.axhline(1e-5, color="black", linewidth=0.8)
    differences.annotate("allowed", (steps[0], 1e-5), xytext=(0, -11), textcoords="offset points")
    differences.set_yscale("symlog", linthresh=1e-8)
    differences.set_ylim(0, 3e-5)
    differences.set_ylabel("|loss - dense loss|")
    shares.set_yscale("log")
    shares.set_ylim(1e-3, 100)
    shares.yaxis.set_major_formatter("{x:g}")
    shares.set_ylabel("% of the step's time,\nmedian of 11 steps")
    shares.set_xlabel("step")
    for axes in (losses, differences, shares):
        axes.grid(alpha=0.3)
        if axes is shares:
            axes.legend(loc="lower center", ncols=2)
        else:
            axes.legend(loc="upper right")
    save(figure, tools, "training")


def plot_ratios(tools, ratios, predictions):
    figure, (measured, predicted) = pyplot.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
    for ranks in sorted({point["ranks"] for point in ratios} - {1}):
        points = [point for point in ratios if point["ranks"] == ranks]
        batches = [point["batch"] for point in points]
        for key, style, what in (("all", "o-", "sending and waiting"), ("sending", "o:", "sending"),
                                 ("predicted", "x--", "predicted")):
            measured.plot(batches, [point[key] for point in points], style, color=RANKS[ranks],
                          label=f"m = {ranks}, {what}")
    measured.set_xlabel("crops of a step")
    measured.set_title("Measured on this host; R(1) = 0")
    for what, points in predictions.items():
        points = [point for point in points if point[0] > 1]
        predicted.plot(*zip(*points), "x--", label=what)
    predicted.set_xlabel("tensor-parallel ranks m")
    predicted.set_title("Predicted: where communication passes compute")
    for axes in (measured, predicted):
        axes.axhline(1, color="black", linewidth=0.8)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_ylabel("R(m) = communication / compute")
        axes.xaxis.set_major_formatter(matplotlib.ticker.ScalarFormatter())
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    save(figure, tools, "ratio")

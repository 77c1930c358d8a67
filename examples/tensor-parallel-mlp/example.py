# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains an autoencoder on crops of photographs, dense and tensor parallel, compares the
runs, and measures what communication costs.

    example.py --tools=FOLDER OUT [--steps=500] [--short]

FOLDER has tp-opt and tp-run; logs, parameters, plots and results.json go to OUT. --short
trains and measures little: a test of the example."""

import argparse
import json

import crops
import machine
import plots
import ratio
import training
from tools import Tools


def print_crossing(what, points):
    ranks, value = points[-1]
    words = (f"passes 1 at m = {ranks}" if value > 1 else
             f"is {value:.2f} at m = {ranks}, the most looked at")
    print(f"predicted, {what}: R {words}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--tools", required=True)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    tools = Tools(options.tools, options.out)
    print(f"{crops.write_crops(tools.out / 'crops.safetensors')} crops")

    path, host = machine.measure_machine(tools, 1 if options.short else 11)
    print(f"this host, of one thread: {host['flops'] / 1e9:.1f} Gflop/s in f32, "
          f"{host['memory_bandwidth'] / 1e9:.1f} GB/s of memory, a link of {host['link']['us']} us "
          f"and {host['link']['gbps']} GB/s")

    runs = training.run_all(tools, path, options.steps)
    print(f"dense: loss {runs['dense'][0]['loss']:.4f} in step 1, {runs['dense'][-1]['loss']:.4f} in "
          f"step {options.steps}")
    worst = training.compare(tools, runs)
    plots.plot_training(tools, runs)

    batches = (16,) if options.short else (16, 64, 256, 1024)
    ratios = ratio.get_ratios(tools, path, batches, (1, 2) if options.short else (1, 2, 4),
                              2 if options.short else 9)
    ratio.print_ratios(ratios)
    hosts = {"this host": path, "10 Gbit/s": machine.write_network(tools, host)}
    predictions = {f"{name}, {batch} crops": ratio.predict(tools, hosts[name], batch,
                                                           4 if options.short else 256)
                   for name in hosts for batch in sorted({batches[0], batches[-1]})}
    for what, points in predictions.items():
        print_crossing(what, points)
    plots.plot_ratios(tools, ratios, predictions)
    (tools.out / "results.json").write_text(json.dumps(
        {"machine": host, "worst": worst, "ratios": ratios, "predictions": predictions}, indent=1),
        encoding="utf-8")
    print(f"plots: {tools.out}/training.png, {tools.out}/ratio.png, and .svg")


if __name__ == "__main__":
    main()

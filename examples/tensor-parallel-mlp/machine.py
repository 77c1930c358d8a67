# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A machine file for this host: what a rank of one thread computes and sends."""

import json
import re
import statistics

PRODUCT = """
func.func @main(%x: tensor<512x1024xf32>, %w: tensor<1024x1024xf32> {tp.role = "parameter"})
    -> tensor<512x1024xf32> {
  %y = tp.einsum "bi,io->bo" %x, %w : (tensor<512x1024xf32>, tensor<1024x1024xf32>) -> tensor<512x1024xf32>
  return %y : tensor<512x1024xf32>
}
"""
SUM = """
func.func @main(%x: tensor<16777216xf32>, %y: tensor<16777216xf32>) -> tensor<16777216xf32> {
  %z = tp.add %x, %y : tensor<16777216xf32>
  return %z : tensor<16777216xf32>
}
"""
# Each of two ranks has a term of the sum.
EXCHANGE = """
spmd.mesh @mesh <["model"=2]>
func.func @main(%x: tensor<2xNxf32> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<Nxf32> {spmd.sharding = #spmd.sharding<@mesh, [{}]>}) {
  %y = tp.reduce sum %x dims = [0] : tensor<2xNxf32> -> tensor<Nxf32>
  return %y : tensor<Nxf32>
}
"""
SMALL, LARGE = 16, 1 << 20


def bench(tools, name, text, mesh, runs):
    program = tools.out / f"{name}.mlir"
    program.write_text(text, encoding="utf-8")
    artifact = tools.out / f"{name}.tpx"
    tools.call(tools.opt, program, f"--tp-compile={mesh}", f"--tp-artifact={artifact}", "-o", "/dev/null")
    return tools.call(tools.run, artifact, f"--bench={runs}", "--threads=1")


def find(pattern, text):
    found = re.search(pattern, text)
    return float(found[1]) if found else 0.0


def measure_exchange(tools, size, times):
    """Microseconds of a sum over two ranks once both are there: the median of some runs."""
    took = []
    for _ in range(times):
        text = bench(tools, f"exchange-{size}", EXCHANGE.replace("N", str(size)), "mesh=model=2", 3)
        took.append(find(r"collective +\d+ steps +([\d.]+) us", text) -
                    find(r"waiting for other ranks ([\d.]+) us", text))
    return statistics.median(took)


def measure_machine(tools, times):
    """Writes a machine file; returns its path and what it says."""
    def least(name, text):
        return find(r"min ([\d.]+) us", bench(tools, name, text, "mesh=model=1", 10)) * 1e-6

    flops = 2 * 512 * 1024 * 1024 / least("product", PRODUCT)
    bandwidth = 3 * 4 * 16777216 / least("sum", SUM)
    small, large = (measure_exchange(tools, size, times) for size in (SMALL, LARGE))
    # On a ring of two, a device sends as many bytes as the sum has.
    gbps = 4 * (LARGE - SMALL) / ((large - small) * 1e3)
    machine = {"name": "this host", "flops": flops, "flops_32": flops, "memory_bandwidth": bandwidth,
               "link": {"us": round(small, 2), "gbps": round(gbps, 3)}}
    return write_machine(tools, machine), machine


def write_machine(tools, machine):
    path = tools.out / f"{machine['name'].replace(' ', '-')}.json"
    path.write_text(json.dumps(machine, indent=1) + "\n", encoding="utf-8")
    return path


def write_network(tools, machine):
    """The same ranks on hosts of their own, with 10 Gbit/s between them: not measured."""
    return write_machine(tools, machine | {"name": "network", "link": {"us": 50, "gbps": 1.25}})

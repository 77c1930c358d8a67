# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads what XLA says of a partitioned program: the collectives in the text of an
optimized module, and the times of its passes in the log.

Figures are those of tp-opt's report: `bytes` is the tensor of an all-reduce, the
gathered result of an all-gather, the unreduced input of a reduce-scatter and the
buffer of the others, on one device; `wire_bytes` what a device sends in a ring of g
devices: 2(g-1)/g of that, (g-1)/g, and all of it for a permutation. A loop counts by
its trips."""

import collections
import dataclasses
import math
import re

SIZES = {"pred": 1, "s4": 0.5, "u4": 0.5, "s8": 1, "u8": 1, "s16": 2, "u16": 2, "bf16": 2,
         "f16": 2, "s32": 4, "u32": 4, "f32": 4, "s64": 8, "u64": 8, "f64": 8}
KINDS = {"all-reduce": "all_reduce", "all-gather": "all_gather",
         "reduce-scatter": "reduce_scatter", "all-to-all": "all_to_all",
         "ragged-all-to-all": "all_to_all", "collective-permute": "collective_permute",
         "collective-broadcast": "all_gather"}
COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.\-]+) \(.*\{$")
INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.\-]+ = (\(.*?\)|\S+) ([\w\-]+)\((.*)$")
SHAPE = re.compile(r"\b(\w+)\[([\d,]*)\]")
CALLED = re.compile(r"(?:to_apply|calls|true_computation|false_computation)=%?([\w.\-]+)")
PASS = re.compile(r"HLO pass: ([\w\-]+) time: .*?\((\d+) us\)")


@dataclasses.dataclass(frozen=True)
class Collective:
    kind: str
    group: int
    bytes: float
    times: int

    @property
    def wire_bytes(self):
        share = {"all_reduce": 2 * (self.group - 1) / self.group,
                 "collective_permute": 1}.get(self.kind, (self.group - 1) / self.group)
        return self.bytes * share


def get_bytes(shape):
    """Of a shape, or of all in a tuple."""
    return sum(SIZES[dtype] * math.prod(map(int, filter(None, dims.split(","))))
               for dtype, dims in SHAPE.findall(shape) if dtype in SIZES)


def get_group(text, devices):
    """How many devices take part together."""
    if groups := re.search(r"replica_groups=\{\{([\d,]+)\}", text):
        return len(groups[1].split(","))
    if groups := re.search(r"replica_groups=\[(\d+),(\d+)\]<=", text):
        return int(groups[2])
    # A mesh, and the axes that take part.
    if groups := re.search(r"replica_groups=mesh\[([^\]]*)\].*?\{([^}]*)\}", text):
        sizes = {name: int(size) for name, size in re.findall(r"'([^']+)'=(\d+)", groups[1])}
        axes = re.findall(r"'([^']+)'(?::\((\d+)\)(\d+))?", groups[2])
        return math.prod(int(part) if part else sizes[axis] for axis, _, part in axes)
    if "replica_groups={}" in text or "source_target_pairs" in text:
        return devices
    raise ValueError(f"no replica groups in: {text[:200]}")


def read_collectives(text, devices):
    """The collectives of an optimized module, each as often as it runs; a loop of
    unknown trips counts once."""
    bodies, entry, name = {}, None, None
    for line in text.splitlines():
        if start := COMPUTATION.match(line):
            name = start[2]
            bodies[name] = []
            entry = name if start[1] else entry
        elif name and (instruction := INSTRUCTION.match(line)):
            bodies[name].append(instruction.groups())

    times = collections.Counter({entry: 1})
    found = []
    # Callees come after their callers in this order, so that all calls are counted.
    for name in order_calls(bodies, entry):
        for shape, op, rest in bodies[name]:
            for callee, trips in get_calls(op, rest):
                times[callee] += times[name] * trips
            kind = KINDS.get(op.removesuffix("-start"))
            if not kind:
                continue
            payload = get_bytes(shape)
            if op.endswith("-start") and shape.startswith("(") and kind != "all_reduce":
                payload = get_bytes(shape) - get_bytes(rest.split(")")[0])
            group = get_group(rest, devices)
            if kind == "reduce_scatter":
                payload *= group
            if group > 1:
                found.append(Collective(kind, group, payload, times[name]))
    return found


def get_calls(op, rest):
    """The computations an instruction calls, and how often."""
    if op == "while":
        body = re.search(r"body=%?([\w.\-]+)", rest)[1]
        trips = re.search(r'known_trip_count"?:\s*\{"?n"?:\s*"?(\d+)', rest)
        return [(body, int(trips[1]) if trips else 1)]
    if branches := re.search(r"branch_computations=\{([^}]*)\}", rest):
        return [(name.strip().lstrip("%"), 1) for name in branches[1].split(",")]
    # What a collective or a reduction applies to elements is no call.
    if op in ("call", "fusion", "conditional", "async-start"):
        return [(name, 1) for name in CALLED.findall(rest)]
    return []


def order_calls(bodies, entry):
    """Computations that are reached, callers first."""
    done, order = set(), []

    def visit(name):
        if name in done or name not in bodies:
            return
        done.add(name)
        for _, op, rest in bodies[name]:
            for callee, _ in get_calls(op, rest):
                visit(callee)
        order.append(name)
    visit(entry)
    return reversed(order)


def read_sharding_seconds(log):
    """Seconds by pass in the partitioning pipeline of the module that took longest, to
    which Shardy's propagation belongs; None if XLA logged none. The log is that of
    TF_CPP_VMODULE=hlo_pass_pipeline=1."""
    modules, module = {}, None
    for line in log.splitlines():
        if start := re.search(r"Running HLO pass pipeline on module (\S+): (\S.*)", line):
            if start[2] == "spmd-partitioner":
                module = start[1]
            elif not start[2].startswith("spmd-"):
                module = None
        elif module and (timed := PASS.search(line)):
            passes = modules.setdefault(module, collections.Counter())
            # Those of the cleanup run, and are timed, inside of the partitioner's.
            if timed[1] not in ("dce", "tuple-simplifier", "cse"):
                passes[timed[1]] += int(timed[2]) / 1e6
    return max((dict(passes) for passes in modules.values()
                if "spmd-partitioning" in passes),
               key=lambda passes: sum(passes.values()), default=None)

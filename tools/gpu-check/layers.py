# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How fast it is: layers against those who do the same, and all against what the GPU
can do, which is measured in the same run.

A floor is the larger of the time that the bytes take at the speed of a copy within the
GPU and the time that the operations take at the speed of the best large product. It is
given of a layer as a whole, and as the sum of the floors of our steps ("parts"), which
is what fusing no further could reach."""

import collections
import dataclasses
import functools
import statistics
import subprocess
import sys
import tempfile

import checks
import device
import programs
from device import HERE

# What a peer may take to compile all its ways of a layer.
COMPILING = 420
# A kernel below this part of the speed of a copy is listed.
BAR = 0.85


@dataclasses.dataclass
class Roofs:
    bytes_per_us: float
    operations_per_us: float

    def get_floor(self, moved, operations):
        return max(moved / self.bytes_per_us, operations / self.operations_per_us)


def get_program(name):
    return HERE / "programs" / f"{name}.tpx"


def measure_roofs(table, sizes, runs):
    """What a copy reaches, and the product of large matrices."""
    try:
        copied = float(device.call(
            [sys.executable, HERE / "device.py", sizes.copied],
            env=device.get_environment(), stderr=subprocess.PIPE,
            timeout=device.PATIENCE))
        table.add(f"a copy within the GPU: {copied:.0f} GB/s", "cuda",
                  us=2 * sizes.copied / copied / 1e3)
        times = device.bench(get_program("product"), runs)
        time = min(times["min"], times["matmul"])
    except (*checks.FAILURES, ValueError, KeyError) as error:
        table.add("roofs", "cuda", device.explain(error))
        return None
    rate = 2 * sizes.square**3 / time
    table.add(f"a product of {sizes.square}^3: {rate / 1e6:.0f} TFLOP/s", "cuda", us=time)
    return Roofs(1e3 * copied, rate)


def greet(table, candidates):
    """Those peers that are there; the others are named."""
    present = []
    for peer in candidates:
        answer = peer.ask(120, do="hello")
        table.add(f"peer {peer.name}", "cuda",
                  f"missing: {answer['error']}" if "error" in answer else answer["is"], note=True)
        if "error" in answer:
            peer.close()
        else:
            present.append(peer)
    return present


def take_turns(ours, contenders, rounds):
    """Median microseconds by name, and why there are none."""
    times, errors = collections.defaultdict(list), {}
    for _ in range(rounds):
        times["ours"].append(ours())
        for label, ask in contenders.items():
            answer = {} if label in errors else ask()
            if "error" in answer:
                errors[label] = answer["error"]
            elif answer:
                times[label].append(answer["us"])
    return {label: statistics.median(values) for label, values in times.items()
            if label not in errors}, errors


def report(table, name, medians, errors, floor, parts=None):
    """A row of ours, with the best peer's time, and one for each peer."""
    medians = dict(medians)
    ours = medians.pop("ours")
    best = min(medians.values(), default=None)
    table.add(name, "ours", us=ours, peer=best, floor=floor, parts=parts)
    for label, time in medians.items():
        table.add(name, label, us=time)
    for label, error in errors.items():
        table.add(name, label, error, note=True)


def prepare(table, name, case, present, runs):
    """The ways of the peers that work; what each of the others says is in the table."""
    contenders = {}
    for peer in present:
        patience = min(COMPILING, max(60, table.get_seconds_left()))
        answer = peer.ask(patience, do="prepare", case=case)
        if "error" in answer:
            table.add(name, peer.name, answer["error"], note=True)
        for variant, error in answer.get("variants", {}).items():
            label = f"{peer.name} {variant}"
            if error:
                table.add(name, label, error, note=True)
            else:
                contenders[label] = functools.partial(
                    peer.ask, 120, do="time", variant=variant, runs=runs)
    return contenders


def measure_layers(table, packed, roofs, present, rounds, runs):
    """Microseconds of one layer."""
    for name, fields in packed.items():
        case = programs.Case(**fields["case"])
        if table.is_over(name, "ours"):
            continue
        contenders = prepare(table, name, fields["case"], present, runs)
        program, layers = get_program(case.file), case.config["num_hidden_layers"]
        try:
            medians, errors = take_turns(
                lambda: device.bench(program, runs, *case.inputs)["median"], contenders, rounds)
        except checks.FAILURES as error:
            table.add(name, "ours", device.explain(error))
            continue
        parts = sum(roofs.get_floor(moved, operations)
                    for _, _, moved, operations in fields["costs"])
        report(table, name, {label: time / layers for label, time in medians.items()}, errors,
               roofs.get_floor(*case.get_layer_cost()), parts / layers)


def trace_kernels(case, costs, rounds, runs):
    """The times of each kernel of rows, by its label and cost."""
    times = collections.defaultdict(list)
    with tempfile.NamedTemporaryFile(suffix=".json") as trace:
        for _ in range(rounds):
            device.bench(get_program(case.file), runs, *case.inputs, f"--trace={trace.name}")
            steps = device.read_trace(trace.name)
            if len(steps) != len(costs):
                raise ValueError(f"{len(steps)} steps in the trace, not {len(costs)}")
            for (_, time), (kind, *cost) in zip(steps, costs):
                if kind == "rows":
                    times[tuple(cost)].append(time)
    return times


def measure_kernels(table, packed, sizes, roofs, rounds, runs):
    """The kernels of the longest prompts that move less than BAR of what a copy does, by
    their times in a run that is traced. Of those that move little, it would be the time
    to start them."""
    for name, fields in packed.items():
        case = programs.Case(**fields["case"])
        if case.phase != "prefill" or case.tokens != max(sizes.prefill):
            continue
        if table.is_over(f"{name}, kernels", "ours"):
            continue
        try:
            times = trace_kernels(case, fields["costs"], rounds, runs)
        except (*checks.FAILURES, ValueError) as error:
            table.add(f"{name}, kernels", "ours", device.explain(error))
            continue
        telling = {cost: durations for cost, durations in times.items()
                   if cost[1] >= sizes.telling}
        good = 0
        for (label, *cost), durations in telling.items():
            time, floor = statistics.median(durations), roofs.get_floor(*cost)
            if floor >= BAR * time:
                good += 1
            else:
                table.add(f"{name}: {label}", "ours", us=time, floor=floor)
        table.add(f"{name}: {good} of {len(telling)} kernels move {BAR} of a copy or more, "
                  f"{len(times) - len(telling)} too little to tell", "ours")


def measure_attention(table, sizes, roofs, torch, rounds, runs):
    """Ours by mma.sync against PyTorch's, of FlashAttention and of cuDNN."""
    for shape in sizes.attention:
        batch, positions, heads, kv_heads, features = shape
        name = f"attention {batch}x{positions}, {heads}/{kv_heads} heads of {features}"
        if table.is_over(name, "ours"):
            continue
        program = get_program(programs.get_attention_name(shape))
        contenders = {f"torch {backend}": functools.partial(
            torch.ask, 120, do="attention", sizes=shape, backend=backend, runs=runs)
            for backend in ("flash", "cudnn", "efficient")} if torch else {}
        try:
            medians, errors = take_turns(
                lambda: device.bench(program, runs)["kernel"], contenders, rounds)
        except (*checks.FAILURES, KeyError) as error:
            table.add(name, "ours", device.explain(error))
            continue
        moved = 4 * batch * positions * (heads + kv_heads) * features
        operations = 2 * batch * positions * (positions + 1) * heads * features
        report(table, name, medians, errors, roofs.get_floor(moved, operations))

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

import device
import programs
from device import HERE
from peers import Peer

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


class Bench:
    """The measurements, which share the GPU's limits and the peers."""

    def __init__(self, table, packed, sizes, options):
        self.table, self.packed, self.sizes = table, packed, sizes
        self.rounds, self.runs, self.python = options.rounds, options.bench, options.python

    def close(self):
        for peer in self.__dict__.get("peers", []):
            peer.close()

    def bench(self, program, *arguments):
        return device.bench(program, self.runs, self.sizes.warm_up, *arguments)

    @functools.cached_property
    def roofs(self):
        """What a copy reaches, and the product of large matrices; what any run takes."""
        copied = float(device.call(
            [sys.executable, HERE / "device.py", self.sizes.copied,
             self.sizes.warm_up],
            env=device.get_environment(), stderr=subprocess.PIPE, timeout=device.PATIENCE))
        self.table.add(f"a copy within the GPU: {copied:.0f} GB/s", "cuda",
                       us=2 * self.sizes.copied / copied / 1e3)
        self.table.add("a run of one small kernel, waited for", "cuda",
                       us=self.bench(get_program("negation"))["median"])
        times = self.bench(get_program("product"))
        time = min(times["min"], times["matmul"])
        rate = 2 * self.sizes.square**3 / time
        self.table.add(f"a product of {self.sizes.square}^3: {rate / 1e6:.0f} TFLOP/s", "cuda",
                       us=time)
        return Roofs(1e3 * copied, rate)

    @functools.cached_property
    def peers(self):
        """Those that are there; the others are named."""
        present = []
        for name in ("torch", "jax"):
            peer = Peer(name, self.python)
            answer = peer.ask(120, do="hello")
            if "error" in answer:
                self.table.add(f"peer {name}", "cuda", f"missing: {answer['error']}", note=True)
                peer.close()
            else:
                self.table.add(f"peer {name}", "cuda", answer["is"], note=True)
                present.append(peer)
        return present

    def report(self, name, medians, errors, floor, parts=None):
        """A row of ours, with the best peer's time, and one for each peer."""
        medians = dict(medians)
        ours = medians.pop("ours")
        best = min(medians.values(), default=None)
        self.table.add(name, "ours", us=ours, peer=best, floor=floor, parts=parts)
        for label, time in medians.items():
            self.table.add(name, label, us=time)
        for label, error in errors.items():
            self.table.add(name, label, error, note=True)

    def prepare(self, name, case):
        """The ways of the peers that work; what the others say is in the table."""
        contenders = {}
        for peer in self.peers:
            patience = min(COMPILING, max(30, self.table.get_seconds_left()))
            answer = peer.ask(patience, do="prepare", case=case)
            if "error" in answer:
                self.table.add(name, peer.name, answer["error"], note=True)
            for variant, error in answer.get("variants", {}).items():
                label = f"{peer.name} {variant}"
                if error:
                    self.table.add(name, label, error, note=True)
                else:
                    contenders[label] = functools.partial(
                        peer.ask, 120, do="time", variant=variant, runs=self.runs)
        return contenders

    def measure_layers(self, part):
        """Microseconds of one layer, of those whose names have this part."""
        roofs = self.roofs
        for name, fields in self.packed.items():
            case = programs.Case(**fields["case"])
            if part not in name or self.table.is_over(name, "ours"):
                continue
            contenders = self.prepare(name, fields["case"])
            program, layers = get_program(case.file), case.config["num_hidden_layers"]
            try:
                medians, errors = take_turns(
                    lambda: self.bench(program, *case.inputs)["median"],
                    contenders, self.rounds)
            except device.FAILURES as error:
                self.table.add(name, "ours", device.explain(error))
                continue
            parts = sum(roofs.get_floor(moved, operations)
                        for _, _, moved, operations in fields["costs"])
            self.report(name, {label: time / layers for label, time in medians.items()}, errors,
                        roofs.get_floor(*case.get_layer_cost()), parts / layers)

    def trace_kernels(self, case, costs):
        """The times of each kernel of rows, by its label and cost."""
        times = collections.defaultdict(list)
        with tempfile.NamedTemporaryFile(suffix=".json") as trace:
            for _ in range(self.rounds):
                self.bench(get_program(case.file), *case.inputs, f"--trace={trace.name}")
                steps = device.read_trace(trace.name)
                if len(steps) != len(costs):
                    raise ValueError(f"{len(steps)} steps in the trace, not {len(costs)}")
                for (_, time), (kind, *cost) in zip(steps, costs):
                    if kind == "rows":
                        times[tuple(cost)].append(time)
        return times

    def measure_kernels(self):
        """The kernels of the longest prompts that move less than BAR of what a copy does,
        by their times in a run that is traced. Of those that move little, it would be the
        time to start them."""
        roofs = self.roofs
        for name, fields in self.packed.items():
            case = programs.Case(**fields["case"])
            if case.phase != "prefill" or case.tokens != max(self.sizes.prefill):
                continue
            if self.table.is_over(f"{name}, kernels", "ours"):
                continue
            try:
                times = self.trace_kernels(case, fields["costs"])
            except device.FAILURES as error:
                self.table.add(f"{name}, kernels", "ours", device.explain(error))
                continue
            telling = {cost: durations for cost, durations in times.items()
                       if cost[1] >= self.sizes.telling}
            good = 0
            for (label, *cost), durations in telling.items():
                time, floor = statistics.median(durations), roofs.get_floor(*cost)
                if floor >= BAR * time:
                    good += 1
                else:
                    self.table.add(f"{name}: {label}", "ours", us=time, floor=floor)
            self.table.add(
                f"{name}: {good} of {len(telling)} kernels move {BAR} of a copy or more, "
                f"{len(times) - len(telling)} too little to tell", "ours")

    def measure_attention(self):
        """Ours by mma.sync against PyTorch's, of FlashAttention and of cuDNN."""
        roofs = self.roofs
        torch = next((peer for peer in self.peers if peer.name == "torch"), None)
        for shape in self.sizes.attention:
            batch, positions, heads, kv_heads, features = shape
            name = f"attention {batch}x{positions}, {heads}/{kv_heads} heads of {features}"
            if self.table.is_over(name, "ours"):
                continue
            program = get_program(programs.get_attention_name(shape))
            contenders = {f"torch {backend}": functools.partial(
                torch.ask, 120, do="attention", sizes=shape, backend=backend, runs=self.runs)
                for backend in ("flash", "cudnn", "efficient")} if torch else {}
            try:
                medians, errors = take_turns(
                    lambda: self.bench(program)["kernel"], contenders, self.rounds)
            except device.FAILURES as error:
                self.table.add(name, "ours", device.explain(error))
                continue
            moved = 4 * batch * positions * (heads + kv_heads) * features
            operations = 2 * batch * positions * (positions + 1) * heads * features
            self.report(name, medians, errors, roofs.get_floor(moved, operations))

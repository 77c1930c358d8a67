# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

"""Writes a program of functions that split and merge a cut dimension, or compares what their
plans send with the elements that devices lack.

    reshapes.py write DEVICES > program.mlir
    reshapes.py all DEVICES > program.mlir          one that calls all of them
    reshapes.py check DEVICES report.json

An element that a device needs and lacks is counted by the distance of the device that has
it, from the first to the last in the sender's block: one run at each distance is what a plan
may send. The count is by brute force, and knows nothing of the compiler's own."""

import json
import sys

ROWS = 4
# Heads, and of what they are made.
SHAPES = [(9, 8), (7, 3), (3, 8), (5, 6), (10, 3), (25, 4), (9, 3, 2), (11, 1, 4)]


def product(numbers):
    result = 1
    for number in numbers:
        result *= number
    return result


def get_holders(shape, devices):
    """Of each element, the device that has it, where the first dimension is cut."""
    block = -(-shape[0] // devices)
    behind = product(shape[1:])
    return [element // behind // block for element in range(product(shape))], block * behind


def count_sent(source, target, devices):
    """Elements that go over all distances, if each sends one run of them."""
    have, block = get_holders(source, devices)
    need, _ = get_holders(target, devices)
    lacked = {}
    for element, (sender, place) in enumerate(zip(have, need)):
        if sender != place:
            lacked.setdefault((sender - place) % devices, []).append(element % block)
    return sum(max(run) - min(run) + 1 for run in lacked.values())


def type_of(shape):
    return "tensor<" + "x".join(map(str, (ROWS,) + shape)) + "xf32>"


def sharding_of(shape):
    dims = ", ".join(["{}", '{"x"}'] + ["{}"] * (len(shape) - 1))
    return f"{{spmd.sharding = #spmd.sharding<@mesh, [{dims}]>}}"


def get_functions(devices):
    """Name, shape before and after."""
    for shape in SHAPES:
        if devices >= 2 * shape[0]:
            continue  # most devices would have nothing
        flat = (product(shape),)
        name = "x".join(map(str, shape))
        yield f"split_{name}", flat, shape
        yield f"merge_{name}", shape, flat
        if len(shape) > 2:
            yield f"merge_some_{name}", shape, (shape[0] * shape[1], shape[2])
    if devices < 6:
        yield "groups", (9, 4), (3, 3, 4)
        yield "groups_back", (3, 3, 4), (9, 4)


def main():
    command, devices = sys.argv[1], int(sys.argv[2])
    functions = list(get_functions(devices))
    if command == "check":
        with open(sys.argv[3]) as file:
            report = json.load(file)
        sent = {f["name"]: sum(c["wire_bytes"] * c["times"] for c in f["collectives"])
                for f in report["functions"]}
        failures = 0
        for name, source, target in functions:
            limit = 4 * ROWS * count_sent(source, target, devices)
            if sent[name] > limit:
                failures += 1
                print(f"{name}: sends {sent[name]} B, devices lack {limit} B")
        print(f"{devices} devices: {len(functions) - failures} of {len(functions)} functions "
              "send what devices lack")
        return failures != 0
    print(f'spmd.mesh @mesh <["x"={devices}]>')
    visibility = "private" if command == "all" else ""
    for name, source, target in functions:
        cut = ("", "") if visibility else (" " + sharding_of(source), " " + sharding_of(target))
        print(f"func.func {visibility} @{name}(%x: {type_of(source)}{cut[0]}) -> "
              f"({type_of(target)}{cut[1]}) {{\n"
              f"  %0 = tp.reshape %x : {type_of(source)} -> {type_of(target)}\n"
              f"  return %0 : {type_of(target)}\n}}")
    if visibility:
        arguments = ", ".join(f"%x{i}: {type_of(source)} {sharding_of(source)}"
                              for i, (_, source, _) in enumerate(functions))
        results = ", ".join(f"{type_of(target)} {sharding_of(target)}"
                            for _, _, target in functions)
        calls = "".join(f"  %{i} = func.call @{name}(%x{i}) : ({type_of(source)}) -> "
                        f"{type_of(target)}\n"
                        for i, (name, source, target) in enumerate(functions))
        values = ", ".join(f"%{i}" for i in range(len(functions)))
        types = ", ".join(type_of(target) for _, _, target in functions)
        print(f"func.func @main({arguments}) -> ({results}) {{\n{calls}"
              f"  return {values} : {types}\n}}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

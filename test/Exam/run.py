#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sits the exam: what the compiler decides, beside what it should.

  run.py TP_OPT [FILE...]      all items beside this script without FILE

Every item of exam.md is one or more programs. The first line of a program's
header is `// ITEM: what it is about`; behind it stand the figures, in the
notation of exam.md:

  // EXPECT: AR{x} V=32, AG{y} V=64 x2     the collectives, or `none`
  // WIRE: 142              elements a device may send, where it is not the sum
  // PROPAGATED: t [a?,-]   shardings after propagation, by name; also `result`
  // PARTITIONED: y [x,-] or [-,x]    shardings that ops compute in
  // LOCAL: x 4x6           what a device holds of an argument
  // REMARK: padding        words of a remark
  // MESHES: x=3; x=1,y=2   other meshes to run it on

Every program also runs on simulated devices, on its own mesh and on those, and
must compute what the whole one does. Prints a line for each and at last
`same N, better M, worse 0, missing 0`: `better` sends less, or as much in fewer
launches; `missing` are items of exam.md without a program. Exits with 1 unless
the last two are 0.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
KINDS = {
    "all_reduce": ("AR", lambda g: 2 * (g - 1) / g),
    "all_gather": ("AG", lambda g: (g - 1) / g),
    "reduce_scatter": ("RS", lambda g: (g - 1) / g),
    "all_to_all": ("A2A", lambda g: (g - 1) / g),
    "collective_permute": ("CP", lambda g: 1),
}
SHARE = dict(KINDS.values())


class Failure(Exception):
    """Something that is worse than expected, in words."""


def run(*command):
    """What `command` prints; on both streams."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure((done.stderr.strip() or "no message").splitlines()[0])
    return done.stdout, done.stderr


# -- the notation of exam.md ---------------------------------------------------


def group_size(axes, mesh):
    size = 1
    for axis in axes.split(","):
        size *= int(axis.split(")")[1]) if ":" in axis else mesh[axis]
    return size


def parse_collectives(text, mesh):
    """`AR{x} V=32 x2` as (total elements sent, launches)."""
    sent = launches = 0
    for kind, axes, volume, times in re.findall(
            r"(\w+)\{([^}]*)\} V=(\d+)(?: x(\d+))?", text):
        times = int(times or 1)
        sent += SHARE[kind](group_size(axes, mesh)) * int(volume) * times
        launches += times
    return sent, launches


def parse_shardings(text):
    return [part.strip().split(" ", 1) for part in text.split(";")]


def write_sharding(text):
    """`[{"a", "x":(1)2, ?}p1, {}]` as `[(a,x:(1)2)?,-]`."""
    dims = []
    for dim in re.findall(r"\{([^}]*)\}", text.split("]")[0]):
        axes = [axis.strip().replace('"', "") for axis in dim.split(",")]
        is_open = axes[-1] == "?"
        axes = [axis for axis in axes if axis not in ("", "?")]
        if not axes:
            dims.append("?" if is_open else "-")
            continue
        joined = ",".join(axes)
        dims.append((f"({joined})" if len(axes) > 1 else joined) +
                    ("?" if is_open else ""))
    return f"[{','.join(dims)}]"


# -- one program ---------------------------------------------------------------


class Program:
    def __init__(self, path):
        self.path = path
        self.text = path.read_text()
        self.item = re.search(r"^// ([A-Z]\d+): ", self.text, re.M).group(1)
        mesh = re.search(r"spmd\.mesh @\w+ <\[(.*?)\]>", self.text).group(1)
        self.mesh = {name: int(size)
                     for name, size in re.findall(r'"(\w+)"=(\d+)', mesh)}

    def header(self, key):
        found = re.search(rf"^// {key}: (.*)$", self.text, re.M)
        return found and found.group(1)

    def find_shardings(self, printed):
        """Shardings by the names of the source, from IR with locations."""
        lines = {}
        for line in printed.splitlines():
            # Within the value's name, if that is known.
            place = re.search(r' loc\([^{]*"[^"]*":(\d+):\d+\)*(\])?\)*$', line)
            shardings = re.search(
                r"spmd\.shardings = \[#spmd\.sharding<@\w+, (\[.*?\])[,>]", line)
            if place and shardings:
                lines[int(place.group(1))] = write_sharding(shardings.group(1))
        signature = next(line for line in printed.splitlines()
                         if "func.func" in line)
        arguments, _, results = signature.partition(") -> ")
        found = {}
        for attributes in re.findall(r"%arg\d+: tensor<[^>]*> \{(.*?)\} loc", arguments):
            name = re.search(r'tp\.name = "(\w+)"', attributes)
            sharding = re.search(r"sharding<@\w+, (\[.*\])", attributes)
            if name and sharding:
                found[name.group(1)] = write_sharding(sharding.group(1))
        sharding = re.search(r"sharding<@\w+, (\[.*?\])[,>]", results)
        if sharding:
            found["result"] = write_sharding(sharding.group(1))
        for number, line in enumerate(self.text.splitlines(), 1):
            name = re.match(r"\s*%(\w+)(?::\d+)? = ", line)
            if name and number in lines:
                found[name.group(1)] = lines[number]
        return found

    def check_shardings(self, tp_opt, key, stage):
        wanted = self.header(key)
        if not wanted:
            return
        printed, _ = run(tp_opt, self.path, f"--tp-shard=stop-after={stage}",
                         "--mlir-print-debuginfo", "--mlir-print-local-scope")
        found = self.find_shardings(printed)
        for name, sharding in parse_shardings(wanted):
            got = found.get(name, "nothing")
            if got not in sharding.split(" or "):
                raise Failure(f"{name} {got}, not {sharding}")

    def check_local(self, report):
        for name, shape in parse_shardings(self.header("LOCAL") or ""):
            local = next(tensor["local"] for tensor in report["inputs"]
                         if tensor["name"] == name)
            got = re.search(r"\[(.*)\]", local).group(1).replace(",", "x")
            if got != shape:
                raise Failure(f"{name} is {got} on a device, not {shape}")

    def compute(self, tp_opt, folder):
        """Runs it on simulated devices, on all its meshes."""
        meshes = self.header("MESHES")
        for number, mesh in enumerate(meshes.split(";") if meshes else []):
            local = f"{folder}/{number}.mlir"
            run(tp_opt, self.path, f"--tp-shard=mesh={mesh.strip()}", "-o", local)
            run(tp_opt, local, f"--tp-verify-against=whole={self.path}", "-o",
                os.devnull)

    def judge(self, tp_opt, folder):
        """(what was decided, "same" or "better"), or a Failure."""
        local, report_file = f"{folder}/local.mlir", f"{folder}/report.json"
        _, remarks = run(tp_opt, self.path, "--tp-shard",
                         f"--tp-report={report_file}", "-o", local,
                         *(["--remark-policy=all", "--remarks-filter=.*"]
                           if self.header("REMARK") else []))
        with open(report_file, encoding="utf-8") as file:
            report = json.load(file)["functions"][0]
        got, sent, launches = {}, 0.0, 0
        for collective in report["collectives"]:
            axes = ",".join(collective["axes"])
            name = " + ".join(f"{KINDS[share['kind']][0]}{{{axes}}} V={share['bytes'] // 4}"
                              for share in collective["shares"])
            got[name] = got.get(name, 0) + collective["times"]
            sent += collective["wire_bytes"] / 4 * collective["times"]
            launches += collective["times"]
        decided = ", ".join(name + (f" x{times}" if times > 1 else "")
                            for name, times in got.items()) or "none"
        try:
            self.check_shardings(tp_opt, "PROPAGATED", "propagate")
            self.check_shardings(tp_opt, "PARTITIONED", "partition")
            if self.header("LOCAL"):
                self.check_local(report)
            if (self.header("REMARK") or "") not in remarks:
                raise Failure("no remark")
            run(tp_opt, local, f"--tp-verify-against=whole={self.path}", "-o",
                os.devnull)
            self.compute(tp_opt, folder)
        except Failure as failure:
            raise Failure(f"{decided}; {failure}") from None
        expected = self.header("EXPECT")
        if expected is None:
            return decided, "same"
        may_send, may_launch = parse_collectives(expected, self.mesh)
        may_send = float(self.header("WIRE") or may_send)
        # Reports count bytes, so a device's share of an element is exact.
        if round(sent - may_send, 6) > 0 or (
                round(sent - may_send, 6) == 0 and launches > may_launch):
            raise Failure(f"{decided}; sends {sent:g}, not {may_send:g}")
        better = round(sent - may_send, 6) < 0 or launches < may_launch
        return decided, "better" if better else "same"

    def describe(self):
        parts = [self.header("PROPAGATED"), self.header("PARTITIONED"),
                 self.header("EXPECT")]
        wire = self.header("WIRE")
        return "; ".join(filter(None, parts)) + (f" (w {wire})" if wire else "")


def sit(tp_opt, path):
    program = Program(path)
    with tempfile.TemporaryDirectory() as folder:
        try:
            return program, *program.judge(tp_opt, folder)
        except Failure as failure:
            return program, str(failure), "worse"


def natural(text):
    return [int(part) if part.isdigit() else part
            for part in re.split(r"(\d+)", text)]


def main():
    tp_opt, *files = sys.argv[1:]
    paths = ([pathlib.Path(file).resolve() for file in files] or
             sorted(HERE.glob("*/*.mlir"), key=lambda p: natural(str(p))))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda path: sit(tp_opt, path), paths))

    count = {"same": 0, "better": 0, "worse": 0}
    for program, decided, verdict in results:
        count[verdict] += 1
        print(f"{verdict:6} {program.item:3} {program.path.stem:24} "
              f"{program.describe()}" +
              ("" if decided == program.header("EXPECT") and verdict == "same"
               else f"\n{'':36}got {decided}"))
    items = re.findall(r"^- \*\*([A-Z]\d+)\*\*", (HERE / "exam.md").read_text(), re.M)
    missing = [] if files else sorted(
        set(items) - {program.item for program, *_ in results}, key=natural)
    if missing:
        print("missing", ", ".join(missing))
    print(", ".join(f"{verdict} {number}" for verdict, number in count.items()) +
          f", missing {len(missing)}")
    return 1 if count["worse"] or missing else 0


if __name__ == "__main__":
    sys.exit(main())

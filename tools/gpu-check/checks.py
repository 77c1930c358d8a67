# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether it computes what it should, ends as it should when something fails, and does
nothing that NVIDIA's compute-sanitizer sees."""

import array
import glob
import re
import shutil
import signal
import subprocess
import sys
import time

import device
from device import HERE

# Of the largest logit.
TOLERANCES = {"f32": 1e-4, "bf16": 2e-2}
WAYS = {"cuda": (1, lambda *a: device.run_alone("cuda", *a)),
        "virtual": (device.RANKS, lambda *a: device.run_alone("virtual", *a)),
        "nccl": (device.RANKS, device.run_by_nccl)}
# A program with a communicator of one rank.
ONE_RANK = "one-rank-sum"
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")


def read_logits(text):
    """The numbers that --print wrote below a line that names a tensor."""
    numbers = array.array("f")
    for line in text.splitlines():
        if ":" not in line:
            numbers.extend(map(float, line.split()))
    return numbers


def get_generate(goldens):
    return ["--generate=" + ",".join(map(str, goldens["prompt"])),
            f"--max_tokens={goldens['tokens']}"]


def compare_tokens(got, text):
    wanted = text.split(",") if text else got
    if len(got) != len(wanted):
        return f"{len(got)} tokens, not {len(wanted)}"
    for i, (ours, theirs) in enumerate(zip(got, wanted)):
        if ours != theirs:
            return f"token {i} is {ours}, not {theirs}"
    return ""


def compare(name, golden, text):
    """What is wrong with the output of a run; nothing if it is right."""
    if golden["generates"]:
        return compare_tokens(text.strip().split(","), golden.get("tokens"))
    wanted = array.array("f", (HERE / "programs" / f"{name}.logits").read_bytes())
    got = read_logits(text)
    if len(got) != len(wanted):
        return f"{len(got)} logits, not {len(wanted)}"
    scale = max(map(abs, wanted))
    # A NaN is not below anything.
    largest = max((abs(a - b) if a == a else float("inf") for a, b in zip(got, wanted)))
    worst = largest / scale
    return "" if worst <= TOLERANCES[golden["dtype"]] else f"off by {worst:.2g}"


def check_probe(table, goldens):
    """What is there, and one small program for each form of kernel and of product: what
    fails here need not be looked for in a model. Each row says what it proves."""
    def check(name, golden, way, proves, execute):
        try:
            wrong = compare(name, {**golden, "generates": False}, execute(["--print"]))
        except device.FAILURES as error:
            wrong = device.explain(error)
        table.add(f"{name}: {proves}", way, wrong or "ok")

    table.add(device.describe(), "cuda", note=True)
    for name, golden in goldens["small"].items():
        program = HERE / "programs" / f"{name}.tpx"
        check(name, golden, "cuda", golden["proves"],
              lambda arguments, program=program: device.run_alone("cuda", program, arguments))

    def run_one_rank(arguments):
        program = HERE / "programs" / f"{ONE_RANK}.tpx"
        device.run_one_by_nccl(program, ["--bench=2"])  # the second run is a graph
        return device.run_one_by_nccl(program, arguments)
    check(ONE_RANK, {"dtype": "f32"}, "nccl, 1 rank",
          "a group, its memory, a graph of two streams", run_one_rank)


def check_numbers(table, goldens, way, runs, warm_up):
    """All programs of so many ranks against the CPU."""
    ranks, execute = WAYS[way]
    # Processes would not run equally often within a time.
    timing = [f"--bench={runs}", *([] if way == "nccl" else [f"--warmup={warm_up}"])]
    for name, golden in goldens["programs"].items():
        if ranks != golden["ranks"] or table.is_over(name, way):
            continue
        program = HERE / "programs" / f"{name}.tpx"
        generates = golden["generates"]
        label, median = name + (" (decode)" if generates else ""), None
        try:
            wrong = compare(name, golden, execute(
                program, get_generate(goldens) if generates else ["--print"]))
            entry = ["--entry=decode"] if generates else []
            median = device.read_bench(execute(program, [*timing, *entry]))["median"]
        except device.FAILURES as error:
            wrong = device.explain(error)
        table.add(label, way, wrong or "ok", us=median)


def check_one_by_nccl(table, goldens):
    """NCCL's library, a communicator and an all-gather, without others."""
    name = next(name for name, golden in goldens["programs"].items()
                if golden["ranks"] == 1 and not golden["generates"])
    try:
        wrong = compare(name, goldens["programs"][name], device.run_one_by_nccl(
            HERE / "programs" / f"{name}.tpx", ["--print"]))
    except device.FAILURES as error:
        wrong = device.explain(error)
    table.add(name, "nccl, 1 rank", wrong or "ok")


def get_last_line(text):
    return (text.strip().splitlines() or ["nothing was said"])[-1]


def expect(table, program, on, codes, ended):
    """That all of these exit codes are 3, and that one of the errors has such a code."""
    exits, said = [code for code, _ in ended], "\n".join(errors for _, errors in ended)
    result = "ok"
    if set(exits) != {3}:
        result = f"exit codes {exits}, not 3"
    elif not set(re.findall(r"\[(TP\d+)\]", said)) & set(codes):
        result = f"not {' or '.join(codes)} but {get_last_line(said)}"
    table.add(program, on, result)


def check_faults(table, goldens, patience):
    """Memory that no GPU has, and a rank that is gone while it computes: its connections
    are closed, or it says nothing any more and the others wait in a graph."""
    done = subprocess.run(
        device.get_command("cuda", HERE / "programs/too-large.tpx", ["--input=position=0"]),
        env=device.get_environment(), text=True, capture_output=True, check=False,
        timeout=device.PATIENCE)
    expect(table, "more than a GPU's memory", "cuda", ["TP0878"],
           [(done.returncode, done.stderr)])
    name = next(name for name, golden in goldens["programs"].items()
                if golden["ranks"] > 1 and not golden["generates"])
    check_gone(table, HERE / "programs" / f"{name}.tpx", patience, "a killed rank",
               signal.SIGKILL, ["TP0870", "TP0871"])
    check_gone(table, HERE / "programs" / f"{name}.tpx", patience, "a stopped rank",
               signal.SIGSTOP, ["TP0871"])


def check_gone(table, program, patience, what, how, codes):
    """The others end, at the latest when a collective has taken too long."""
    processes = device.start_by_nccl(
        program, ["--bench=1000000000", f"--timeout={2 * patience}"], port=29519)
    try:
        end = time.monotonic() + patience
        while time.monotonic() < end and all(p.poll() is None for p in processes):
            time.sleep(0.1)
        ended = next((p for p in processes if p.poll() is not None), None)
        if ended:
            table.add(what, "nccl",
                      f"one ended before: {get_last_line(ended.communicate()[1])}")
            return
        processes[-1].send_signal(how)
        begin = time.monotonic()
        errors = [process.communicate(timeout=3 * patience + 30)[1]
                  for process in processes[:-1]]
        expect(table, f"{what}, noticed in {time.monotonic() - begin:.0f} s", "nccl", codes,
               [(process.returncode, said) for process, said in zip(processes, errors)])
    except subprocess.TimeoutExpired:
        table.add(what, "nccl", "the others wait for ever")
    finally:
        for process in processes:
            process.kill()
            process.wait()


def find_sanitizer():
    places = [f"{place}/nvidia/*/bin/compute-sanitizer" for place in sys.path]
    places += ["/usr/local/cuda*/bin/compute-sanitizer",
               "/usr/local/cuda*/compute-sanitizer/compute-sanitizer"]
    return shutil.which("compute-sanitizer") or next(
        (path for place in places for path in glob.glob(place)), None)


def check_sanitizer(table, names):
    sanitizer = find_sanitizer()
    if not sanitizer:
        table.add("compute-sanitizer", "cuda", "not found", note=True)
        return
    for tool in TOOLS:
        for name in names:
            if table.is_over(name, tool):
                continue
            try:
                device.run_alone("cuda", HERE / "programs" / f"{name}.tpx", [],
                                 before=[sanitizer, f"--tool={tool}", "--error-exitcode=9"])
                table.add(name, tool)
            except subprocess.CalledProcessError as error:
                said = re.findall(r"^========= (.+)", error.stdout or "", re.MULTILINE)
                table.add(name, tool, said[0] if said else device.explain(error))
            except device.FAILURES as error:
                table.add(name, tool, device.explain(error))

# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports each file of the corpus, raises what tp-raise recognises, runs it in the
interpreter on one device and compares with what JAX computes."""

import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import ml_dtypes  # noqa: F401  teaches NumPy the types of safetensors
import safetensors.numpy

from comparing import compare

SECONDS = 60
# Where a name in a location stands before the code.
ERROR = re.compile(r"error: (?:.*?\[(TP\d+)\] )?(.*)")
OP = re.compile(r"\b(?:stablehlo|chlo|sdy|mhlo|tp|spmd)\.[\w.]+")
ENTRY = re.compile(r"func\.func (?:public )?@main\((.*)\n")


class Refused(Exception):
    """tp-opt says no, with a code and a reason."""


class Broken(Exception):
    """tp-opt neither does it nor says why not."""


def call(tool, *arguments):
    try:
        done = subprocess.run([tool, *map(str, arguments)], capture_output=True,
                              text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise Broken(f"no end after {SECONDS} s") from None
    if done.returncode == 0:
        return
    error = ERROR.search(done.stderr)
    if done.returncode != 1 or not error:
        raise Broken(f"exit status {done.returncode}: {done.stderr.strip()[-300:]}")
    code, text = error.groups()
    op = OP.search(text) or OP.search(done.stderr)
    raise Refused(code or "no code", op.group() if op else "", text)


def split(text):
    """The pieces between commas that are outside of all brackets."""
    depth, piece = 0, ""
    for letter in text:
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and depth == 0:
            yield piece
            piece = ""
        else:
            piece += letter
    if piece.strip():
        yield piece


def get_names(program):
    """What the arguments and the results of @main are called."""
    strings = []

    def hide(string):
        """Brackets in strings are no brackets."""
        text = string[1].replace("\\\\", "\\5C")
        strings.append(re.sub(r"\\([0-9A-F]{2})", lambda code: chr(int(code[1], 16)),
                              text.replace('\\"', '"')))
        return f'"{len(strings) - 1}"'
    signature = re.sub(r'"((?:[^"\\]|\\.)*)"', hide, ENTRY.search(program)[1])
    depth = 1
    for place, letter in enumerate(signature):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            break
    results = signature[place + 1:].partition(" -> ")[2].rsplit("{", 1)[0].strip()
    if results.startswith("("):
        results = results[1:-1]

    def name(kind, pieces):
        found = [re.search(r'tp\.name = "(\d+)"', piece) for piece in pieces]
        return [strings[int(f[1])] if f else f"{kind}{i}" for i, f in enumerate(found)]
    return name("arg", split(signature[:place])), name("result", split(results))


def run_one(folder, name, tool, scratch):
    """What is wrong with the numbers; None if nothing is."""
    imported, inputs, outputs = (pathlib.Path(scratch) / f"{name}.{kind}" for kind in
                                 ("mlir", "in.safetensors", "out.safetensors"))
    call(tool, folder / f"{name}.mlir", "--tp-import-stablehlo", "--tp-inline-calls",
         "--tp-raise", "-o", imported)
    arguments, results = get_names(imported.read_text())
    given = safetensors.numpy.load_file(folder / f"{name}.in.safetensors")
    safetensors.numpy.save_file(
        {called: given[f"arg{i}"] for i, called in enumerate(arguments)}, inputs)
    call(tool, imported, f"--tp-interpret-entry=inputs={inputs} outputs={outputs}",
         "-o", os.devnull)
    got = safetensors.numpy.load_file(outputs)
    wanted = safetensors.numpy.load_file(folder / f"{name}.out.safetensors")
    if len(results) != len(wanted):
        return f"{len(results)} results for {len(wanted)}"
    for i, called in enumerate(results):
        if wrong := compare(got[called], wanted[f"result{i}"]):
            return f"result {i}: {wrong}"
    return None


def judge(folder, name, tool, scratch):
    """`right`, `wrong`, `refused` or `broken`, and why."""
    try:
        wrong = run_one(folder, name, tool, scratch)
        return ("wrong", wrong) if wrong else ("right", None)
    except Refused as refused:
        return "refused", refused.args
    except Broken as broken:
        return "broken", str(broken)


def run(folder, names, tool, show, least):
    """Prints what holds; returns 1 if a number is wrong, the tool broke, or too little is
    supported."""
    verdicts = {}
    with (tempfile.TemporaryDirectory() as scratch,
          concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool):
        jobs = {name: pool.submit(judge, folder, name, tool, scratch) for name in names}
        for number, (name, job) in enumerate(jobs.items()):
            if sys.stderr.isatty():
                print(f"\r{number} of {len(names)} {name:60.60}", end="", file=sys.stderr)
            verdicts[name] = job.result()

    # The verdict of a function is the worst of its files.
    order = ["right", "refused", "wrong", "broken"]
    functions = collections.defaultdict(lambda: "right")
    for name, (verdict, _) in verdicts.items():
        function = re.match(r"(jax\.nn\.\w+|jax\.lax\.\w+|"
                            r"jax\.numpy\.(?:linalg\.|fft\.)?\w+)", name).group()
        functions[function] = max(functions[function], verdict, key=order.index)

    groups = collections.defaultdict(list)
    for name, (verdict, why) in verdicts.items():
        if verdict in ("wrong", "broken"):
            print(f"{verdict}: {name}: {why}")
        elif verdict == "refused":
            groups[why[:2]].append((name, why[2]))
    for (code, op), refused in sorted(groups.items(), key=lambda g: -len(g[1])):
        print(f"refused: {len(refused):5} files  [{code}] {op}")
        for name, text in refused[:show]:
            print(f"             {name}: {text[:160]}")
    for what, judged in (("functions", functions.values()),
                         ("files", [v for v, _ in verdicts.values()])):
        count = collections.Counter(judged)
        print(f"{what}: supported {count['right']} of {len(judged)}, wrong "
              f"{count['wrong']}, refused {count['refused']}, broken {count['broken']}")
    supported = 100 * list(functions.values()).count("right") / len(functions)
    return 1 if supported < least or any(v in ("wrong", "broken")
                                         for v, _ in verdicts.values()) else 0

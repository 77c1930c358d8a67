#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every example of IR in a page of documentation, so that none can rot.

    examples.py TP_OPT PAGE.md             each ```mlir block must parse, verify and
                                           survive a roundtrip
    examples.py TP_OPT PAGE.md --ops       and every op's section must have one

An example may be a fragment: values that it uses and does not define are given
to it, of the type it uses them with, and so is a mesh if it names @mesh. An
example may also be an attribute or a type, which is put on a module.

In running text a comment before a block says more:

    <!-- run: --canonicalize -->           run with these flags instead
    <!-- run: --pass fails -->             which must fail
    <!-- gives -->                         the output of the block before; `...`
                                           skips some of it
"""

import argparse
import re
import subprocess
import sys

MESH = 'spmd.mesh @mesh <["data"=2, "model"=4, "x"=4, "y"=2]>\n'
BLOCK = re.compile(r"(?:<!-- (?P<order>run:[^>]*|gives) -->\n+)?"
                   r"^```(?P<kind>\w+)\n(?P<text>.*?)^```", re.M | re.S)
INLINE = re.compile(r"^Example: ((?:`[^`]+`,?\s*)+)", re.M)
UNDECLARED = re.compile(r":(\d+):(\d+): error: use of undeclared SSA value name")
USED_AS = re.compile(r"definition of SSA value '(%[^#']+).*?used here with type '"
                     r"([^\n]*)'\n", re.S)


class Runner:
    """Runs tp-opt on text."""

    def __init__(self, tool):
        self.tool = tool

    def __call__(self, text, *flags):
        return subprocess.run([self.tool, "-", *flags], input=text,
                              capture_output=True, text=True)


def complete(run, text):
    """`text` with definitions of the values it uses and does not define."""
    if re.search(r"@mesh\b", text) and "spmd.mesh @mesh" not in text:
        text = MESH + text
    lines = text.splitlines()
    names = {}
    for line, column in UNDECLARED.findall(run(text).stderr):
        name = re.match(r"%[\w$.-]+", lines[int(line) - 1][int(column) - 1:])
        names[name.group()] = "none"

    def with_values():
        return text + "".join(f'\n{name} = "value.given"() : () -> {type}'
                              for name, type in names.items())
    # Each run corrects one type, or the values fit and some other error is left.
    for _ in names:
        wrong = USED_AS.search(run(with_values(), "--allow-unregistered-dialect").stderr)
        if not wrong:
            break
        names[wrong.group(1)] = wrong.group(2)
    return with_values()


def check(run, text):
    """What is wrong with an example; None if nothing is."""
    if re.match(r"#|tensor<", text):
        # Attributes and types, one a line.
        text = "\n".join(f"module attributes {{example.a = {line}}} {{}}"
                         for line in text.splitlines())
    result = run(complete(run, text), "--allow-unregistered-dialect",
                 "--verify-roundtrip")
    return result.stderr if result.returncode else None


def check_output(wanted, got):
    """Whether the pieces of `wanted` between `...` are in `got`, in order. How
    lines are broken does not count."""
    squeeze = lambda text: " ".join(text.split())
    got, place = squeeze(got), 0
    for piece in filter(None, map(squeeze, wanted.split("..."))):
        found = got.find(piece, place)
        if found < 0:
            return f"the output does not have, where it should:\n{piece}\nin\n{got}"
        place = found + len(piece)
    return None


def check_page(run, page):
    """Runs all blocks of a page; returns how many, and what is wrong."""
    count, errors, last = 0, [], None
    for block in BLOCK.finditer(page):
        order, text = block["order"] or "", block["text"]
        line = page.count("\n", 0, block.start("text")) + 1
        error = None
        if order == "gives":
            error = check_output(text, last) if last else "gives, but nothing ran"
        elif order.startswith("run:"):
            flags = order[len("run:"):].split()
            fails = flags[-1:] == ["fails"]
            result = run(text, *flags[:len(flags) - fails])
            last = result.stdout + result.stderr
            if bool(result.returncode) != fails:
                error = f"exit status {result.returncode}\n{result.stderr}"
        elif block["kind"] == "mlir":
            error = check(run, text)
        else:
            continue
        count += 1
        if error:
            errors.append((line, error))
    for inline in INLINE.finditer(page):
        for text in re.findall(r"`([^`]+)`", inline[1]):
            count += 1
            error = check(run, " ".join(text.split()))
            if error:
                errors.append((page.count("\n", 0, inline.start()) + 1, error))
    return count, errors


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool")
    parser.add_argument("page")
    parser.add_argument("--ops", action="store_true")
    arguments = parser.parse_args()
    with open(arguments.page, encoding="utf-8") as file:
        page = file.read()
    count, errors = check_page(Runner(arguments.tool), page)
    failed = [f"{arguments.page}:{line}: {error}" for line, error in errors]
    if arguments.ops:
        for section in re.split(r"(?=^### )", page, flags=re.M):
            op = re.match(r"### `([\w.]+)`", section)
            if op and f"{op[1]}" not in "".join(
                    b["text"] for b in BLOCK.finditer(section)
                    if b["kind"] == "mlir"):
                failed.append(f"{arguments.page}: {op[1]} has no example")
    if not count:
        failed.append(f"{arguments.page}: no examples found")
    print("\n".join(failed) if failed else f"{count} examples run")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the commands that a page of documentation shows, in the folder FOLDER.

    commands.py PAGE.md FOLDER [SECTION]

SECTION, the words of a heading `## ..`, is the part of the page to run. A comment
before a block says what it is:

    <!-- file: mlp.py -->     put this into that file
    <!-- sh -->               run this
    <!-- sh: mlp.mlir -->     run this, with the last function shown in that file
    <!-- prints -->           what the block before prints; `...` skips some of it
"""

import os
import pathlib
import re
import subprocess
import sys

import examples

BLOCK = re.compile(r"(?:<!-- (?P<order>(?:sh|file)(?:: (?P<file>\S+))?|prints) -->\n+)?"
                   r"^```(?P<kind>\w+)\n(?P<text>.*?)^```", re.M | re.S)
# What a reader has, and no more. Open MPI leaks, which a build with sanitizers would take
# for an error of ours.
ENVIRONMENT = os.environ | {"ASAN_OPTIONS": "detect_leaks=0", "HOME": str(pathlib.Path.home())}


def main():
    page, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    count, ir, printed = 0, "", ""
    words = page.read_text(encoding="utf-8")
    if len(sys.argv) > 3:
        sections = [section for section in re.split(r"^## ", words, flags=re.M)
                    if section.startswith(sys.argv[3] + "\n")]
        if not sections:
            sys.exit(f"{page}: there is no section '{sys.argv[3]}'")
        words = sections[0]
    for block in BLOCK.finditer(words):
        order, text = block["order"] or "", block["text"]
        if order == "prints":
            if error := examples.check_output(text, printed):
                sys.exit(f"{page}: {error}")
        elif order.startswith("file"):
            (folder / block["file"]).write_text(text, encoding="utf-8")
            example = page.parent.parent / "examples" / page.stem / block["file"]
            if example.exists() and not example.read_text(encoding="utf-8").endswith(text):
                sys.exit(f"{page}: {block['file']} is not what {example} is")
        elif order.startswith("sh"):
            if block["file"]:
                (folder / block["file"]).write_text(ir, encoding="utf-8")
            result = subprocess.run(["bash", "-e", "-c", text], cwd=folder,
                                    env=ENVIRONMENT, stdout=subprocess.PIPE,
                                    text=True)
            printed = result.stdout
            if result.returncode != 0:
                sys.exit(f"{page}: exit code {result.returncode} of\n{text}")
            count += 1
        elif block["kind"] == "mlir" and "func.func" in text:
            ir = text
    if not count:
        sys.exit(f"{page}: there are no commands")
    print(f"{count} blocks of commands")


if __name__ == "__main__":
    main()

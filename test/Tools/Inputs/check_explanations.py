# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asks tp-opt for every code of the two lists, and looks at the page of the docs."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[3]


def main():
    page = (ROOT / "docs/reference/Errors.md").read_text()
    lists = [ROOT / "include/tpopt/Support/ErrorCodes.def", ROOT / "runtime/Core/Errors.def"]
    codes = [int(number) for file in lists
             for number in re.findall(r"^TP\w*_ERROR\((\d+),", file.read_text(), re.MULTILINE)]
    assert len(codes) > 150
    wrong = []
    for code in codes:
        name = f"TP{code:04d}"
        text = subprocess.run(["tp-opt", f"--explain-error={name}"], capture_output=True, text=True,
                              check=False).stdout
        if not re.match(rf"{name} \w+\n\n  .+\n\nfor example\n\n  .+\n\nwhat to do\n\n  .+\n", text,
                        re.DOTALL) or max(map(len, text.splitlines())) > 100:
            wrong.append(name)
        if f"## {name} " not in page:
            wrong.append(f"{name} in docs/reference/Errors.md")
    print(*wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

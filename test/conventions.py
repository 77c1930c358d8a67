#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks what every file of the repository owes.

* Source files begin with the licence header (`--fix` writes it).
* No file mentions a path of somebody's machine.
* Files of code have less than 900 lines: one subject per file.
* At most 31 headers are installed: what is in include/ is promised to others.
* No pass declares statistics: a release build of LLVM counts nothing, and a
  build with assertions lays them out in another way than its libraries.
* Every error of the compiler has a code: what emits one streams prefix() first,
  or is emitOpError(op, code). A lambda that begins an error hands it to what
  streams the code; an llvm::Error, and a check's result that is an error, bring
  their own.
* A namespace has one type of a name, whatever files define it, private headers
  and sources among them: two would be one type to the linker. What a source
  defines for itself stands in a namespace without a name.
* A table in a comment is one: each of its lines is a row, with as many cells as
  the first, which a formatter may have broken. The words of a comment with stars
  stand in one column.
* Error codes are unique, and every code that our code can emit is provoked by
  a test: its number stands in an expected message, or its enumerator in a unit
  test. Repository/untested-codes.txt lists those still owed; it only shrinks.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OWED = "test/Repository/untested-codes.txt"
SOURCES = (".cpp", ".h", ".c", ".td", ".def", ".py")
HEADER = """\
{0} Part of the tp-opt project, under the Apache License v2.0 with LLVM
{0} Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
MACHINE_PATH = re.compile(r"(?<![\w.}/-])/(home|root|work|Users)/")
CODE = re.compile(r"^TP\w*_ERROR\((\d+),\s*(\w+),", re.MULTILINE)


EMITS = re.compile(r"\bemit(?:Op)?Error\((?!(?:mlir::)?Operation \*)")
HANDED_ON = re.compile(r"\[[^\[\]]*\]\s*(?:\([^()]*\)\s*)?\{\s*return [\w>.-]*$")
CODED = re.compile(r"\bprefix\(|\bemitOpError\([^;]*?, ErrorCode::|toString\(|toMessage\(|result\.message")
BY_TEXT = re.compile(r"\b(?:contains|starts_with|find|==)\s*\(?\s*(?:\"\[TP|getText\(|prefix\()")


def tracked():
    listed = subprocess.run(["git", "ls-files", "-zco", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            yield name


def read(name):
    """The text of a file; None if it is not text."""
    try:
        return (ROOT / name).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def check_debug_output(texts, errors):
    """The four core stages say what they do under --debug-only."""
    for stage in ("Propagate", "Partition", "Collectives", "Localize"):
        if not any("LDBG()" in text for name, text in texts.items()
                   if name.startswith(f"passes/{stage}/")):
            errors.append(f"passes/{stage}: nothing is said under --debug-only")


MOST_INSTALLED = 31


def check_installed(texts, errors):
    """Few headers are public: each is one that cannot be changed freely."""
    count = sum(name.startswith("include/") and name.endswith(".h") for name in texts)
    if count > MOST_INSTALLED:
        errors.append(f"include/: installs {count} headers; {MOST_INSTALLED} is the most, the "
                      "others stand beside their sources")


def check_readmes(texts, errors):
    """Every folder of the product says in a few lines what it is for."""
    folders = {"runtime", "tools", "test"}
    for name in texts:
        parts = name.split("/")
        if parts[0] in ("lib", "passes", "dialects") and len(parts) > 2:
            folders.add("/".join(parts[:2]))
    for folder in sorted(folders):
        text = texts.get(f"{folder}/README.md")
        if text is None:
            errors.append(f"{folder}/README.md: is missing")
        elif len(text.splitlines()) > 12:
            errors.append(f"{folder}/README.md: has more than ten lines of text")


def check_coded(name, text, errors):
    """Errors without a code: of each statement that emits one, and of the next,
    which may stream into what the first one named."""
    for emit in EMITS.finditer(text):
        line = text[text.rfind("\n", 0, emit.start()) + 1:emit.start()]
        end = text.find(";", text.find(";", emit.start()) + 1)
        first = text[emit.start():text.find(";", emit.start())]
        named = "InFlightDiagnostic" in line and CODED.search(text, emit.start(), end)
        if not ("//" in line or CODED.search(first) or named or
                HANDED_ON.search(text[:emit.start()])):
            number = text.count("\n", 0, emit.start()) + 1
            errors.append(f"{name}:{number}: an error without a code")


COMMENT = re.compile(r"\s*//+[/!]? ?(.*)")
STARRED = re.compile(r" \*( *)[^\s/]")


def check_comments(name, lines, errors):
    """Tables and paragraphs that a formatter has broken."""
    cells = indents = None  # Of the table, and of the paragraph, read now.
    for number, line in enumerate(lines, 1):
        comment = COMMENT.match(line)
        row = comment[1].rstrip() if comment else ""
        if row.startswith("|"):
            count = len(re.sub(r"`[^`]*`", "", row).split("|"))
            cells = cells or count
        if cells and row and (not row.startswith("|") or not row.endswith("|") or count != cells):
            errors.append(f"{name}:{number}: not a row of the table above")
        cells = cells if row else None
        starred = STARRED.match(line)
        if starred and indents is not None and len(starred[1]) < indents:
            errors.append(f"{name}:{number}: left of its paragraph")
        indents = min(len(starred[1]), 2) if starred else None


def check_error_codes(texts, errors):
    codes = [(int(number), enumerator, name) for name, text in texts.items()
             if name.endswith(".def") for number, enumerator in CODE.findall(text)]
    if not codes:
        errors.append("no table of error codes found")
    product, tests = (
        "\n".join(text for name, text in texts.items()
                  if name.startswith("test/") == inside and name != OWED and
                  (inside or name.endswith((".cpp", ".h", ".td"))))
        for inside in (False, True))
    owed = set(re.findall(r"^TP\d{4}$", texts.get(OWED, ""), re.MULTILINE))
    seen = {}
    for number, enumerator, table in codes:
        code = f"TP{number:04d}"
        if number in seen:
            errors.append(f"{table}: {code} is also in {seen[number]}")
        seen[number] = table
        used = re.compile(rf"::{enumerator}\b")
        emitted = used.search(product)
        tested = code in tests or used.search(tests)
        if not emitted:
            print(f"note: {table}: nothing emits {code} ({enumerator})")
        if emitted and not tested and code not in owed:
            errors.append(f"{table}: no test provokes {code} ({enumerator})")
        if tested and code in owed:
            print(f"note: {OWED}: {code} has a test now, take it off the list")


NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'|'
                     r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.DOTALL | re.MULTILINE)
SCOPE = re.compile(r"[;{}]")
NAMESPACE = re.compile(r"\bnamespace\s*([\w:]*)\s*$")
TYPE = re.compile(r"(?:^|\s)(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+(?:\[\[\w+\]\]\s*)?"
                  r"(\w+)\s*(?:final\s*)?(?::[^:].*)?$", re.DOTALL)


def types_of(text):
    """The types that a file defines in named namespaces, with their lines."""
    # Comments and the like become blanks, and lines keep their numbers.
    text = NO_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    scopes, start = [], 0  # Of every open brace its namespace; None for others.
    for mark in SCOPE.finditer(text):
        head, start = text[start:mark.start()], mark.end()
        if mark[0] == "}" and scopes:
            scopes.pop()
        if mark[0] != "{":
            continue
        space, kind = NAMESPACE.search(head), TYPE.search(head)
        if kind and all(scopes):
            yield "::".join(scopes + [kind[1]]), text.count("\n", 0, mark.start()) + 1
        scopes.append((space[1] or None) if space else None)


def check_types(texts, errors):
    seen = {}
    for name, text in texts.items():
        if name.startswith("test/") or not name.endswith((".h", ".cpp", ".def")):
            continue
        for kind, line in types_of(text):
            if kind in seen:
                errors.append(f"{name}:{line}: {kind} is also in {seen[kind]}")
            seen[kind] = f"{name}:{line}"
    if not seen:
        errors.append("no type found")


def add_header(name, text):
    mark = "#" if name.endswith(".py") or text.startswith("#!") else "//"
    first, shebang = "", text.startswith("#!")
    if shebang:
        first, _, text = text.partition("\n")
        first += "\n"
    elif text:
        text = "\n" + text
    (ROOT / name).write_text(first + HEADER.format(mark) + text)


def main():
    errors = []
    texts = {name: text for name in tracked() if (text := read(name)) is not None}
    for name, text in texts.items():
        lines = text.splitlines()
        head = "\n".join(lines[:4])
        if name.endswith(SOURCES) or lines[:1] == ["#!/bin/bash"]:
            if ("Part of the tp-opt project" not in head or
                    "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
                    not in head):
                if "--fix" in sys.argv[1:]:
                    add_header(name, text)
                else:
                    errors.append(f"{name}: no licence header in the first lines")
            if len(lines) >= 900:
                errors.append(f"{name}: {len(lines)} lines, split it")
        if name.startswith(("dialects/", "passes/", "lib/")) and name.endswith((".cpp", ".h")):
            check_coded(name, text, errors)
        if name.startswith(("dialects/", "passes/", "lib/", "tools/")):
            for found in BY_TEXT.finditer(text):
                number = text.count("\n", 0, found.start()) + 1
                errors.append(f"{name}:{number}: decides by a message's text; "
                              "ask getErrorCode()")
        if name.endswith((".h", ".cpp", ".c", ".def")):
            check_comments(name, lines, errors)
        for number, line in enumerate(lines, 1):
            if MACHINE_PATH.search(line):
                errors.append(f"{name}:{number}: a path of one machine")
            if name.endswith(".td") and "Statistic<" in line:
                errors.append(f"{name}:{number}: a statistic, which counts nothing")
    check_installed(texts, errors)
    check_readmes(texts, errors)
    check_debug_output(texts, errors)
    check_error_codes(texts, errors)
    check_types(texts, errors)
    print("\n".join(errors) if errors else f"{len(texts)} files, nothing owed")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())

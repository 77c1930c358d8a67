# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

"""Writes a StableHLO program of small functions that move rows along a cut dimension, or
compares what their plans send with what devices lack.

    moves.py write ROWS DEVICES > program.mlir
    moves.py all ROWS DEVICES > program.mlir        one that calls all of them
    moves.py check ROWS DEVICES report.json

Every function is written by ops that also say of which rows of the last value that was
computed a row is made. What a device lacks of those is counted by distance on the ring of
devices, from the first row that some device lacks to the last: that is what a plan may
send, once for all terms of a sum and all taps of a window. The count is by brute force, and
knows nothing of the compiler's own."""

import json
import sys

COLUMNS = 8
BYTES_PER_ROW = 4 * COLUMNS
IDENTITIES = {"add": "0.0", "multiply": "1.0", "maximum": "0xFF800000", "minimum": "0x7F800000"}
CUT = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}'


def block_size(length, devices):
    return -(-length // devices)


def count_rows(terms, length, devices, mirrored):
    """How many rows go over all distances, if each sends one run of rows for all terms."""
    take, have = block_size(len(terms[0]), devices), block_size(length, devices)
    lacked, apart = {}, {}
    for row, source in (entry for term in terms for entry in enumerate(term)):
        if source is None:
            continue
        place, sender = row // take, source // have
        if sender == place and not mirrored:
            continue
        distance = (devices - 1 - sender if mirrored else sender) - place
        lacked.setdefault(distance % devices, []).append(source % have)
        # On two devices, the one before and the one after are the same.
        apart.setdefault(distance, []).append(source % have)
    return min(sum(max(run) - min(run) + 1 for run in runs.values())
               for runs in (lacked, apart))


def surround(rows, low, high, interior):
    """Padding before, after and between rows; fewer rows where it is negative."""
    spread = [r for row in rows for r in [row] + [None] * interior]
    spread = [None] * max(low, 0) + spread[:len(spread) - interior] + [None] * max(high, 0)
    return spread[max(-low, 0):len(spread) - max(-high, 0)]


class Rows:
    """A tensor of rows, and of what they are made: for each term the row that it takes, or
    None for padding."""

    def __init__(self, program, name, terms):
        self.program, self.name, self.terms = program, name, terms

    @property
    def length(self):
        return len(self.terms[0])

    @property
    def type(self):
        return f"tensor<{self.length}x{COLUMNS}xf32>"

    def make(self, text, move):
        """`move` is what becomes of the rows of a term."""
        name = self.program.next()
        made = Rows(self.program, name, [move(term) for term in self.terms])
        self.program.lines.append(f"{name} = {text} -> {made.type}")
        return made

    def take(self, start, limit, stride=1):
        return self.make(
            f"stablehlo.slice {self.name} [{start}:{limit}:{stride}, 0:{COLUMNS}] : ({self.type})",
            lambda rows: rows[start:limit:stride])

    def pad(self, low=0, high=0, interior=0):
        zero = self.program.zero()
        return self.make(
            f"stablehlo.pad {self.name}, {zero}, low = [{low}, 0], high = [{high}, 0], "
            f"interior = [{interior}, 0] : ({self.type}, tensor<f32>)",
            lambda rows: surround(rows, low, high, interior))

    def flip(self):
        return self.make(f"stablehlo.reverse {self.name}, dims = [0] : ({self.type})",
                         lambda rows: rows[::-1])

    def then(self, *others):
        """Pieces of one term each, one behind the other."""
        parts = (self,) + others
        names = ", ".join(p.name for p in parts)
        types = ", ".join(p.type for p in parts)
        return self.make(f"stablehlo.concatenate {names}, dim = 0 : ({types})",
                         lambda rows: sum((p.terms[0] for p in parts), []))

    def roll(self, by):
        n = self.length
        by %= n
        return self.take(n - by, n).then(self.take(0, n - by))

    def __add__(self, other):
        name = self.program.next()
        self.program.lines.append(
            f"{name} = stablehlo.add {self.name}, {other.name} : {self.type}")
        return Rows(self.program, name, self.terms + other.terms)

    def tanh(self):
        """A value of its own: others are made of its rows."""
        name = self.program.next()
        self.program.lines.append(f"{name} = stablehlo.tanh {self.name} : {self.type}")
        return Rows(self.program, name, [self.program.begin(self.terms)])

    def slide(self, rows, size, stride, dilation, low, high):
        """The rows of each tap of a window over one term."""
        padded = surround(rows, low, high, 0)
        reach = (size - 1) * dilation + 1
        firsts = range(0, len(padded) - reach + 1, stride)
        return [[padded[i + tap * dilation] for i in firsts] for tap in range(size)]

    def pool(self, kind, size, stride=1, dilation=1, low=0, high=0):
        return self.reduce(kind, size, stride, dilation, low, high,
                           self.slide(self.terms[0], size, stride, dilation, low, high))

    def cumulate(self, kind, reverse=False):
        """Of each row and all before it, or all after it."""
        n = self.length
        rows = self.program.begin(self.terms)
        # The total of every other block.
        self.program.limit += self.program.devices - 1
        return self.reduce(kind, n, 1, 1, 0 if reverse else n - 1, n - 1 if reverse else 0, [rows])

    def reduce(self, kind, size, stride, dilation, low, high, terms):
        init = self.program.constant(IDENTITIES[kind])
        pooled = Rows(self.program, self.program.next(), terms)
        self.program.lines.append(f"{pooled.name} = " +
            f'"stablehlo.reduce_window"({self.name}, {init}) <{{padding = dense<[[{low}, {high}], '
            f"[0, 0]]> : tensor<2x2xi64>, base_dilations = array<i64: 1, 1>, "
            f"window_dilations = array<i64: {dilation}, 1>, window_dimensions = array<i64: {size}, 1>, "
            f"window_strides = array<i64: {stride}, 1>}}> ({{\n"
            "    ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
            f"      %c = stablehlo.{kind} %a, %b : tensor<f32>\n"
            "      stablehlo.return %c : tensor<f32>\n"
            f"    }}) : ({self.type}, tensor<f32>) -> {pooled.type}")
        return pooled

    def convolve(self, size, stride=1, dilation=1, base=1, low=0, high=0, groups=COLUMNS):
        """Of each column by itself, or of groups of them."""
        y = self.program.next()
        rows = self.terms[0]
        rows = [r for row in rows for r in [row] + [None] * (base - 1)]
        made = Rows(self.program, self.program.next(),
                    self.slide(rows, size, stride, dilation, low, high - base + 1))
        image = f"tensor<1x{self.length}x{COLUMNS}xf32>"
        wide = f"tensor<1x{made.length}x{COLUMNS}xf32>"
        kernel = f"tensor<{size}x{COLUMNS // groups}x{COLUMNS}xf32>"
        k, x = self.program.next(), self.program.next()
        self.program.lines += [
            f"{k} = stablehlo.constant dense<0.5> : {kernel}",
            f"{x} = stablehlo.reshape {self.name} : ({self.type}) -> {image}",
            f"{y} = stablehlo.convolution({x}, {k}) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], "
            f"window = {{stride = [{stride}], pad = [[{low}, {high}]], lhs_dilate = [{base}], "
            f"rhs_dilate = [{dilation}], reverse = [false]}} {{batch_group_count = 1 : i64, "
            f"feature_group_count = {groups} : i64}} : ({image}, {kernel}) -> {wide}",
            f"{made.name} = stablehlo.reshape {y} : ({wide}) -> {made.type}"]
        return made

    def frame(self):
        """Padded and sliced along columns, too, and of the row before."""
        n = self.length
        zero = self.program.zero()
        wide = f"tensor<{n + 2}x{COLUMNS + 3}xf32>"
        a, b = self.program.next(), self.program.next()
        rows = self.program.begin([surround(self.terms[0], 1, 1, 0)])
        self.program.lines += [
            f"{a} = stablehlo.pad {self.name}, {zero}, low = [1, 2], high = [1, 1], "
            f"interior = [0, 0] : ({self.type}, tensor<f32>) -> {wide}",
            f"{b} = stablehlo.tanh {a} : {wide}"]
        made = Rows(self.program, self.program.next(), [rows[:n]])
        self.program.lines.append(
            f"{made.name} = stablehlo.slice {b} [0:{n}, 2:{COLUMNS + 2}] : ({wide}) -> {made.type}")
        return made

    def pool_gradient(self, size, stride, low=0, high=0):
        """What is pooled, where it came from."""
        pooled = self.pool("maximum", size, stride, low=low, high=high)
        count = len(self.program.begin(pooled.terms))
        windows = [[w for w in range(count) if 0 <= row + low - w * stride < size]
                   for row in range(self.length)]
        terms = [[row[k] if k < len(row) else None for row in windows]
                 for k in range(max(map(len, windows)))]
        # Of each window what is selected, and its place.
        self.program.finish(terms)
        zero = self.program.zero()
        made = Rows(self.program, self.program.next(), terms)
        self.program.lines.append(
            f'{made.name} = "stablehlo.select_and_scatter"({self.name}, {pooled.name}, {zero}) '
            f"<{{padding = dense<[[{low}, {high}], [0, 0]]> : tensor<2x2xi64>, "
            f"window_dimensions = array<i64: {size}, 1>, "
            f"window_strides = array<i64: {stride}, 1>}}> ({{\n"
            "    ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
            "      %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
            "      stablehlo.return %c : tensor<i1>\n    }, {\n"
            "    ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
            "      %c = stablehlo.add %a, %b : tensor<f32>\n"
            "      stablehlo.return %c : tensor<f32>\n"
            f"    }}) : ({self.type}, {pooled.type}, tensor<f32>) -> {made.type}")
        return made

    def interleave(self, other):
        """One row of each in turn."""
        n = self.length
        column, pair = f"tensor<{n}x1x{COLUMNS}xf32>", f"tensor<{n}x2x{COLUMNS}xf32>"
        a, b, c = (self.program.next() for _ in range(3))
        self.program.lines += [
            f"{a} = stablehlo.reshape {self.name} : ({self.type}) -> {column}",
            f"{b} = stablehlo.reshape {other.name} : ({other.type}) -> {column}",
            f"{c} = stablehlo.concatenate {a}, {b}, dim = 1 : ({column}, {column}) -> {pair}"]
        made = Rows(self.program, self.program.next(),
                    [[r for row in self.terms[0] for r in (row, None)],
                     [r for row in other.terms[0] for r in (None, row)]])
        self.program.lines.append(
            f"{made.name} = stablehlo.reshape {c} : ({pair}) -> {made.type}")
        return made


class Program:
    """One function, and how many rows its plan may send."""

    def __init__(self, name, body, rows, devices):
        self.name, self.devices, self.count, self.lines = name, devices, 0, []
        self.limit, self.length, self.rows = 0, rows, rows
        self.result = body(Rows(self, "%x", [list(range(rows))]), rows)
        self.finish(self.result.terms)

    def next(self):
        self.count += 1
        return f"%{self.count}"

    def constant(self, text):
        name = self.next()
        self.lines.append(f"{name} = stablehlo.constant dense<{text}> : tensor<f32>")
        return name

    def zero(self):
        return self.constant("0.0")

    def begin(self, terms):
        """The rows of a value that is made of `terms`."""
        self.finish(terms)
        self.length = len(terms[0])
        return list(range(self.length))

    def finish(self, terms):
        self.limit += min(count_rows(terms, self.length, self.devices, mirrored)
                          for mirrored in (False, True))

    def text(self, visibility="public"):
        cut = CUT if visibility == "public" else ""
        body = "\n".join(f"    {line}" for line in self.lines)
        return (f"  func.func {visibility} @{self.name}(%x: tensor<{self.rows}x{COLUMNS}xf32> {cut}) "
                f"-> ({self.result.type} {cut}) {{\n{body}\n"
                f"    return {self.result.name} : {self.result.type}\n  }}\n")


FUNCTIONS = {
    "roll_back": lambda x, n: x.roll(-1),
    "roll_on": lambda x, n: x.roll(1),
    "roll_three": lambda x, n: x.roll(3),
    "roll_far": lambda x, n: x.roll(n // 2 + 1),
    "roll_tanh_roll": lambda x, n: x.roll(-1).tanh().roll(1),
    "laplacian": lambda x, n: x.roll(1) + x.roll(-1) + x,
    "shift_on": lambda x, n: x.pad(1).take(0, n),
    "shift_back": lambda x, n: x.pad(0, 1).take(1, n + 1),
    "shift_by_pads": lambda x, n: x.pad(2, -2),
    "stencil_of_three": lambda x, n: x + x.pad(1).take(0, n) + x.pad(0, 1).take(1, n + 1),
    "stencil_of_five": lambda x, n: x.pad(2, -2) + x.pad(1, -1) + x + x.pad(-1, 1) + x.pad(-2, 2),
    "causal_by_pads": lambda x, n: x.pad(3).take(0, n) + x.pad(2).take(0, n) +
                                   x.pad(1).take(0, n) + x,
    "first_dropped": lambda x, n: x.take(1, n),
    "last_dropped": lambda x, n: x.take(0, n - 1),
    "both_padded": lambda x, n: x.pad(1, 1),
    "both_cut": lambda x, n: x.pad(-1, -1),
    "edges_repeated": lambda x, n: x.take(0, 1).then(x, x.take(n - 1, n)),
    "flip": lambda x, n: x.flip(),
    "flip_tanh_flip": lambda x, n: x.flip().tanh().flip(),
    "flip_twice": lambda x, n: x.flip().flip(),
    "flip_rolled": lambda x, n: x.flip().roll(1),
    "flip_shifted": lambda x, n: x.flip().pad(1).take(0, n),
    "flip_and_stride": lambda x, n: x.flip().take(0, n, 2),
    "evens": lambda x, n: x.take(0, n, 2),
    "odds": lambda x, n: x.take(1, n, 2),
    "evens_and_odds": lambda x, n: x.take(0, n - 1, 2) + x.take(1, n, 2),
    "every_third": lambda x, n: x.take(0, n, 3),
    "every_third_of_the_shifted": lambda x, n: x.pad(1, 0).take(0, n, 3),
    "stride_of_a_roll": lambda x, n: x.roll(1).take(0, n, 2),
    "pairs_swapped": lambda x, n: x.take(1, n, 2).interleave(x.take(0, n - 1, 2)),
    "average_of_three": lambda x, n: x.pool("add", 3, low=1, high=1),
    "causal_sum_of_four": lambda x, n: x.pool("add", 4, low=3),
    "dilated_sum": lambda x, n: x.pool("add", 3, dilation=2, low=2, high=2),
    "pool_of_two": lambda x, n: x.pool("maximum", 2, stride=2),
    "pool_of_seven": lambda x, n: x.pool("maximum", 7, low=3, high=3),
    "pool_of_three_by_two": lambda x, n: x.pool("maximum", 3, stride=2, low=1, high=1),
    "convolution": lambda x, n: x.convolve(3, low=1, high=1),
    "causal_convolution": lambda x, n: x.convolve(4, low=3),
    "convolution_of_seven": lambda x, n: x.convolve(7, low=3, high=3),
    "causal_convolution_of_nine": lambda x, n: x.convolve(9, low=8),
    "full_convolution": lambda x, n: x.convolve(3, low=1, high=1, groups=1),
    "grouped_convolution": lambda x, n: x.convolve(3, low=1, high=1, groups=2),
    "strided_convolution": lambda x, n: x.convolve(3, stride=2, low=1, high=1),
    "patches": lambda x, n: x.convolve(2, stride=2, groups=1),
    "dilated_convolution": lambda x, n: x.convolve(3, dilation=2, low=2, high=2),
    "transposed_convolution": lambda x, n: x.convolve(3, base=2, low=1, high=2),
    "spread": lambda x, n: x.pad(0, 1, 1),
    "spread_from_one": lambda x, n: x.pad(1, 2, 3),
    "spread_over_a_border": lambda x, n: x.pad(3, -2, 1),
    "spread_unevenly": lambda x, n: x.pad(0, 0, 2),
    "spread_and_cut": lambda x, n: x.pad(-2, 1, 2),
    "spread_behind_a_pad": lambda x, n: x.pad(5, -4, 2),
    "every_third_there_and_back":
        lambda x, n: x.take(0, n, 3).tanh().pad(0, (n - 1) % 3, 2),
    "frame": lambda x, n: x.frame(),
    "pool_gradient_of_two": lambda x, n: x.pool_gradient(2, 2),
    "pool_gradient_of_three": lambda x, n: x.pool_gradient(3, 1, low=1, high=1),
    "pool_gradient_of_three_by_two": lambda x, n: x.pool_gradient(3, 2, low=1, high=1),
    "cumsum": lambda x, n: x.cumulate("add"),
    "cumsum_back": lambda x, n: x.cumulate("add", reverse=True),
    "cumprod": lambda x, n: x.cumulate("multiply"),
    "cumprod_back": lambda x, n: x.cumulate("multiply", reverse=True),
    "cummax": lambda x, n: x.cumulate("maximum"),
    "cummin_back": lambda x, n: x.cumulate("minimum", reverse=True),
    "cumsum_of_a_shift": lambda x, n: x.pad(1, -1).cumulate("add"),
    "cumsum_back_of_a_flip": lambda x, n: x.flip().cumulate("add", reverse=True),
    "two_convolutions": lambda x, n: x.convolve(3, low=1, high=1).tanh().convolve(3, low=1, high=1),
}


def call_all(programs):
    argument = f"tensor<{programs[0].rows}x{COLUMNS}xf32>"
    types = [p.result.type for p in programs]
    calls = "".join(f"    %{i} = call @{p.name}(%x) : ({argument}) -> {p.result.type}\n"
                    for i, p in enumerate(programs))
    return (f"  func.func public @main(%x: {argument} {CUT}) -> (" +
            ", ".join(f"{type} {CUT}" for type in types) + f") {{\n{calls}    return " +
            ", ".join(f"%{i}" for i in range(len(types))) + " : " + ", ".join(types) + "\n  }\n")


# Uneven blocks of rows, and of pairs of them, are other rows.
EVEN = {"transposed_convolution", "spread", "spread_from_one", "spread_over_a_border",
        "pairs_swapped", "pool_gradient_of_two", "pool_gradient_of_three_by_two"}


def main():
    command, rows, devices = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    programs = [Program(name, body, rows, devices) for name, body in FUNCTIONS.items()
                if rows % devices == 0 or name not in EVEN]
    if command != "check":
        print(f'module {{\n  sdy.mesh @mesh = <["x"={devices}]>')
        for program in programs:
            print(program.text("public" if command == "write" else "private"), end="")
        if command == "all":
            print(call_all(programs), end="")
        print("}")
        return 0
    with open(sys.argv[4]) as file:
        report = json.load(file)
    sent = {f["name"]: sum(c["wire_bytes"] * c["times"] for c in f["collectives"])
            for f in report["functions"]}
    failures = 0
    for program in programs:
        limit = program.limit * BYTES_PER_ROW
        if sent[program.name] > limit:
            failures += 1
            print(f"{program.name}: sends {sent[program.name]} B, devices lack {limit} B")
    print(f"{rows} rows on {devices}: {len(programs) - failures} of {len(programs)} functions "
          "send what devices lack")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())

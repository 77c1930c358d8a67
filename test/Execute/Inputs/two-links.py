# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the loss of a chain of MLPs, cut along "model", with rows along "data"."""

LAYERS, ROWS, WIDTH, HIDDEN = 4, 1024, 32, 64


def argument(name, rows, columns, dims):
    return (f'%{name.replace(".", "_")}: tensor<{rows}x{columns}xf32> {{tp.name = "{name}", '
            f'spmd.sharding = #spmd.sharding<@mesh, [{dims}]>}}')


def main():
    arguments = [argument("x", ROWS, WIDTH, '{"data"}, {}')]
    body, value = [], "%x"
    wide, narrow = f"tensor<{ROWS}x{HIDDEN}xf32>", f"tensor<{ROWS}x{WIDTH}xf32>"
    up, down = f"tensor<{WIDTH}x{HIDDEN}xf32>", f"tensor<{HIDDEN}x{WIDTH}xf32>"
    for i in range(LAYERS):
        arguments += [argument(f"up.{i}", WIDTH, HIDDEN, '{}, {"model"}'),
                      argument(f"down.{i}", HIDDEN, WIDTH, '{"model"}, {}')]
        body += [f'%a{i} = tp.einsum "bi,io->bo" {value}, %up_{i} : ({narrow}, {up}) -> {wide}',
                 # Without this, the weights would be gathered, as products this small cost
                 # nothing.
                 f'%c{i} = spmd.constraint %a{i} <@mesh, [{{"data"}}, {{"model"}}]> : {wide}',
                 f"%r{i} = tp.relu %c{i} : {wide}",
                 f'%h{i} = tp.einsum "bo,oi->bi" %r{i}, %down_{i} '
                 f": ({wide}, {down}) -> {narrow}"]
        value = f"%h{i}"
    body += [f"%square = tp.mul {value}, {value} : {narrow}",
             f"%loss = tp.reduce sum %square dims = [0, 1] : {narrow} -> tensor<f32>",
             "return %loss : tensor<f32>"]
    print('spmd.mesh @mesh <["data"=2, "model"=2]>')
    print(f'func.func @main({", ".join(arguments)}) -> (tensor<f32> {{tp.name = "loss"}}) {{')
    print("  " + "\n  ".join(body) + "\n}")


main()

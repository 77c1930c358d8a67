// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The text of --help.

#ifndef TPRUN_HELP_H
#define TPRUN_HELP_H

namespace tprun {

inline constexpr char kHelp[] =
    R"(usage: tp-run PROGRAM.tpx|PROGRAM.mlir|PROGRAM.mlirbc [options]

Runs a program that tp-opt compiled. A .mlir or .mlirbc is first compiled by the tp-opt in the
folder of this tool, for one device if it has no mesh, and cached for the next run.

Inputs
  --weights=DIR         load weights from safetensors files
  --input NAME=VALUE    numbers "1,2,3", or a .safetensors file that has a tensor of that name; may
                        be repeated. Inputs without a value get random ones
  --seed=N              seed for random inputs, sampling and the order of training data (1)
  --entry=NAME          the function to run (main, or the first)

What to do
  --info                describe a .tpx: mesh, entries, inputs, outputs, chips, versions, size
  --print               print the outputs
  --output=FILE         write the outputs, whole tensors by their names, to a .safetensors file,
                        which --input reads
  --check               run the whole program on one device, too, and compare; exit code 1 if the
                        results differ
  --verify              for a .tpx: prove its local program against the whole one in it, and run it
                        on data that is likely to show errors
  --bench=K             run K times and print times; --warmup=S runs for S seconds first (0), so
                        that a GPU reaches its full clock rate
  --trace=FILE          write when each step ran, for ui.perfetto.dev
  --generate=IDS|FILE   continue a prompt of token ids with the entries prefill and decode;
                        --max_tokens=N (16), --temperature=T (0, the likeliest token),
                        --end_token=ID,.. or none (those in the configuration beside the weights)
  --train=DATA          run a step made by tp-opt --tp-train on rows of DATA: tokens in a .bin file,
                        or safetensors. --steps=N sets how often (no default), --log=FILE gets a
                        line of JSON for each step, --output gets the parameters

How to run
  --shard="..."         for a .mlir: options of tp-opt --tp-compile, as in "mesh=model=4"
  --nocache             compile a .mlir again, and do not cache the result
  --ranks=N             the number of devices that the mesh must have
  --threads=N           threads of each rank (its share of the cores)
  --backend=cpu         what computes: cpu, cuda, virtual (ranks that share one GPU), interpreter
                        (in tp-opt; slow; runs a .mlir without compiling it)
  --tf32                let a GPU multiply f32 as tf32: faster, with a 10-bit mantissa
  --timeout=S           seconds that a collective may take, and that ranks wait for each other to
                        join and to leave (300)
  --run_timeout=S       seconds that a run may take (no limit)
  --link_us=US          emulate a link between ranks on CPUs: each collective lasts at least US
  --link_gbps=GBPS      microseconds and what a rank sends at GBPS, 1e9 bytes a second (no limits)
  --axis_link=AXIS:US:GBPS,..
                        the same for the collectives along an axis, in place of --link_us and
                        --link_gbps
  --version             the versions of this tool and of the artifacts that it runs

Options can be written with dashes in place of underscores: --link-us.
Ranks are threads; started by mpirun, each process is one rank.
Exit code: 0 fine, 1 the input is wrong, 2 a bug of tp-opt, 3 the environment failed.
)";

} // namespace tprun

#endif // TPRUN_HELP_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The text of --help: the options of this compiler, on one screen. Options of
// its pipelines are in Pipelines.h; test/Tools/help.test finds options that
// only one of the two places has.

#ifndef TPOPT_TOOLS_TPOPT_HELP_H
#define TPOPT_TOOLS_TPOPT_HELP_H

namespace tp {

inline constexpr char kHelp[] =
    R"(usage: tp-opt PROGRAM.mlir [options]

Shards a program over a mesh of devices, proves the result, says what it costs and compiles it.

  tp-opt mlp.mlir --tp-shard="mesh=model=4" --tp-report -o mlp.local.mlir
  tp-opt mlp.mlir --tp-compile="mesh=model=4" --tp-artifact=mlp.tpx && tp-run mlp.tpx --print

Input
  PROGRAM.mlir               tp, or StableHLO with its shardings; text or bytecode; - is stdin
  --tp-import=hf:DIR         a Hugging Face model in place of a file
  --tp-import-options="..."  phase=prefill|decode|generate|train batch=N sequence=N cache=N
                             dtype=f32|bf16|f16|f64 logits=last|all

Shard: --tp-shard="option=value option=value"
  mesh=data=2,model=4        the mesh, in place of the one in the program
  plan=megatron+sp           the words megatron, sp, ddp, fsdp, or a JSON file of name patterns
  zero=1|2|3                 shard optimizer state (1), gradients (2), parameters (3) over data
  machine=h100               predict times: h100, h200, cpu, or a JSON file
  memory=72GiB               limit for each device (all that the machine has)
  stop-after=STAGE           import, propagate, partition, collectives or localize (the last)
  verify=field               prove the result: off, static, or field, by computing both programs
  certificate                leave the proof in the module, for --tp-verify-certificate

Compile: --tp-compile="option=value option=value", which also takes the options of --tp-shard
  target=cpu|cuda            what to compile for (cpu); cuda needs no GPU here
  chips=sm_80,sm_90a         which GPUs;  ptxas=PATH|none  NVIDIA's assembler, or PTX alone
  fp8                        multiply f8E4M3FN without converting it, on GPUs from sm_89 on
  overlap=false              wait for each collective at once;  chunk=false  do not split matmuls
  in_flight=512MiB           memory for running collectives (1/32 of the machine's memory)
  --tp-artifact=FILE.tpx     where to write the program for tp-run (or artifact=FILE.tpx)

Train: --tp-train="option=value option=value", before it is sharded
  loss=RESULT  weight=RESULT  entry=NAME  train=PATTERNS  decay=PATTERNS  no_decay=PATTERNS
  optimizer=adamw(lr=3e-4)   or sgd, adam, lion, adafactor;  schedule=cosine(warmup=9,steps=99)
  clip=NORM  accumulate=N  master=f32  verify=false

Look at the result
  --tp-report[=FILE]         what is sent, computed and held: a table, and FILE.json or .html
  --tp-explain[=VALUE]       why a value is sharded as it is
  --tp-strict                refuse gathers and exchanges that the program does not ask for
  --tp-trace=FILE.json       when each pass ran, for ui.perfetto.dev
  --tp-verify-against=WHOLE.mlir  compare a local program, made by any tool, with the whole program
  --remarks-filter=tp-comm   with --tp-remark-collectives: a remark for each collective

Other
  -o FILE                    where the IR goes (stdout);  --emit-bytecode  as bytecode
  --tp-stop-after=STAGE      the same as stop-after=STAGE within --tp-shard
  --explain-error=TP0202     what an error means, an example, and what to do
  --version                  the versions of this tool and of LLVM
  --help-mlir                all options: each pass alone, --pass-pipeline, MLIR's own

Exit code: 0 fine, 1 the input is wrong, 2 a bug of tp-opt, 3 the environment failed.
)";

} // namespace tp

#endif // TPOPT_TOOLS_TPOPT_HELP_H

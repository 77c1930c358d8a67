// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A report needs planned collectives, and says what is missing.

// RUN: tp-opt %s --tp-report=table=false --split-input-file --verify-diagnostics -o /dev/null

spmd.mesh @mesh <["x"=4]>

func.func @argument(
    // expected-error @below {{[TP0403] a has no sharding: expects the output of tp-plan-collectives; give --tp-shard, too}}
    %a: tensor<4xf32> {tp.name = "a"}) {
  return
}

// -----

spmd.mesh @mesh <["x"=4]>

func.func @value(%a: tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) {
  // expected-error @below {{[TP0403] tp.tanh at line 22 has no sharding}}
  %0 = tp.tanh %a : tensor<4xf32>
  return
}

// -----

spmd.mesh @mesh <["x"=4]>

func.func @reshard(%a: tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) {
  // expected-error @below {{[TP0403] the program still contains a reshard, whose cost is not known before it is planned: run tp-plan-collectives first}}
  %0 = spmd.reshard %a <@mesh, [{}]> : tensor<4xf32>
  return
}

// -----

spmd.mesh @mesh <["x"=4]>

func.func @shift(%a: tensor<1xf32, #spmd.local<@mesh, [{"x"}], global=[4]>>) {
  // expected-error @below {{[TP0202] mesh @mesh has no axis "y"}}
  %0 = spmd.shift %a along @mesh {"y"} by 1 wrap : tensor<1xf32, #spmd.local<@mesh, [{"x"}], global=[4]>>
  return
}

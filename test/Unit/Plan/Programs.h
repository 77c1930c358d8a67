// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Programs to plan, from text.

#ifndef TPOPT_TEST_UNIT_PLAN_PROGRAMS_H
#define TPOPT_TEST_UNIT_PLAN_PROGRAMS_H

#include "dialects/TP/ShardingTable.h"
#include "lib/Cost/OpCost.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

namespace tp {

/// A module of one function and what planning it takes.
class PlannedProgram {
public:
  /// `mesh` as in `"x"=2, "y"=2`.
  PlannedProgram(const std::string &mesh, const std::string &text,
                 std::optional<cost::Machine> machine = std::nullopt) {
    mlir::DialectRegistry registry;
    registry.insert<TPDialect, spmd::SPMDDialect, mlir::func::FuncDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = mlir::parseSourceString<mlir::ModuleOp>(
        "spmd.mesh @mesh <[" + mesh + "]>\n" + text,
        mlir::ParserConfig(&context));
    function = *module->getOps<mlir::func::FuncOp>().begin();
    auto op =
        getMesh(mlir::cast<mlir::FunctionOpInterface>(function.getOperation()));
    table.emplace(&context, withMachineLinks(op->toMesh(), machine));
    cost.emplace(table->getMesh(), machine);
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  std::optional<ShardingTable> table;
  std::optional<cost::CostModel> cost;
};

inline const char *getMlp() {
  return R"(
func.func @mlp(%x: tensor<8x16xf32>, %up: tensor<16x32xf32>,
               %down: tensor<32x16xf32>) -> tensor<8x16xf32> {
  %h = tp.einsum "bi,ij->bj" %x, %up : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %a = tp.relu %h : tensor<8x32xf32>
  %y = tp.einsum "bj,jo->bo" %a, %down : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
})";
}

inline const char *getAttention() {
  return R"(
func.func @attention(%x: tensor<1x8x16xf32>, %wq: tensor<16x4x1x8xf32>,
                     %wk: tensor<16x4x8xf32>, %wv: tensor<16x4x8xf32>,
                     %wo: tensor<4x1x8x16xf32>) -> tensor<1x8x16xf32> {
  %q = tp.einsum "bsd,dkge->bskge" %x, %wq : (tensor<1x8x16xf32>, tensor<16x4x1x8xf32>) -> tensor<1x8x4x1x8xf32>
  %k = tp.einsum "btd,dke->btke" %x, %wk : (tensor<1x8x16xf32>, tensor<16x4x8xf32>) -> tensor<1x8x4x8xf32>
  %v = tp.einsum "btd,dke->btke" %x, %wv : (tensor<1x8x16xf32>, tensor<16x4x8xf32>) -> tensor<1x8x4x8xf32>
  %a = tp.attention %q, %k, %v {scale = 0.125 : f64} : (tensor<1x8x4x1x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>) -> tensor<1x8x4x1x8xf32>
  %y = tp.einsum "bskge,kged->bsd" %a, %wo : (tensor<1x8x4x1x8xf32>, tensor<4x1x8x16xf32>) -> tensor<1x8x16xf32>
  return %y : tensor<1x8x16xf32>
})";
}

} // namespace tp

#endif // TPOPT_TEST_UNIT_PLAN_PROGRAMS_H

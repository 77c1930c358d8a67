// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The dialects and passes, as a plugin for any mlir-opt:
//
//   mlir-opt --load-dialect-plugin=TPOptPlugin.so \
//            --load-pass-plugin=TPOptPlugin.so \
//            --pass-pipeline='builtin.module(tp-shard{mesh=model=4})' in.mlir

#include "tpopt/InitAll.h"

#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Config/llvm-config.h"

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "tp-opt", LLVM_VERSION_STRING,
          [] { tp::registerTPOptPasses(); }};
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "tp-opt", LLVM_VERSION_STRING,
          [](mlir::DialectRegistry *registry) {
            tp::registerTPOptDialects(*registry);
          }};
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Builds the tables of an artifact. Artifact.cpp adds the entries, and
/// the tables that all entries share. ArtifactSteps.cpp adds the steps of the
/// entries.

#ifndef TPOPT_LIB_CODEGEN_ARTIFACTBUILDER_H
#define TPOPT_LIB_CODEGEN_ARTIFACTBUILDER_H

#include "lib/Codegen/Artifact.h"
#include "lib/Codegen/KernelTable.h"
#include "lib/Codegen/Kernels.h"
#include "lib/Codegen/TargetCode.h"
#include "tpopt/Dialect/TP/TP.h"

#include "runtime/Core/Artifact.h"
#include "runtime/Core/ArtifactWriter.h"

#include "llvm/ADT/StringMap.h"

#include <map>

namespace tp::codegen {

class ArtifactBuilder {
public:
  /// If `code` is null, the programs of the artifact have no steps.
  explicit ArtifactBuilder(mlir::ModuleOp module, TargetCode *code = nullptr)
      : module(module), code(code) {}
  mlir::FailureOr<std::string> build();

  tprt::ArtifactWriter writer;

private:
  // Tables that all entries share.
  mlir::LogicalResult addMesh();
  mlir::FailureOr<uint32_t> addInput(step::ProgramOp program,
                                     step::InputAttr input);
  mlir::FailureOr<tprt::DType> getDTypeAt(mlir::Operation *op, mlir::Type type);
  tprt::Range addAxes(llvm::ArrayRef<AxisRef> axes);
  tprt::Range addDims(mlir::RankedTensorType type);
  uint32_t addCommunicator(spmd::AxisListAttr axes);
  uint32_t addCoordinate(spmd::AxisRefAttr axis);
  uint32_t addPlace(spmd::AxisListAttr axes, int64_t plus);
  mlir::FailureOr<uint32_t> addKernel(step::KernelOpInterface op);
  tprt::Range addIntegers(llvm::ArrayRef<int64_t> values) {
    return writer.addAll<int64_t>(
        absl::MakeConstSpan(values.data(), values.size()));
  }

  // One entry.
  mlir::LogicalResult addEntry(step::ProgramOp program);
  mlir::LogicalResult addStep(mlir::Operation *op);
  mlir::LogicalResult addKernelCall(step::KernelOpInterface op);
  mlir::LogicalResult addCombinations();
  mlir::LogicalResult addRandoms();
  mlir::LogicalResult addCollective(step::CollectiveStartOp op);
  void addMatmul(step::MatmulOp op);
  mlir::LogicalResult addBundle(step::BundleOp op);
  void addCopy(step::CopyOp op);
  void addFill(step::FillOp op);
  void addScatter(step::ScatterOp op);
  void addSort(step::SortOp op);
  mlir::LogicalResult addLoop(step::LoopOp op);
  mlir::LogicalResult addBranch(mlir::Operation *op, mlir::Value predicate,
                                tprt::ControlKind kind);
  mlir::LogicalResult addChoice(step::ChooseOp op);
  mlir::LogicalResult addControl(mlir::Operation *op, tprt::ControlRow row);
  void pushStep(mlir::Operation *op, tprt::StepKind kind, uint32_t row);
  tprt::BufferRow getBuffer(mlir::Value buffer);
  tprt::MatmulOperand getOperand(mlir::Value buffer);
  tprt::DType dtypeOf(mlir::Value buffer) {
    return *getDType(
        mlir::cast<mlir::MemRefType>(buffer.getType()).getElementType());
  }

  mlir::ModuleOp module;
  std::optional<Mesh> mesh;
  TargetCode *code;
  KernelTable kernelTable;
  mlir::OwningOpRef<mlir::ModuleOp> combinations,
      randoms; ///< Kernels that no step calls.
  /// Indexed by the kernel's number in `kernelTable`.
  llvm::SmallVector<uint32_t> kernelRows;
  llvm::StringMap<std::pair<uint32_t, step::InputAttr>> inputs;
  llvm::DenseMap<mlir::Attribute, uint32_t> communicators, coordinates;
  llvm::DenseMap<std::pair<mlir::Attribute, int64_t>, uint32_t> places;
  llvm::DenseMap<mlir::Attribute, uint64_t> constants;
  /// Keyed by the members of a bundle and the number of rows.
  std::map<std::pair<std::vector<int64_t>, int64_t>, uint32_t> bundles;

  /// The table rows of the current entry's buffers, except for views of other
  /// buffers.
  llvm::DenseMap<mlir::Value, tprt::BufferRow> roots;
  llvm::DenseMap<mlir::Value, uint32_t> collectives;    ///< Keyed by token.
  llvm::DenseMap<mlir::Operation *, uint32_t> counters; ///< Keyed by loop.
  uint32_t numCounters = 0;
  std::vector<tprt::StepRow> steps;
  uint32_t numOutputs = 0;
};

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_ARTIFACTBUILDER_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file One function on its way to a step.program.
///
/// The values of a prepared function are memory (`View`), or are made in row
/// programs. Units are lowered one after the other: each asks for the views of
/// its operands and says where its results lie.

#ifndef TPOPT_PASSES_LOWER_LOWERING_H
#define TPOPT_PASSES_LOWER_LOWERING_H

#include "FusionGroups.h"
#include "JoinProducts.h"
#include "View.h"

namespace tp {

class ProgramLowering {
public:
  /// `mesh` is null if the function has none.
  ProgramLowering(mlir::func::FuncOp function, spmd::MeshOp meshOp,
                  const codegen::Target &target)
      : function(function), meshOp(meshOp), target(target),
        builder(function.getContext()) {
    if (meshOp)
      mesh = meshOp.toMesh();
  }

  /// Makes the function legal for the target. Fails with an error.
  mlir::LogicalResult prepare();
  /// Creates the program of the prepared function, beside it. Fails with an
  /// error.
  mlir::LogicalResult lower(const Bundles &bundles);

private:
  class RowsBuilder;
  class ContractionBuilder;
  class CollectiveBuilder;

  // LowerToStep.cpp: the signature, units in order, results.
  mlir::LogicalResult verifyValues();
  mlir::LogicalResult createProgram();
  void lowerBlock(mlir::Block &block);
  void lowerUnit(const FusionGroups &graph, unsigned index);
  void lowerResults();
  mlir::InFlightDiagnostic fail(mlir::Operation *op, ErrorCode code);

  // LowerToStep.cpp: memory.
  View allocate(llvm::ArrayRef<int64_t> shape, mlir::Type element);
  /// Where a result of the function is to lie, if that is free by now, else a
  /// new buffer.
  View allocateFor(mlir::Value value);
  /// The same, or its part of the tensor that it is only put together into, by
  /// tp.concat or spmd.assemble.
  View allocatePart(mlir::Value value);
  /// The memory of the argument that is donated to `value`, if it may be
  /// written by then: whoever reads it, or what was computed in it, has read,
  /// but for the ops of `except`, which read an element only where they write
  /// it. Null if not.
  mlir::Value getDonated(mlir::Value value, const Unit &except);
  bool hasBeenRead(mlir::Value value, const Unit &except);
  /// The memory of `input`, if `op` may overwrite it, else a copy for the
  /// result.
  View getOwn(mlir::Value input, mlir::Value result, mlir::Operation *op);
  mlir::Value getBuffer(const View &view);
  /// What a step at the insertion point calls the loop.
  uint64_t getLoopNumber(mlir::Operation *loop);
  View getView(mlir::Value value);
  View getReshaped(const View &view, llvm::ArrayRef<int64_t> shape,
                   mlir::Operation *op);
  View getDense(const View &view, mlir::Operation *op);
  View copyDense(const View &view, mlir::Operation *op);
  bool copyInParts(const View &from, const View &to, mlir::Operation *op);
  void copy(const View &from, const View &to, mlir::Operation *op);
  void fill(const View &to, mlir::TypedAttr value, mlir::Operation *op);
  /// Whether the only use of `value`'s memory is `op`, so that it may write
  /// there.
  bool mayOverwrite(mlir::Value value, mlir::Operation *op);

  // RowPrograms.cpp
  void lowerRows(const FusionGroups &graph, unsigned index);
  View materialize(mlir::Value inlineValue);
  void materialize(mlir::Value inlineValue, const View &to);
  /// As row programs, what the runtime does not execute.
  void copyByRows(const View &from, const View &to);
  void fillByRows(const View &to, mlir::TypedAttr value);
  View lowerSlice(DynamicSliceOp op);
  /// The memory of a tensor that is updated, with what it held before.
  View getUpdated(DynamicUpdateSliceOp op);
  /// Whether a scalar lies in low .. high, as an i1 in memory.
  View compareScalar(mlir::Value scalar, int64_t low, int64_t high);

  // Indexed.cpp
  void lowerScatter(ScatterOp op);
  void lowerSort(mlir::Value input, int64_t dim, bool descending,
                 mlir::Value values, mlir::Value indices);
  /// The first `kept` of each row of [rows, columns] in order, and their
  /// places.
  std::pair<mlir::Value, mlir::Value> sortRows(const View &source, int64_t kept,
                                               bool descending);

  // Regions.cpp
  void lowerFor(ForOp op);
  void lowerWhile(WhileOp op);
  void lowerCase(CaseOp op);
  bool isTooDeep(mlir::Operation *op);
  /// Memory for what a loop carries, with the initial values; none for what is
  /// the same in all turns.
  llvm::SmallVector<View> makeCarried(mlir::Operation *op,
                                      mlir::ValueRange inits, YieldOp yield);
  /// Lowers a block in `region`, with its arguments lying in `arguments`; what
  /// it yields goes into `results`.
  void lowerRegion(mlir::Region &region, mlir::Block &block,
                   mlir::ValueRange arguments, llvm::ArrayRef<View> views,
                   llvm::ArrayRef<View> results);
  void storeYielded(YieldOp yield, llvm::ArrayRef<View> results);

  // Movement.cpp
  /// The memory of a tensor that is put together. Its parts may be written
  /// before it is lowered.
  View getAssembled(mlir::Value result);
  View getPart(ConcatOp op, unsigned index);
  View getPart(spmd::AssembleOp op, unsigned index);
  template <typename OpT> void lowerParts(OpT op);
  void lowerConcat(ConcatOp op);
  void lowerAssemble(spmd::AssembleOp op);
  View lowerBlock(spmd::BlockOp op);
  void lowerPad(PadOp op);

  // Contraction.cpp
  void lowerContraction(const Unit &unit);
  /// What a post-op adds, in memory as the target's library takes it where it
  /// multiplies such factors.
  View getPostOperand(View view, codegen::PostOpPattern::Operand kind,
                      mlir::Type factor, mlir::Operation *op);
  View copyPostOperand(const View &view, llvm::ArrayRef<int64_t> repeated,
                       mlir::Operation *op);

  // Attention.cpp
  void lowerAttention(AttentionOp op);
  void lowerAttention(AttentionQueryGradientOp op);
  void lowerAttention(AttentionKeyValueGradientOp op);
  template <typename StepOp, typename OpT> void lowerAttentionGradient(OpT op);
  mlir::Value getOptionalBuffer(mlir::Value value);
  View getFeatures(mlir::Value value, mlir::Operation *op);
  /// Lowers something in several ways, of which the runtime takes one.
  void chooseBetween(size_t ways, llvm::function_ref<void(size_t)> lower);
  void combineParts(const View &partial, const View &statistics,
                    const View &result);

  // Collectives.cpp
  void lowerCollective(spmd::CollectiveOpInterface op);
  void lowerShift(spmd::ShiftOp op);
  View exchange(step::CollectiveKind kind, llvm::ArrayRef<AxisRef> axes,
                const View &from, const View &to,
                std::optional<step::Reduction> reduction = std::nullopt,
                llvm::ArrayRef<int64_t> permutation = {});
  View padTo(const View &view, llvm::ArrayRef<int64_t> shape,
             mlir::Operation *op);

  mlir::func::FuncOp function;
  spmd::MeshOp meshOp;
  const codegen::Target &target;
  std::optional<Mesh> mesh;
  mlir::OpBuilder builder;
  mlir::Location loc = builder.getUnknownLoc();
  step::ProgramOp program;
  LocalInfos infos;
  Bundles bundles;
  bool failed = false;

  /// Of the current region and those around it.
  llvm::DenseMap<mlir::Value, View> views;
  /// By root and type, what they move with, and how far.
  llvm::DenseMap<std::tuple<std::pair<mlir::Value, mlir::Type>,
                            std::pair<mlir::Operation *, mlir::Attribute>,
                            int64_t, int64_t>,
                 mlir::Value>
      buffers;
  llvm::DenseMap<mlir::Operation *, step::LoopOp> loops; ///< By ForOp.
  /// For values that the function returns: the outputs' own storage.
  llvm::DenseMap<mlir::Value, mlir::Value> outputStorage;
  /// The argument that each result of the function is to overwrite.
  llvm::DenseMap<mlir::Value, mlir::BlockArgument> donated;
  /// Ops of the function's block that have their steps.
  llvm::DenseSet<mlir::Operation *> lowered;
  llvm::SmallVector<int64_t> aliases; ///< Per result, the input or -1.
};

/// Row programs of `program` that may be one kernel become a step.together.
void joinRows(step::ProgramOp program);

/// Puts steps for which `target` has other ways beside these, to be timed
/// where the program runs.
void offerChoices(step::ProgramOp program, const codegen::Target &target);

/// Merges dimensions of a row program that all its operands walk through alike.
void collapseDomain(step::RowsOp rows);

} // namespace tp

#endif // TPOPT_PASSES_LOWER_LOWERING_H

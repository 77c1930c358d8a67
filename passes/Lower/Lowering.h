// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Lowers one function to a step.program.
///
/// Each value of a prepared function is either in memory (`View`), or computed
/// in row programs. Units are lowered one after the other: each asks for the
/// views of its operands and records the views of its results.

#ifndef TPOPT_PASSES_LOWER_LOWERING_H
#define TPOPT_PASSES_LOWER_LOWERING_H

#include "FusionGroups.h"
#include "JoinProducts.h"
#include "View.h"

namespace tp {

/// What one collective of a launch sends, between which buffers.
struct LaunchPart {
  step::CollectiveKind kind;
  std::optional<step::Reduction> reduction = std::nullopt;
  llvm::SmallVector<int64_t> permutation = {};
  View from = {}, to = {};
};

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
  /// Creates the program of the prepared function, next to the function. Fails
  /// with an error.
  mlir::LogicalResult lower(const Bundles &bundles);

private:
  class RowsBuilder;
  class ContractionBuilder;
  class CollectiveBuilder;

  // LowerToStep.cpp: lowers the signature, the units in order, and the results.
  mlir::LogicalResult verifyValues();
  mlir::LogicalResult createProgram();
  void lowerBlock(mlir::Block &block);
  void lowerUnit(const FusionGroups &graph, unsigned index);
  void lowerResults();
  mlir::InFlightDiagnostic fail(mlir::Operation *op, ErrorCode code);

  // LowerToStep.cpp: memory.
  View allocate(llvm::ArrayRef<int64_t> shape, mlir::Type element);
  /// The memory of the function's result that `value` becomes, if that memory
  /// is already free; otherwise a new buffer.
  View allocateFor(mlir::Value value);
  /// Like allocateFor, except that a value whose only use is as a part of a
  /// tp.concat or spmd.assemble gets a view of its part of that op's result.
  View allocatePart(mlir::Value value);
  /// The memory of the argument that is donated to `value`; null while ops that
  /// read this memory are still to be lowered. Ops of `except` are ignored,
  /// because they read every element before they overwrite it.
  mlir::Value getDonated(mlir::Value value, const Unit &except);
  bool hasBeenRead(mlir::Value value, const Unit &except);
  /// The memory of `input`, if `op` may overwrite it; otherwise a copy for
  /// `result`.
  View getOwn(mlir::Value input, mlir::Value result, mlir::Operation *op);
  mlir::Value getBuffer(const View &view);
  /// The number by which a step at the insertion point refers to `loop`.
  uint64_t getLoopNumber(mlir::Operation *loop);
  View getView(mlir::Value value);
  View getReshaped(const View &view, llvm::ArrayRef<int64_t> shape,
                   mlir::Operation *op);
  View getDense(const View &view, mlir::Operation *op);
  View copyDense(const View &view, mlir::Operation *op);
  bool copyInParts(const View &from, const View &to, mlir::Operation *op);
  void copy(const View &from, const View &to, mlir::Operation *op);
  void fill(const View &to, mlir::TypedAttr value, mlir::Operation *op);
  /// Returns true if `op` is the only user of `value`'s memory, so that it may
  /// write there.
  bool mayOverwrite(mlir::Value value, mlir::Operation *op);

  // RowPrograms.cpp
  void lowerRows(const FusionGroups &graph, unsigned index);
  View materialize(mlir::Value inlineValue);
  void materialize(mlir::Value inlineValue, const View &to);
  /// Copy or fill with a row program if the runtime has no suitable step.
  void copyByRows(const View &from, const View &to);
  void fillByRows(const View &to, mlir::TypedAttr value);
  View lowerSlice(DynamicSliceOp op);
  /// The memory of a tensor that is updated. It contains the tensor's old
  /// elements.
  View getUpdated(DynamicUpdateSliceOp op);
  /// An i1 in memory that is true if a scalar is in low .. high.
  View compareScalar(mlir::Value scalar, int64_t low, int64_t high);

  // Indexed.cpp
  void lowerScatter(ScatterOp op);
  void lowerSort(mlir::Value input, int64_t dim, bool descending,
                 mlir::Value values, mlir::Value indices);
  /// Sorts each row of [rows, columns]. Returns the first `kept` elements of
  /// each, and their indices in the row.
  std::pair<mlir::Value, mlir::Value> sortRows(const View &source, int64_t kept,
                                               bool descending);

  // Regions.cpp
  void lowerFor(ForOp op);
  void lowerWhile(WhileOp op);
  void lowerCase(CaseOp op);
  bool isTooDeep(mlir::Operation *op);
  /// Memory for the values that a loop carries, filled with the initial values.
  /// Values that are the same in all iterations, and that nothing reads from
  /// the loop, get none.
  llvm::SmallVector<View> makeCarried(mlir::Operation *op,
                                      mlir::ValueRange inits, YieldOp yield);
  /// Lowers a block into `region`. The memory of its arguments is given by
  /// `views`; the values that it yields are stored into `results`.
  void lowerRegion(mlir::Region &region, mlir::Block &block,
                   mlir::ValueRange arguments, llvm::ArrayRef<View> views,
                   llvm::ArrayRef<View> results);
  void storeYielded(YieldOp yield, llvm::ArrayRef<View> results);

  // Movement.cpp: data movement, and tensors that are assembled from parts.
  /// Returns the memory of an assembled tensor. The parts may be written before
  /// the op that assembles them is lowered.
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
  /// Returns `view`, the operand of a post-op, or a dense copy of it. The copy
  /// is made if the target's library cannot read the layout of `view` in a
  /// product of factors of the type `factor`.
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
  /// Lowers an op in several alternative ways, one of which the runtime
  /// chooses.
  void chooseBetween(size_t ways, llvm::function_ref<void(size_t)> lower);
  View getCounters(llvm::ArrayRef<int64_t> shape, mlir::Operation *op);

  // Collectives.cpp
  void lowerCollective(spmd::CollectiveOpInterface op);
  void lowerShift(spmd::ShiftOp op);
  /// Sends data in one launch, and waits for it.
  void exchange(llvm::ArrayRef<LaunchPart> parts, llvm::ArrayRef<AxisRef> axes);
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

  /// Views of values in the current region and the regions around it.
  llvm::DenseMap<mlir::Value, View> views;
  /// View ops by root and type, by the loop or mesh axes on which their offset
  /// depends, by the number that is added to the position along these axes, and
  /// by how far the offset advances per iteration or position.
  llvm::DenseMap<std::tuple<std::pair<mlir::Value, mlir::Type>,
                            std::pair<mlir::Operation *, mlir::Attribute>,
                            int64_t, int64_t>,
                 mlir::Value>
      buffers;
  llvm::DenseMap<mlir::Operation *, step::LoopOp> loops; ///< By ForOp.
  /// By their number: counters that are zero between steps.
  llvm::DenseMap<int64_t, View> counters;
  /// For values that the function returns: the memory of the outputs.
  llvm::DenseMap<mlir::Value, mlir::Value> outputStorage;
  /// By result of the function: the argument that is donated to it, if any.
  llvm::DenseMap<mlir::Value, mlir::BlockArgument> donated;
  /// Ops of the function's block that have been lowered.
  llvm::DenseSet<mlir::Operation *> lowered;
  llvm::SmallVector<int64_t> aliases; ///< Per result: the input, or -1
};

/// Joins row programs of `program` that can be one kernel into a step.together.
void joinRows(step::ProgramOp program);

/// Adds alternatives to steps that `target` can execute in several ways; the
/// runtime times them on its device.
void offerChoices(step::ProgramOp program, const codegen::Target &target);

/// Merges dimensions of a row program that are contiguous in the same way in
/// all its operands.
void collapseDomain(step::RowsOp rows);

} // namespace tp

#endif // TPOPT_PASSES_LOWER_LOWERING_H

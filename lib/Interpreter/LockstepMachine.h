// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// One run of a program: the state of all devices.

#ifndef TPOPT_LIB_INTERPRETER_LOCKSTEPMACHINE_H
#define TPOPT_LIB_INTERPRETER_LOCKSTEPMACHINE_H

#include "lib/Interpreter/Interpreter.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

#include "llvm/ADT/DenseMap.h"

#include <map>
#include <memory>

namespace tp::interp {

/// Checks that `type` is a tensor whose size on all `devices` devices together
/// is within the limits. If not, emits the reason at `op`.
mlir::LogicalResult checkSize(mlir::Operation *op, mlir::Type type,
                              int64_t devices,
                              const InterpreterOptions &options);

/// The devices that code runs on.
struct World {
  enum Kind {
    Whole,  ///< One device; tensors are complete.
    Local,  ///< All devices; types say which part a buffer holds.
    Manual, ///< All devices; types are local on the manual axes only.
  };
  const Mesh *mesh = nullptr;
  int64_t devices = 1;
  Kind kind = Whole;
  AxisList manualAxes = {};
  /// The devices that execute the current code, if others have taken a
  /// different branch or have left the loop; empty if all devices execute it.
  /// Values computed for the other devices are dropped.
  std::vector<bool> present = {};

  bool isLocal() const { return kind == Local; }
  bool isHere(int64_t device) const {
    return present.empty() || present[device];
  }
};

/// The values of one call of a function, on all devices.
struct Frame {
  explicit Frame(const World &world) : world(world) {}

  llvm::SmallVector<DeviceValues> lookup(mlir::ValueRange range) {
    return llvm::map_to_vector(range, [&](mlir::Value v) { return values[v]; });
  }

  World world;
  llvm::DenseMap<mlir::Value, DeviceValues> values;
  /// True if the ops are part of the program, not of a decomposition.
  bool observed = false;
};

/// An op's decomposition into simpler ops, with block arguments for its
/// operands.
struct Decomposition {
  mlir::Block block;
  mlir::Operation *copy = nullptr; ///< The op itself; not to be executed.
  llvm::SmallVector<mlir::Value> results;
};

/// Every run*() returns the results of an op on every device, or emits an
/// error.
class LockstepMachine {
public:
  using Results = mlir::FailureOr<llvm::SmallVector<DeviceValues>>;

  LockstepMachine(DenseEvaluator &evaluator, const InterpreterOptions &options)
      : evaluator(evaluator), options(options),
        distributor(evaluator, options.garbage) {}

  Results runFunction(mlir::func::FuncOp function,
                      llvm::ArrayRef<DeviceValues> arguments,
                      const World &world, bool observed);
  mlir::LogicalResult checkDevices(mlir::Operation *op, int64_t devices);

private:
  Results runBlock(mlir::Block &block, llvm::ArrayRef<DeviceValues> arguments,
                   Frame &frame);
  mlir::LogicalResult execute(mlir::Operation *op, Frame &frame);
  Results dispatch(mlir::Operation *op, Frame &frame);
  Results evaluate(mlir::Operation *op, Frame &frame);
  Results evaluateDecomposed(mlir::Operation *op, Frame &frame);

  Results runCall(mlir::func::CallOp op, Frame &frame);
  Results runFor(ForOp op, Frame &frame);
  Results runWhile(WhileOp op, Frame &frame);
  Results runCase(CaseOp op, Frame &frame);
  /// Checks that in each group of devices along `axes`, which wait for one
  /// another in `op`, either all devices execute the current code or none does.
  mlir::LogicalResult checkMeeting(mlir::Operation *op,
                                   llvm::ArrayRef<AxisRef> axes,
                                   const World &world);

  Results runDeviceOp(mlir::Operation *op, Frame &frame);
  Results runManual(spmd::ManualOp op, Frame &frame);
  DeviceValues enterManual(const DeviceValues &operand, const Layout &layout,
                           mlir::RankedTensorType type, const World &world);
  mlir::FailureOr<DeviceValues> leaveManual(spmd::ManualOp op, unsigned result,
                                            const DeviceValues &parts,
                                            const Layout &layout,
                                            const World &world);
  Results runCollective(spmd::CollectiveOpInterface op, Frame &frame);
  mlir::FailureOr<DeviceValues>
  runManualCollective(spmd::CollectiveOpInterface op, unsigned part,
                      Frame &frame);

  DenseEvaluator &evaluator;
  const InterpreterOptions &options;

public:
  Distributor distributor;
  int64_t mostIterations = 0; ///< The most iterations of any loop so far.

private:
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<Decomposition>>
      decompositions;
  unsigned depth = 0;
};

} // namespace tp::interp

#endif // TPOPT_LIB_INTERPRETER_LOCKSTEPMACHINE_H

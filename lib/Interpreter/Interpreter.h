// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Runs programs of the `tp` and `spmd` dialects: slow, but obviously
/// correct.
///
/// # Whole and local programs
///
/// A function on ordinary tensor types is a **whole** program: there is one
/// device, and every tensor is complete. Constraints, reshards, barriers and
/// collectives on global types change nothing there.
///
/// A function whose tensor types carry `#spmd.local` is a **local** program,
/// the one that each device of the mesh runs. It is run on all devices in
/// lockstep: each op on every device's buffers, then the next op. Collectives
/// move data between the buffers, see Distribution.h. Functions of both kinds
/// are called with whole tensors and return whole tensors, so their results can
/// be compared:
///
///     !block = tensor<2xf32, #spmd.local<@m, [{"x"}], global=[6]>>
///     func.func @whole(%x: tensor<6xf32>) -> tensor<6xf32>
///     func.func @local(%x: !block) -> !block
///
///     DoubleEvaluator evaluator;
///     Interpreter interpreter(evaluator);
///     auto a = interpreter.run(whole, x), b = interpreter.run(local, x);
///
/// The body of a `spmd.manual` in a whole program is also run in lockstep.
///
/// # The meaning of ops
///
/// An op defines its meaning through EvaluateOpInterface; an op without that
/// interface is evaluated through its decomposition. Loops and branches are run
/// here. Devices may take different paths, for example depending on their
/// number in `spmd.manual`. Devices that meet in a collective must have taken
/// the same path, or they would hang there.
///
/// # Padding
///
/// Arguments arrive with zeros in their padding, except for arguments with
/// `tp.donated`: their buffers have been used before and hold garbage there.
///
/// # Errors
///
/// Everything that a program can do wrong is an error at the op, with a code
/// from 0700 on. Programs that are too large for this machine or do not
/// terminate are also errors: see the options.

#ifndef TPOPT_INTERPRETER_INTERPRETER_H
#define TPOPT_INTERPRETER_INTERPRETER_H

#include "lib/Interpreter/Distribution.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <functional>

namespace tp::interp {

struct InterpreterOptions {
  /// After this many iterations a loop is assumed to be endless.
  int64_t maxIterations = 1 << 20;
  int64_t maxDevices = 4096;
  /// The maximum number of elements of a tensor, summed over devices; larger
  /// tensors are errors.
  int64_t maxElements = int64_t(1) << 28;
  /// How much copies of one value may differ between devices; see
  /// DenseEvaluator::isClose.
  double tolerance = 0;
  /// Selects the contents of padding that no op has written.
  uint64_t garbage = 0;
  /// Called with the operands of every op of the program, before it is run.
  std::function<void(mlir::Operation *, llvm::ArrayRef<DeviceValues>)>
      operandObserver;
  /// Called with the results of every op, in the order of execution. Each
  /// result is one buffer per device.
  std::function<void(mlir::Operation *, llvm::ArrayRef<DeviceValues>)> observer;
};

/// The layout of a value of a `#spmd.local` type on its mesh. The type must
/// have been checked by Program::analyze.
Layout getLayout(mlir::RankedTensorType local, const Mesh &mesh);

/// A function and the devices that it runs on.
class Program {
public:
  /// Checks the function's types and finds its mesh. Emits an error and fails
  /// if the types are not tensors, or if local types contradict each other.
  static mlir::FailureOr<Program> analyze(mlir::func::FuncOp function);

  mlir::func::FuncOp getFunction() const { return function; }
  bool isLocal() const { return mesh != nullptr; }
  int64_t getNumDevices() const { return mesh ? mesh->getNumDevices() : 1; }
  /// The mesh of a local program.
  const Mesh *getMesh() const { return mesh.get(); }
  /// The type of the whole tensor: the global type if `type` is local, and
  /// otherwise `type` itself.
  static mlir::RankedTensorType getWholeType(mlir::Type type);

private:
  mlir::func::FuncOp function;
  std::shared_ptr<const Mesh> mesh;
};

/// Checks that the whole arguments of a program are within the limits, so that
/// they can be allocated. If not, emits the reason.
mlir::LogicalResult checkArguments(const Program &program,
                                   const InterpreterOptions &options);

class Interpreter {
public:
  explicit Interpreter(DenseEvaluator &evaluator,
                       InterpreterOptions options = {})
      : evaluator(evaluator), options(std::move(options)) {}

  /// Runs a whole or local program. The arguments are given as whole tensors,
  /// even if the program is local.
  mlir::FailureOr<llvm::SmallVector<TensorValue>>
  run(const Program &program, llvm::ArrayRef<TensorValue> arguments);

  /// Runs a local program on the buffers of its devices.
  mlir::FailureOr<llvm::SmallVector<DeviceValues>>
  runOnDevices(const Program &program, llvm::ArrayRef<DeviceValues> arguments);

  /// Gathers a value from the buffers that an observer sees. Returns nullopt if
  /// devices do not agree on it.
  std::optional<TensorValue> gather(const Program &program, mlir::Type type,
                                    llvm::ArrayRef<TensorValue> parts);

  /// The most iterations that a loop took in the last run().
  int64_t getMostIterations() const { return mostIterations; }

private:
  DenseEvaluator &evaluator;
  InterpreterOptions options;
  int64_t mostIterations = 0;
};

} // namespace tp::interp

#endif // TPOPT_INTERPRETER_INTERPRETER_H

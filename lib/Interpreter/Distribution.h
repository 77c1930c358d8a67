// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Tensors on all devices of a mesh: splits, gathers and exchanges them.
///
/// A value of a per-device program is one buffer per device, in the order of
/// device numbers. A Layout says which block of the whole tensor each buffer
/// holds. On `["x"=4]`, 10 rows sharded along x are flat blocks of 3 (see
/// tpopt/Sharding/Sharding.h), and the last buffer ends in padding:
///
///     x=0     x=1     x=2     x=3
///     0 1 2   3 4 5   6 7 8   9 # #        `#`: padding
///
/// Padding means nothing, and a correct program does not depend on it. To
/// expose incorrect programs, every function that makes a buffer without a
/// value for its padding fills the padding with garbage, see DenseEvaluator.
/// Values that an op computes on padding are not cleaned up either.
///
/// The collectives below implement those of the `spmd` dialect literally: they
/// use the axes that the op names, so an op that names the wrong axes computes
/// the wrong result here as well. Sums are taken in the order of positions
/// along the axes. Sizes of blocks and buffers are in elements.

#ifndef TPOPT_INTERPRETER_DISTRIBUTION_H
#define TPOPT_INTERPRETER_DISTRIBUTION_H

#include "lib/Interpreter/DenseEvaluator.h"
#include "tpopt/Sharding/Reshard.h"

#include <string>
#include <variant>

namespace tp::interp {

/// One tensor on every device, by device number.
using DeviceValues = llvm::SmallVector<TensorValue>;

/// The part of the whole tensor that a buffer holds, per dimension.
struct BlockExtent {
  llvm::SmallVector<int64_t> begin; ///< Its position in the whole tensor.
  llvm::SmallVector<int64_t> valid; ///< Its size without padding.

  bool operator==(const BlockExtent &o) const {
    return begin == o.begin && valid == o.valid;
  }
};

/// The layout of a tensor of `shape` on a mesh. The mesh must outlive the
/// layout.
struct Layout {
  const Mesh *mesh;
  TensorSharding sharding;
  llvm::SmallVector<int64_t> shape;

  int64_t getNumDevices() const { return mesh->getNumDevices(); }
  llvm::SmallVector<int64_t> getBufferShape() const {
    return getLocalShape(sharding, shape);
  }
  BlockExtent getBlock(int64_t device) const;
};

/// The contents of padding that no op has written.
enum class Padding : uint8_t { Zero, Garbage };

/// Moves tensors between devices. Garbage in padding differs from one call to
/// the next, but is the same whenever the program is run.
class Distributor {
public:
  explicit Distributor(DenseEvaluator &evaluator, uint64_t garbage = 0)
      : evaluator(evaluator), salt(garbage << 32) {}

  /// Returns the blocks of `whole` as buffers of type `local`. Along unreduced
  /// axes the first device gets the value and the others the identity.
  DeviceValues scatter(TensorValue whole, const Layout &layout,
                       mlir::RankedTensorType local, Padding padding);

  /// Returns the whole tensor, of type `whole`, after combining partial values.
  /// If devices that hold the same block do not agree within `tolerance` (see
  /// DenseEvaluator::isClose), returns a message that says which devices
  /// differ, and where. If `devices` is not empty, only these devices are read.
  std::variant<TensorValue, std::string>
  gather(llvm::ArrayRef<TensorValue> parts, const Layout &layout,
         mlir::RankedTensorType whole, double tolerance,
         llvm::ArrayRef<int64_t> devices = {});

  /// Runs a collective of `kind` over `axes` on buffers with layout `in`.
  /// Returns buffers of `type` with layout `out`. The step must be valid, see
  /// tpopt/Sharding/Reshard.h.
  DeviceValues run(CollectiveKind kind, llvm::ArrayRef<AxisRef> axes,
                   llvm::ArrayRef<TensorValue> parts, const Layout &in,
                   const Layout &out, mlir::RankedTensorType type);
  /// Every device gets the combination of the buffers along `axes`.
  DeviceValues allReduce(llvm::ArrayRef<TensorValue> parts, const Mesh &mesh,
                         llvm::ArrayRef<AxisRef> axes, ReduceKind kind);
  /// Returns the position from which position `place`, out of `places`,
  /// receives a buffer; none if it receives zeros.
  using Sender =
      llvm::function_ref<std::optional<int64_t>(int64_t place, int64_t places)>;
  /// Every device gets the buffer of the device at the position along `axes`
  /// that `getSender` returns.
  DeviceValues shift(llvm::ArrayRef<TensorValue> parts, const Mesh &mesh,
                     llvm::ArrayRef<AxisRef> axes, Sender getSender);
  /// The position of every device along `axes`.
  DeviceValues axisIndex(const Mesh &mesh, llvm::ArrayRef<AxisRef> axes,
                         mlir::RankedTensorType type);
  /// Every device gets the block of its buffer that is `plus` blocks after its
  /// own position along `axes`, as spmd.block specifies.
  DeviceValues block(llvm::ArrayRef<TensorValue> parts, const Mesh &mesh,
                     llvm::ArrayRef<AxisRef> axes, int64_t dim, int64_t plus,
                     mlir::RankedTensorType type);
  /// Concatenates blocks, starting at the device's position, as spmd.assemble
  /// specifies.
  DeviceValues assemble(llvm::ArrayRef<DeviceValues> blocks, const Mesh &mesh,
                        llvm::ArrayRef<AxisRef> axes, int64_t dim,
                        mlir::RankedTensorType type);
  /// Sets an element of a buffer to `value` if the element is padding along at
  /// least one of `dims`.
  DeviceValues mask(llvm::ArrayRef<TensorValue> parts, const Layout &layout,
                    llvm::ArrayRef<int64_t> dims, Element value);

private:
  /// Every device gets those elements of its block in `out` that the devices of
  /// its group along `axes` hold in `in`. If `axes` are those removed from a
  /// dimension, this is an all_gather or an all_to_all; without axes, it is an
  /// all_slice.
  DeviceValues exchange(llvm::ArrayRef<TensorValue> parts, const Layout &in,
                        const Layout &out, llvm::ArrayRef<AxisRef> axes,
                        mlir::RankedTensorType type);
  /// Converts a tensor to partial values. Along axes that `in` does not use,
  /// only the first device keeps its value; along axes that split a dimension,
  /// each device keeps its block. All other elements become the reduction's
  /// identity.
  DeviceValues toPartial(llvm::ArrayRef<TensorValue> parts, const Layout &in,
                         const Layout &out, llvm::ArrayRef<AxisRef> axes,
                         mlir::RankedTensorType type);
  std::shared_ptr<DenseTensor> makeFilled(mlir::RankedTensorType type,
                                          Element value);
  std::shared_ptr<DenseTensor> makeGarbage(mlir::RankedTensorType type);

  DenseEvaluator &evaluator;
  uint64_t salt; ///< The salt of the next piece of garbage.
};

} // namespace tp::interp

#endif // TPOPT_INTERPRETER_DISTRIBUTION_H

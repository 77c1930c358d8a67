// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Tensors on all devices of a mesh at once: how they are cut, put
/// together, and exchanged.
///
/// A value of a per-device program is one buffer per device, in the order of
/// device numbers. A Layout says which block of the whole tensor each buffer
/// is. On `["x"=4]`, 10 rows cut along x are flat blocks of 3 (see
/// tpopt/Sharding/Sharding.h), and the last buffer ends in padding:
///
///     x=0     x=1     x=2     x=3
///     0 1 2   3 4 5   6 7 8   9 # #        `#`: padding
///
/// Padding means nothing, and a correct program does not depend on it. So that
/// an incorrect one shows, every function that makes a buffer without a value
/// for its padding leaves garbage there, see DenseEvaluator. What an op
/// computes on padding is not cleaned up either.
///
/// The collectives below are those of the `spmd` dialect, literally: they take
/// the axes that the op names, so an op that names the wrong ones computes the
/// wrong thing here, too. Sums are taken in the order of positions along the
/// axes. Sizes of blocks and buffers are in elements.

#ifndef TPOPT_INTERPRETER_DISTRIBUTION_H
#define TPOPT_INTERPRETER_DISTRIBUTION_H

#include "lib/Interpreter/DenseEvaluator.h"
#include "tpopt/Sharding/Reshard.h"

#include <string>
#include <variant>

namespace tp::interp {

/// One tensor on every device, by device number.
using DeviceValues = llvm::SmallVector<TensorValue>;

/// What a buffer holds of the whole tensor, per dimension.
struct BlockExtent {
  llvm::SmallVector<int64_t> begin; ///< First element, in the whole tensor.
  llvm::SmallVector<int64_t> valid; ///< Elements that are not padding.

  bool operator==(const BlockExtent &o) const {
    return begin == o.begin && valid == o.valid;
  }
};

/// How a tensor of `shape` lies on a mesh. The mesh must outlive the layout.
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

/// What padding holds that nobody has written.
enum class Padding : uint8_t { Zero, Garbage };

/// Moves tensors between devices. Garbage differs from call to call, and not
/// from run to run.
class Distributor {
public:
  explicit Distributor(DenseEvaluator &evaluator, uint64_t garbage = 0)
      : evaluator(evaluator), salt(garbage << 32) {}

  /// The blocks of `whole`, as buffers of type `local`. Along unreduced axes
  /// the first device gets the value and the others the identity.
  DeviceValues scatter(TensorValue whole, const Layout &layout,
                       mlir::RankedTensorType local, Padding padding);

  /// The whole tensor of type `whole`. Partial values are combined first. If
  /// devices that hold the same block do not agree within `tolerance` (see
  /// DenseEvaluator::isClose), says which and where instead. Of `devices`
  /// alone, if there are any.
  std::variant<TensorValue, std::string>
  gather(llvm::ArrayRef<TensorValue> parts, const Layout &layout,
         mlir::RankedTensorType whole, double tolerance,
         llvm::ArrayRef<int64_t> devices = {});

  /// What a collective of `kind` over `axes` makes of buffers that lie as `in`:
  /// buffers of `type` that lie as `out`. The step must be a valid one, see
  /// tpopt/Sharding/Reshard.h.
  DeviceValues run(CollectiveKind kind, llvm::ArrayRef<AxisRef> axes,
                   llvm::ArrayRef<TensorValue> parts, const Layout &in,
                   const Layout &out, mlir::RankedTensorType type);
  /// Every device gets the combination of the buffers along `axes`.
  DeviceValues allReduce(llvm::ArrayRef<TensorValue> parts, const Mesh &mesh,
                         llvm::ArrayRef<AxisRef> axes, ReduceKind kind);
  /// The place whose buffer a place gets, of so many; none for zeros.
  using Sender =
      llvm::function_ref<std::optional<int64_t>(int64_t place, int64_t places)>;
  /// Every device gets the buffer of its sender along `axes`.
  DeviceValues shift(llvm::ArrayRef<TensorValue> parts, const Mesh &mesh,
                     llvm::ArrayRef<AxisRef> axes, Sender getSender);
  /// The place of every device along `axes`.
  DeviceValues axisIndex(const Mesh &mesh, llvm::ArrayRef<AxisRef> axes,
                         mlir::RankedTensorType type);
  /// Every device gets the block of its buffer that lies `plus` behind its
  /// place along `axes`, as spmd.block says.
  DeviceValues block(llvm::ArrayRef<TensorValue> parts, const Mesh &mesh,
                     llvm::ArrayRef<AxisRef> axes, int64_t dim, int64_t plus,
                     mlir::RankedTensorType type);
  /// Puts blocks together from the device's place on, as spmd.assemble says.
  DeviceValues assemble(llvm::ArrayRef<DeviceValues> blocks, const Mesh &mesh,
                        llvm::ArrayRef<AxisRef> axes, int64_t dim,
                        mlir::RankedTensorType type);
  /// Elements beyond the whole tensor in one of `dims` become `value`.
  DeviceValues mask(llvm::ArrayRef<TensorValue> parts, const Layout &layout,
                    llvm::ArrayRef<int64_t> dims, Element value);

private:
  /// Every device gets, of its block in `out`, what the devices of its group
  /// along `axes` hold in `in`. With the axes that leave a dimension this is an
  /// all_gather or an all_to_all, with no axes an all_slice.
  DeviceValues exchange(llvm::ArrayRef<TensorValue> parts, const Layout &in,
                        const Layout &out, llvm::ArrayRef<AxisRef> axes,
                        mlir::RankedTensorType type);
  /// Along idle axes the first device keeps its value, and along axes that cut
  /// a dimension each keeps its block; all else is the identity.
  DeviceValues toPartial(llvm::ArrayRef<TensorValue> parts, const Layout &in,
                         const Layout &out, llvm::ArrayRef<AxisRef> axes,
                         mlir::RankedTensorType type);
  std::shared_ptr<DenseTensor> makeFilled(mlir::RankedTensorType type,
                                          Element value);
  std::shared_ptr<DenseTensor> makeGarbage(mlir::RankedTensorType type);

  DenseEvaluator &evaluator;
  uint64_t salt; ///< Of the next piece of garbage.
};

} // namespace tp::interp

#endif // TPOPT_INTERPRETER_DISTRIBUTION_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file GPU kernels executed without a GPU.
///
/// `convertToHost` (HostKernels.h) makes a function of this machine out of each
/// kernel, which does what one thread does. A launch runs its blocks one after
/// the other, and the threads of a block as fibers in the calling thread: each
/// goes on until it must wait for others, at a barrier or for its warp. For a
/// kernel `rows0` of three operands, compiled to a shared object:
///
///     auto library = KernelLibrary::open("kernels.so");
///     Kernel kernel = (*library)->find("rows0");
///     void *operands[] = {x, y, z};
///     absl::Status status = launch(kernel, operands, nullptr, {512, 256});
///
/// What a kernel does wrong shows. Memory that a block shares is filled with
/// 0xff, a NaN of every float, before each block, and must be left so behind
/// its end. A copy that is under way leaves 0xff, too, where it is to arrive,
/// until it is waited for. Blocks and warps run in ascending, in descending or
/// in a random order, each warp as far as it can, so that what lacks a barrier
/// goes wrong in one of them, and other blocks are the last to end. Blocks do
/// not run side by side.
/// Threads that wait for one that has ended, and a warp that does two things at
/// once, are errors; what warpgroups multiply is as Products.h says.
///
/// Several threads of the process may launch at the same time. No part of this
/// needs MLIR. The sizes of fragments and matrices are those of the PTX manual.

#ifndef TPOPT_TEST_EMULATION_EMULATOR_H
#define TPOPT_TEST_EMULATION_EMULATOR_H

#include "Products.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstdint>
#include <memory>
#include <string>

namespace emulation {

/// One thread of a kernel: an address per pointer and a number per scalar, both
/// in the order of the kernel's arguments. Gives 0.
using Kernel = int32_t (*)(void *const *operands, const int64_t *scalars,
                           int64_t block, int64_t thread);

struct Grid {
  int64_t blocks = 1;
  int64_t threads = 1; ///< Of a block.
  int64_t sharedBytes =
      0; ///< That the launch adds to what the kernel declares.
};

/// In which order blocks run, and the warps of a block get their turns. The
/// random order is the same for each launch of as many blocks.
enum class Order { Ascending, Descending, Random };
inline constexpr Order kOrders[] = {Order::Ascending, Order::Descending,
                                    Order::Random};

/// Runs all blocks; the first block that fails is the last.
absl::Status launch(Kernel kernel, void *const *operands,
                    const int64_t *scalars, Grid grid,
                    Order order = Order::Ascending);

/// How often, in the last launch of the calling thread, eight rows of a matrix
/// that ldmatrix loads did not lie in different banks of shared memory.
int64_t getNumBankConflicts();

/// The kernels of a shared object.
class KernelLibrary {
public:
  static absl::StatusOr<std::unique_ptr<KernelLibrary>>
  open(const std::string &path);
  ~KernelLibrary();
  KernelLibrary(const KernelLibrary &) = delete;
  KernelLibrary &operator=(const KernelLibrary &) = delete;

  /// Null if there is no kernel of this name.
  Kernel find(const std::string &name) const;

private:
  explicit KernelLibrary(void *handle) : handle(handle) {}
  void *handle;
};

//===----------------------------------------------------------------------===//
// What kernels call
//===----------------------------------------------------------------------===//

/// Places in the table of functions that each shared object has, and its name:
/// an array of pointers that `open` fills.
enum class Call : int32_t {
  Barrier,
  Shuffle,
  SharedMemory,
  LoadMatrices,
  MultiplyMatrices,
  CopyAsync,
  CommitCopies,
  WaitForCopies,
  FenceProxy,
  FenceProducts,
  MultiplyWarpgroup,
  CommitProducts,
  WaitForProducts,
};
inline constexpr int32_t kNumCalls = int32_t(Call::WaitForProducts) + 1;
inline constexpr char kCallTable[] = "tpEmulatorCalls";

/// What a product of a warpgroup is like: `Product` in Products.h.
enum class ProductFlag : int32_t {
  BF16 = 1,
  Adds = 2,
  HasFragment = 4,
  ByColumnsA = 8,
  ByColumnsB = 16,
};

} // namespace emulation

extern "C" {
/// Waits for the block.
void tpEmulatedBarrier();
/// The word of the lane whose number differs by the bits of `distance`.
int32_t tpEmulatedShuffle(int32_t word, int32_t distance);
/// What the block shares: `declared` bytes, and then those of the launch.
void *tpEmulatedSharedMemory(int64_t declared);
/// ldmatrix: 1, 2 or 4 (`count`) matrices of 8 rows, which lanes 0-7, 8-15, ..
/// give the addresses of; transposed or not, a fragment of each into `words`.
void tpEmulatedLoadMatrices(const void *row, int32_t *words, int32_t count,
                            int32_t transposed);
/// mma.m16n8k16: `words` are the fragments of A (4), B (2) and the f32 sums C
/// (4), which are added to.
void tpEmulatedMultiplyMatrices(int32_t *words, int32_t half);
/// cp.async: `sourceBytes` of the `bytes` bytes, and zeros behind them.
void tpEmulatedCopyAsync(void *to, const void *from, int32_t bytes,
                         int32_t sourceBytes);
void tpEmulatedCommitCopies();
/// Waits for all groups of copies but the `pending` youngest.
void tpEmulatedWaitForCopies(int32_t pending);
/// fence.proxy.async: products see what this thread's copies have brought.
void tpEmulatedFenceProxy();
/// wgmma.fence
void tpEmulatedFenceProducts();
/// wgmma.mma_async of 64 x 16 by 16 x `columns`, with the flags of
/// `ProductFlag`: the sums that this thread has, and what it has of A, or
/// descriptors.
void tpEmulatedMultiplyWarpgroup(int32_t *sums, const int32_t *fragment,
                                 int64_t a, int64_t b, int32_t columns,
                                 int32_t flags);
/// wgmma.commit_group
void tpEmulatedCommitProducts();
/// wgmma.wait_group: for all groups but the `pending` youngest, whose sums the
/// words get that hold them.
void tpEmulatedWaitForProducts(int32_t *words, int32_t count, int32_t pending);
}

#endif // TPOPT_TEST_EMULATION_EMULATOR_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CPU/SkinnyMatmul.h"

#include "runtime/CPU/MatmulRows.h"
#include "runtime/CPU/SkinnyKernels.h"

using namespace tprt;

namespace {

/// The number of floats of C that a thread works on at a time: they stay in the
/// first-level cache while rows of B stream through.
constexpr int64_t kTileFloats = 8192;
/// Below this many bytes of B, a second thread costs more than it saves.
constexpr int64_t kMinParallelRowBytes = 1 << 16;
constexpr int64_t kLine = 16; ///< Floats of a cache line.

} // namespace

static const SkinnyKernels &chooseKernels() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("x86-64-v4"))
    return kSkinnyKernelsV4;
  if (__builtin_cpu_supports("x86-64-v3"))
    return kSkinnyKernelsV3;
#endif
  return kSkinnyKernels;
}

static int64_t roundUp(int64_t value, int64_t unit) {
  return divideUp(value, unit) * unit;
}

SkinnyMatmul::SkinnyMatmul(Team &team)
    : team(team), kernels(chooseKernels()), narrowWeights(team, kernels),
      scratches(team.size()) {}

bool SkinnyMatmul::suits(const MatmulRow &row) {
  return row.m <= kMaxSkinnyRows;
}

/// Converts A to the order that the kernels read: they read B once, but A many
/// times.
void SkinnyMatmul::pack(const MatmulRow &row, const char *a, bool isByColumns) {
  int64_t batches = row.batch[0] * row.batch[1] * row.batch[2];
  packedA.resize(batches * row.m * row.k);
  int64_t toRow = isByColumns ? 1 : row.k, toColumn = isByColumns ? row.m : 1;
  for (int64_t batch = 0; batch < batches; ++batch) {
    float *to = &packedA[batch * row.m * row.k];
    int64_t from = getOffset(row, row.a, batch);
    for (int64_t i = 0; i < row.m; ++i) {
      int64_t begin = from + i * getRowStride(row.a),
              step = getColumnStride(row.a);
      if (row.a.dtype == DType::BF16) {
        const auto *elements = reinterpret_cast<const BFloat16 *>(a) + begin;
        for (int64_t l = 0; l < row.k; ++l)
          to[i * toRow + l * toColumn] = static_cast<float>(elements[l * step]);
      } else {
        const auto *elements = reinterpret_cast<const float *>(a) + begin;
        for (int64_t l = 0; l < row.k; ++l)
          to[i * toRow + l * toColumn] = elements[l * step];
      }
    }
  }
}

/// Returns `count` elements of an operand as floats. Converts them into
/// `buffer` unless they already are contiguous floats.
static const float *getFloats(const SkinnyKernels &kernels, DType dtype,
                              const char *data, int64_t offset, int64_t step,
                              int64_t count, std::vector<float> &buffer) {
  bool isNarrow = dtype == DType::BF16;
  const auto *wide = reinterpret_cast<const float *>(data) + offset;
  const auto *narrow = reinterpret_cast<const uint16_t *>(data) + offset;
  if (step == 1 && !isNarrow)
    return wide;
  if (buffer.size() < static_cast<size_t>(count))
    buffer.resize(count);
  if (step == 1)
    kernels.widen(narrow, buffer.data(), count);
  else
    for (int64_t i = 0; i < count; ++i)
      buffer[i] = isNarrow ? bitsToFloat(uint32_t{narrow[i * step]} << 16)
                           : wide[i * step];
  return buffer.data();
}

/// Computes columns `begin` .. `end` of one batch. B's numbers are of `bType`.
void SkinnyMatmul::computeTile(const Artifact &artifact, const MatmulRow &row,
                               const MatmulPointers &pointers, DType bType,
                               int64_t batch, int64_t begin, int64_t end,
                               bool isByColumns, Scratch &scratch) {
  int64_t width = end - begin;
  if (scratch.sums.size() < static_cast<size_t>(row.m * width))
    scratch.sums.resize(row.m * width);
  SkinnyTask task = {};
  task.m = row.m, task.n = width, task.k = row.k;
  task.a = &packedA[batch * row.m * row.k];
  task.b = pointers.b +
           (getOffset(row, row.b, batch) + begin * getColumnStride(row.b)) *
               getSize(bType);
  task.stride = isByColumns ? getRowStride(row.b) : getColumnStride(row.b);
  task.c = scratch.sums.data();
  (isByColumns ? kernels.columns : kernels.dots)[bType == DType::BF16](task);

  for (int64_t i = 0; i < row.m; ++i) {
    float *values = task.c + i * width;
    auto getOperand = [&](const MatmulOperand &operand, const char *data) {
      int64_t column = getColumnStride(operand);
      int64_t offset = getOffset(row, operand, batch) +
                       i * getRowStride(operand) + begin * column;
      return getFloats(kernels, operand.dtype, data, offset, column, width,
                       scratch.operand);
    };
    size_t index = 0;
    for (const PostOpRow &postOp : artifact.rows<PostOpRow>(row.postOps)) {
      const char *data = pointers.postOps[index++];
      switch (postOp.kind) {
      case PostOpKind::Add:
      case PostOpKind::Accumulate: {
        bool isC = postOp.kind == PostOpKind::Accumulate;
        const float *other =
            getOperand(isC ? row.c : postOp.operand, isC ? pointers.c : data);
        for (int64_t j = 0; j < width; ++j)
          values[j] += other[j];
        break;
      }
      case PostOpKind::Multiply: {
        const float *other = getOperand(postOp.operand, data);
        for (int64_t j = 0; j < width; ++j)
          values[j] *= other[j];
        break;
      }
      case PostOpKind::Relu:
      case PostOpKind::GeluErf:
      case PostOpKind::GeluTanh:
      case PostOpKind::Silu:
        kernels.activate(*getActivation(postOp.kind), values, width);
        break;
      }
    }
    int64_t to = getOffset(row, row.c, batch) + i * getRowStride(row.c) + begin;
    if (row.c.dtype == DType::BF16)
      kernels.narrow(values, reinterpret_cast<uint16_t *>(pointers.c) + to,
                     width);
    else
      std::memcpy(reinterpret_cast<float *>(pointers.c) + to, values,
                  width * sizeof(float));
  }
}

void SkinnyMatmul::run(const Artifact &artifact, const MatmulRow &row,
                       const MatmulPointers &operands) {
  MatmulPointers pointers = operands;
  DType bType = row.b.dtype;
  if (const char *narrow = narrowWeights.find(row, operands.b)) {
    pointers.b = narrow;
    bType = DType::BF16;
  }
  // Work by columns if rows of B are contiguous, unless each row is a single
  // number.
  bool isByColumns =
      getColumnStride(row.b) == 1 && (row.n > 1 || getRowStride(row.b) != 1);
  pack(row, pointers.a, isByColumns);
  int64_t batches = row.batch[0] * row.batch[1] * row.batch[2];
  // Tiles are small enough to stay in the cache. If the batches do not divide
  // evenly among the threads, each batch is cut into a tile for each thread.
  int64_t shares = batches % team.size() == 0 ? 1 : team.size();
  int64_t tile = roundUp((row.n + shares - 1) / shares, kLine);
  tile = std::min(tile, roundUp(kTileFloats / row.m, kLine));
  int64_t tiles = (row.n + tile - 1) / tile;
  auto compute = [&](int part, int parts) {
    auto [first, last] = Team::split(batches * tiles, part, parts);
    for (int64_t item = first; item < last; ++item) {
      int64_t begin = item % tiles * tile;
      computeTile(artifact, row, pointers, bType, item / tiles, begin,
                  std::min(begin + tile, row.n), isByColumns, scratches[part]);
    }
  };
  if (batches * row.n * row.k * getSize(bType) < kMinParallelRowBytes)
    compute(0, 1);
  else
    team.run(compute);
}

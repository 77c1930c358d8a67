// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CPU/TileMatmul.h"

#include "runtime/CPU/MatmulRows.h"

#include <oneapi/dnnl/dnnl.hpp>

using namespace tprt;

namespace {

/// The most bytes that a group of A's rows can hold: half of the second-level
/// cache of the smallest CPU with AMX. All columns of C are computed for one
/// group of rows before the next group.
constexpr int64_t kMostRowBytes = 1 << 20;
/// The most bytes of the tiles of a B that is not constant.
constexpr int64_t kMostVariableBytes = 8 << 20;
/// The number of panels of B that are multiplied by one block of A's rows
/// before the next block of A's rows. Two panels make 128 bytes of each row of
/// C if C is bf16: caches fetch lines in pairs.
constexpr int64_t kPanels = 2;
constexpr int64_t kStepBytes = 2 * kTileBytes; ///< A block's, of A or of B.
constexpr int64_t kElementBytes = 2;
constexpr int64_t kLineBytes = 64;

} // namespace

/// One product: its row of the Matmuls table, and the values that all parts of
/// the product share.
struct TileMatmul::Product {
  const Artifact &artifact;
  const MatmulRow &row;
  const MatmulPointers &pointers;
  const char *b; ///< Packed.
  int64_t steps, panels;
  int64_t groups;    ///< Of kPanels panels.
  bool readsInPlace; ///< A block of 16 or 32 rows of A needs no packing.
};

/// Returns the kernels for this CPU; null if it multiplies no bf16. oneDNN asks
/// the system whether this process may use AMX, and can be told to do without
/// (ONEDNN_MAX_CPU_ISA).
static const TileKernels *chooseTileKernels() {
#ifdef __x86_64__
  auto present = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  auto has = [&](dnnl::cpu_isa isa) {
    return (present & static_cast<unsigned>(isa)) == static_cast<unsigned>(isa);
  };
  if (has(dnnl::cpu_isa::avx512_core_amx))
    return &kTileKernels;
  if (has(dnnl::cpu_isa::avx512_core_bf16))
    return &kDotKernels;
#endif
  return nullptr;
}

/// Returns the number of different batches of B, and sets `shares`. The number
/// of a batch of B is the sum, over all batch dimensions i, of `shares[i]`
/// times the index along dimension i. If B repeats along dimension i,
/// `shares[i]` is 0.
static int64_t countBatches(const MatmulRow &row, int64_t *shares) {
  int64_t count = 1;
  for (unsigned i = kMaxBatch; i-- > 0;) {
    bool repeats = row.b.strides[i] == 0;
    shares[i] = repeats ? 0 : count;
    count *= repeats ? 1 : row.batch[i];
  }
  return count;
}

/// Returns the number of the batch of B that batch `batch` of C reads.
static int64_t getBatchOfB(const MatmulRow &row, int64_t batch) {
  int64_t shares[kMaxBatch], number = 0;
  countBatches(row, shares);
  for (unsigned i = kMaxBatch; i-- > 0; batch /= row.batch[i])
    number += batch % row.batch[i] * shares[i];
  return number;
}

static bool readSameTiles(const MatmulRow &one, const MatmulRow &other) {
  auto isEqual = [](const int64_t *a, const int64_t *b, unsigned count) {
    return std::equal(a, a + count, b);
  };
  return one.n == other.n && one.k == other.k &&
         isEqual(one.batch, other.batch, kMaxBatch) &&
         isEqual(one.b.strides, other.b.strides, kMaxBatch + 2);
}

/// Makes a buffer at least this large. Its bytes are not kept.
static absl::Status grow(AlignedBuffer &buffer, uint64_t size) {
  if (buffer.size() >= size)
    return absl::OkStatus();
  absl::StatusOr<AlignedBuffer> larger =
      AlignedBuffer::create(size, /*isZeroed=*/false);
  if (!larger.ok())
    return larger.status();
  buffer = *std::move(larger);
  return absl::OkStatus();
}

TileMatmul::TileMatmul(Team &team)
    : team(team), kernels(chooseTileKernels()), scratches(team.size()) {}

bool TileMatmul::suits(const MatmulRow &row) const {
  if (!kernels || row.a.dtype != DType::BF16 || row.b.dtype != DType::BF16)
    return false;
#ifdef __x86_64__
  // Without AMX, oneDNN is as fast for a single product with a bf16 result.
  if (kernels == &kDotKernels)
    return row.batch[0] * row.batch[1] * row.batch[2] > 1 ||
           row.c.dtype == DType::F32;
#endif
  return true;
}

void TileMatmul::forgetWeights() {
  packed.clear();
  packedPages.clear();
  packedBytes = 0;
}

void TileMatmul::packB(const MatmulRow &row, const char *b, char *tiles) {
  int64_t steps = divideUp(row.k, kTileDepth),
          panels = divideUp(row.n, kTileBlock);
  int64_t shares[kMaxBatch];
  int64_t batches = countBatches(row, shares);
  int64_t rowStride = getRowStride(row.b),
          columnStride = getColumnStride(row.b);
  TileSource source = {};
  // A dimension of size 1 may have any stride: then use the other dimension's.
  source.isAlongK = row.n > 1 ? columnStride != 1 : rowStride == 1;
  source.stride = source.isAlongK ? columnStride : rowStride;
  auto pack = [&](int part, int parts) {
    auto [first, last] = Team::split(batches * panels, part, parts);
    for (int64_t item = first; item < last; ++item) {
      int64_t offset = 0, batch = item / panels;
      for (unsigned i = kMaxBatch; i-- > 0;)
        if (shares[i] != 0) {
          offset += batch % row.batch[i] * row.b.strides[i];
          batch /= row.batch[i];
        }
      TileSource tile = source;
      const auto *from = reinterpret_cast<const uint16_t *>(b) + offset;
      char *to = tiles + item * steps * kStepBytes;
      for (int64_t step = 0; step < steps; ++step)
        for (int64_t half = 0; half < 2; ++half, to += kTileBytes) {
          int64_t column = item % panels * kTileBlock + half * kTileRows,
                  k = step * kTileDepth;
          tile.rows = std::clamp<int64_t>(row.n - column, 0, kTileRows);
          tile.depth = std::min(row.k - k, kTileDepth);
          tile.from = from + k * rowStride +
                      (tile.rows > 0 ? column * columnStride : 0);
          kernels->packB(tile, to);
        }
    }
  };
  if (batches * row.n * row.k < kMinParallelWork)
    pack(0, 1);
  else
    team.run(pack);
}

absl::StatusOr<const char *> TileMatmul::getPackedB(const MatmulRow &row,
                                                    const char *b) {
  int64_t shares[kMaxBatch];
  uint64_t size = countBatches(row, shares) * divideUp(row.n, kTileBlock) *
                  divideUp(row.k, kTileDepth) * kStepBytes;
  if (!row.constantB) {
    TPRT_RETURN_IF_ERROR(grow(variableB, size));
    packB(row, b, variableB.data());
    return variableB.data();
  }
  std::vector<PackedWeight> &forms = packed[b];
  for (const PackedWeight &form : forms)
    if (readSameTiles(form.row, row))
      return form.tiles;
  TPRT_ASSIGN_OR_RETURN(char *tiles, packedPages.allocate(size));
  packB(row, b, tiles);
  packedBytes += size;
  forms.push_back({row, tiles});
  return tiles;
}

/// Packs rows `begin` .. `end` of A by blocks of 32 rows: [block, step, 2
/// tiles].
void TileMatmul::packA(const Product &product, int64_t batch, int64_t begin,
                       int64_t end, char *tiles) {
  const MatmulRow &row = product.row;
  int64_t rowStride = getRowStride(row.a),
          columnStride = getColumnStride(row.a);
  const auto *from = reinterpret_cast<const uint16_t *>(product.pointers.a) +
                     getOffset(row, row.a, batch);
  TileSource tile = {};
  tile.isAlongK = row.k > 1 ? columnStride == 1 : rowStride != 1;
  tile.stride = tile.isAlongK ? rowStride : columnStride;
  for (int64_t block = begin; block < end; block += kTileBlock)
    for (int64_t step = 0; step < product.steps; ++step)
      for (int64_t half = 0; half < 2; ++half, tiles += kTileBytes) {
        int64_t first = block + half * kTileRows, k = step * kTileDepth;
        tile.rows = std::clamp<int64_t>(end - first, 0, kTileRows);
        tile.depth = std::min(row.k - k, kTileDepth);
        tile.from =
            from + k * columnStride + (tile.rows > 0 ? first * rowStride : 0);
        kernels->packA(tile, tiles);
      }
}

/// Computes rows `begin` .. `end` of a group of panels. If rows of A are
/// packed, scratch.a has them.
void TileMatmul::computePart(const Product &product, int64_t batch,
                             int64_t begin, int64_t end, int64_t group,
                             Scratch &scratch) {
  const MatmulRow &row = product.row;
  const char *a =
      product.pointers.a + getOffset(row, row.a, batch) * kElementBytes;
  int64_t panelBytes = product.steps * kStepBytes;
  int64_t firstPanel = group * kPanels,
          endPanel = std::min(firstPanel + kPanels, product.panels);
  const char *b =
      product.b + getBatchOfB(row, batch) * product.panels * panelBytes;
  TileBlock block = {};
  block.steps = product.steps;
  if (row.constantB) { // the next group comes from memory, not from the cache
    block.next = b + endPanel * panelBytes;
    block.nextLines =
        divideUp(kStepBytes / kLineBytes, divideUp(end - begin, kTileBlock));
  }
  for (int64_t first = begin; first < end; first += kTileBlock) {
    int64_t rows = std::min(end - first, kTileBlock);
    block.isTall = rows > kTileRows;
    if (product.readsInPlace && rows % kTileRows == 0) {
      block.rowBytes = getRowStride(row.a) * kElementBytes;
      block.a = a + first * block.rowBytes;
      block.lowerBytes = kTileRows * block.rowBytes;
      block.stepBytes = kTileDepth * kElementBytes;
    } else {
      // In place, only the last rows are packed.
      int64_t packed = product.readsInPlace ? 0 : (first - begin) / kTileBlock;
      block.a = scratch.a.data() + packed * panelBytes;
      block.rowBytes = kTileBytes / kTileRows;
      block.lowerBytes = kTileBytes;
      block.stepBytes = kStepBytes;
    }
    for (int64_t panel = firstPanel; panel < endPanel; ++panel) {
      block.b = b + panel * panelBytes;
      computeBlock(product, batch, first, rows, panel * kTileBlock, block,
                   scratch);
      block.next += product.steps * block.nextLines * kLineBytes;
    }
  }
}

/// Computes `rows` rows from `firstRow` on, and 32 columns or what is left of
/// them.
void TileMatmul::computeBlock(const Product &product, int64_t batch,
                              int64_t firstRow, int64_t rows,
                              int64_t firstColumn, TileBlock &block,
                              Scratch &scratch) {
  const MatmulRow &row = product.row;
  TileEpilogue epilogue = {};
  epilogue.rows = rows;
  epilogue.columns = std::min(row.n - firstColumn, kTileBlock);
  epilogue.isNarrow = row.c.dtype == DType::BF16;
  epilogue.rowStride = getRowStride(row.c);
  epilogue.c =
      product.pointers.c + (getOffset(row, row.c, batch) +
                            firstRow * epilogue.rowStride + firstColumn) *
                               getSize(row.c.dtype);
  if (!epilogue.isNarrow && scratch.postOps.empty() &&
      epilogue.columns == kTileBlock && rows % kTileRows == 0) {
    block.c = reinterpret_cast<float *>(epilogue.c);
    block.cRowBytes = epilogue.rowStride * sizeof(float);
    return kernels->multiply(block);
  }
  block.c = reinterpret_cast<float *>(scratch.sums.data());
  block.cRowBytes = kTileBlock * sizeof(float);
  kernels->multiply(block);

  size_t index = 0;
  for (const PostOpRow &postOp :
       product.artifact.rows<PostOpRow>(row.postOps)) {
    bool isC = postOp.kind == PostOpKind::Accumulate;
    const MatmulOperand &operand = isC ? row.c : postOp.operand;
    const char *data =
        isC ? product.pointers.c : product.pointers.postOps[index];
    TilePostOp &made = scratch.postOps[index++];
    if (made.kind != TilePostOp::Kind::Activate)
      made.data =
          data + (getOffset(row, operand, batch) + firstRow * made.rowStride +
                  firstColumn * made.columnStride) *
                     getSize(operand.dtype);
  }
  epilogue.sums = block.c;
  epilogue.postOps = scratch.postOps.data();
  epilogue.numPostOps = static_cast<int64_t>(scratch.postOps.size());
  kernels->finish(epilogue);
}

/// Returns the first of A's rows `begin` .. `end` that must be packed, or `end`
/// if no row must be packed. If A is read in place, at most the last block must
/// be packed: a last block of 16 or 32 rows needs no packing.
static int64_t getPackedBegin(bool readsInPlace, int64_t begin, int64_t end) {
  int64_t rows = end - begin;
  if (!readsInPlace)
    return begin;
  return rows % kTileRows == 0 ? end : begin + rows / kTileBlock * kTileBlock;
}

/// Returns the post-ops of a row, without their operands' addresses.
static std::vector<TilePostOp> makePostOps(const Artifact &artifact,
                                           const MatmulRow &row) {
  std::vector<TilePostOp> result;
  for (const PostOpRow &postOp : artifact.rows<PostOpRow>(row.postOps)) {
    TilePostOp made = {};
    if (std::optional<Activation> activation = getActivation(postOp.kind)) {
      made.kind = TilePostOp::Kind::Activate;
      made.activation = *activation;
    } else {
      const MatmulOperand &operand =
          postOp.kind == PostOpKind::Accumulate ? row.c : postOp.operand;
      made.kind = postOp.kind == PostOpKind::Multiply
                      ? TilePostOp::Kind::Multiply
                      : TilePostOp::Kind::Add;
      made.isNarrow = operand.dtype == DType::BF16;
      made.rowStride = getRowStride(operand);
      made.columnStride = getColumnStride(operand);
    }
    result.push_back(made);
  }
  return result;
}

/// A B that is not constant is packed in every run: some of its batches or
/// columns at a time, so that the tiles take little memory.
absl::Status TileMatmul::run(const Artifact &artifact, const MatmulRow &row,
                             const MatmulPointers &pointers) {
  int64_t shares[kMaxBatch];
  int64_t bytes = countBatches(row, shares) * divideUp(row.n, kTileBlock) *
                  divideUp(row.k, kTileDepth) * kStepBytes;
  if (row.constantB || bytes <= kMostVariableBytes)
    return runWhole(artifact, row, pointers);

  constexpr unsigned columns = kMaxBatch + 1; // of the strides
  unsigned dim = 0;
  while (dim < kMaxBatch && (row.batch[dim] == 1 || row.b.strides[dim] == 0))
    ++dim;
  if (dim == kMaxBatch) {
    dim = columns;
    if (row.n <= kPanels * kTileBlock)
      return runWhole(artifact, row, pointers);
  }
  auto getSizeOf = [&](MatmulRow &part) -> int64_t & {
    return dim == columns ? part.n : part.batch[dim];
  };
  MatmulRow first = row, second = row;
  int64_t size = getSizeOf(first);
  int64_t half = dim == columns ? divideUp(size / 2, kPanels * kTileBlock) *
                                      kPanels * kTileBlock
                                : size / 2;
  getSizeOf(first) = half;
  getSizeOf(second) = size - half;
  auto getBytes = [&](const MatmulOperand &operand) {
    return half * operand.strides[dim] * getSize(operand.dtype);
  };
  MatmulPointers behind = pointers;
  behind.a += dim == columns ? 0 : getBytes(row.a);
  behind.b += getBytes(row.b);
  behind.c += getBytes(row.c);
  std::vector<const char *> operands(pointers.postOps.begin(),
                                     pointers.postOps.end());
  absl::Span<const PostOpRow> postOps = artifact.rows<PostOpRow>(row.postOps);
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i])
      operands[i] += getBytes(postOps[i].operand);
  behind.postOps = operands;
  TPRT_RETURN_IF_ERROR(run(artifact, first, pointers));
  return run(artifact, second, behind);
}

absl::Status TileMatmul::runWhole(const Artifact &artifact,
                                  const MatmulRow &row,
                                  const MatmulPointers &pointers) {
  absl::StatusOr<const char *> b = getPackedB(row, pointers.b);
  if (!b.ok())
    return b.status();
  Product product = {artifact,
                     row,
                     pointers,
                     *b,
                     divideUp(row.k, kTileDepth),
                     divideUp(row.n, kTileBlock),
                     divideUp(row.n, kPanels * kTileBlock),
                     getColumnStride(row.a) == 1 && row.k % kTileDepth == 0};
  int64_t batches = row.batch[0] * row.batch[1] * row.batch[2];

  // All columns are computed for some rows of A before the next rows. If there
  // are enough rows, each thread takes rows of its own. Other ops divide rows
  // among threads in the same way, so these rows are in the core's cache.
  int64_t blockBytes = product.steps * kStepBytes;
  int64_t blocks = divideUp(row.m, kTileBlock);
  int64_t height = std::clamp<int64_t>(kMostRowBytes / blockBytes, 1,
                                       divideUp(blocks, team.size()));
  int64_t wanted = kMinPartsPerThread * team.size();
  while (height > 1 &&
         batches * divideUp(blocks, height) * product.groups < wanted)
    height = divideUp(height, 2);
  int64_t heights = divideUp(blocks, height);

  for (Scratch &scratch : scratches) {
    TPRT_RETURN_IF_ERROR(
        grow(scratch.a, (product.readsInPlace ? 1 : height) * blockBytes));
    TPRT_RETURN_IF_ERROR(
        grow(scratch.sums, kTileBlock * kTileBlock * sizeof(float)));
    scratch.postOps = makePostOps(artifact, row);
  }
  auto compute = [&](int thread, int threads) {
    auto [first, last] =
        Team::split(batches * heights * product.groups, thread, threads);
    Scratch &scratch = scratches[thread];
    kernels->start();
    for (int64_t item = first, current = -1; item < last; ++item) {
      int64_t part = item / product.groups; // a batch's rows
      int64_t batch = part / heights;
      int64_t begin = part % heights * height * kTileBlock;
      int64_t end = std::min(begin + height * kTileBlock, row.m);
      if (part != current) {
        current = part;
        packA(product, batch, getPackedBegin(product.readsInPlace, begin, end),
              end, scratch.a.data());
      }
      computePart(product, batch, begin, end, item % product.groups, scratch);
    }
    kernels->stop();
  };
  if (batches * row.m * row.n * row.k < kMinParallelWork)
    compute(0, 1);
  else
    team.run(compute);
  return absl::OkStatus();
}

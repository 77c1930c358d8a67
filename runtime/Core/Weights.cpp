// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/Weights.h"

#include "runtime/Core/Errors.h"
#include "runtime/Core/Hash.h"
#include "runtime/Core/Shapes.h"
#include "runtime/Core/StridedCopy.h"
#include "runtime/Core/Thread.h"

#include "absl/strings/str_join.h"

#include <algorithm>

using namespace tprt;

namespace {

/// A dimension that another layout splits into factors: the size of each
/// factor, major first, and its stride in that layout.
struct Factored {
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

/// The elements [begin, end) that a rank holds of a dimension.
struct Interval {
  int64_t begin, end;
};

} // namespace

static std::vector<Interval> getBlock(const Artifact &artifact, Range dims,
                                      int64_t rank) {
  std::vector<Interval> block;
  for (const DimRow &dim : artifact.rows<DimRow>(dims)) {
    int64_t begin = artifact.getPosition(dim.axes, rank) * dim.local;
    block.push_back(
        {std::min(begin, dim.global), std::min(begin + dim.local, dim.global)});
  }
  return block;
}

/// Calls body(blockOffset, blockStrides, otherOffset, otherStrides, sizes), all
/// in elements, for boxes that together make up the block.
template <typename Body>
static void forEachBox(absl::Span<const Interval> block,
                       absl::Span<const int64_t> blockStrides,
                       absl::Span<const Factored> dims, Body body) {
  std::vector<std::vector<Box>> boxes;
  for (size_t i = 0; i < dims.size(); ++i) {
    boxes.push_back(splitInterval(block[i].begin, block[i].end, dims[i].sizes));
    if (boxes.back().empty())
      return; // the rank holds only padding
  }
  std::vector<size_t> choice(dims.size());
  while (true) {
    int64_t blockOffset = 0, otherOffset = 0;
    std::vector<int64_t> sizes, strides, otherStrides;
    for (size_t i = 0; i < dims.size(); ++i) {
      const Box &box = boxes[i][choice[i]];
      std::vector<int64_t> inDim = getStrides(dims[i].sizes);
      blockOffset -= block[i].begin * blockStrides[i];
      for (size_t f = 0; f < dims[i].sizes.size(); ++f) {
        blockOffset += box.start[f] * inDim[f] * blockStrides[i];
        otherOffset += box.start[f] * dims[i].strides[f];
        sizes.push_back(box.size[f]);
        strides.push_back(inDim[f] * blockStrides[i]);
        otherStrides.push_back(dims[i].strides[f]);
      }
    }
    body(blockOffset, strides, otherOffset, otherStrides, sizes);
    size_t dim = dims.size();
    while (dim > 0 && ++choice[dim - 1] == boxes[dim - 1].size())
      choice[--dim] = 0;
    if (dim == 0)
      return;
  }
}

/// Returns the dimensions of a dense row-major tensor. Each has one factor, the
/// dimension itself.
static std::vector<Factored> getDense(absl::Span<const int64_t> shape) {
  std::vector<int64_t> strides = getStrides(shape);
  std::vector<Factored> dims(shape.size());
  for (size_t i = 0; i < shape.size(); ++i)
    dims[i] = {{shape[i]}, {strides[i]}};
  return dims;
}

/// Divides the rank's block into boxes, and calls `body` for each, with its
/// place in the block and in the whole dense tensor.
template <typename Body>
static void forEachDenseBox(const Artifact &artifact, Range dims, int64_t rank,
                            Body body) {
  forEachBox(getBlock(artifact, dims, rank),
             getStrides(artifact.getLocalShape(dims)),
             getDense(artifact.getGlobalShape(dims)), body);
}

/// This many bytes of a stored tensor are held at once.
static constexpr int64_t kBuffer = 1 << 20;
/// Up to this many bytes are read at once even if few of them are needed.
static constexpr int64_t kSmallRead = 1 << 14;

/// Copies a box of a stored tensor, from element `offset` on, to a block.
/// Splits the box in half if the buffer cannot hold it, or if too many unneeded
/// bytes would be read.
static absl::Status readBox(const TensorReader &tensor, int64_t offset,
                            absl::Span<const int64_t> storedStrides,
                            DType dtype, char *block,
                            absl::Span<const int64_t> strides,
                            const std::vector<int64_t> &sizes, char *buffer) {
  int64_t span = 1, count = 1;
  size_t longest = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t length = (sizes[i] - 1) * storedStrides[i];
    span += length;
    count *= sizes[i];
    if (length > (sizes[longest] - 1) * storedStrides[longest])
      longest = i;
  }
  int64_t storedSize = getSize(tensor.dtype), bytes = span * storedSize;
  bool isDense = span <= 4 * count;
  if (bytes <= (isDense ? kBuffer : kSmallRead)) {
    TPRT_RETURN_IF_ERROR(tensor.read(offset * storedSize, bytes, buffer));
    copyStrided(dtype, block, strides, tensor.dtype, buffer, storedStrides,
                sizes);
    return absl::OkStatus();
  }
  int64_t half = sizes[longest] / 2;
  std::vector<int64_t> part = sizes;
  part[longest] = half;
  TPRT_RETURN_IF_ERROR(readBox(tensor, offset, storedStrides, dtype, block,
                               strides, part, buffer));
  part[longest] = sizes[longest] - half;
  return readBox(tensor, offset + half * storedStrides[longest], storedStrides,
                 dtype, block + half * strides[longest] * getSize(dtype),
                 strides, part, buffer);
}

static absl::Status checkStored(absl::string_view name,
                                absl::Span<const int64_t> wanted, DType dtype,
                                const TensorReader &tensor) {
  if (wanted != absl::MakeConstSpan(tensor.shape))
    return makeError(ErrorCode::WeightsShape, "tensor '", name,
                     "' is stored as [", absl::StrJoin(tensor.shape, ", "),
                     "], but the program was compiled for [",
                     absl::StrJoin(wanted, ", "), "]");
  if (!canConvert(tensor.dtype, dtype))
    return makeError(ErrorCode::WeightsDType, "tensor '", name,
                     "' is stored as ", getName(tensor.dtype),
                     ", which cannot be converted to ", getName(dtype));
  return absl::OkStatus();
}

namespace {

/// The location, in a stored tensor, of the elements of an input or of one part
/// of an input.
struct StoredPart {
  int64_t base; ///< The offset of the first element.
  std::vector<Factored> dims;
};

} // namespace

static StoredPart locate(const Artifact &artifact, const SourceRow &source,
                         absl::Span<const int64_t> shape) {
  absl::Span<const int64_t> view = artifact.integers(source.view);
  std::vector<int64_t> viewStrides = getStrides(view);
  StoredPart part{0, std::vector<Factored>(shape.size())};
  std::vector<int64_t> permuted, permutedStrides;
  for (size_t i = 0; i < view.size(); ++i) {
    int64_t from = artifact.integers(source.permutation)[i];
    part.base += artifact.integers(source.start)[i] * viewStrides[i];
    permuted.push_back(artifact.integers(source.size)[from]);
    permutedStrides.push_back(artifact.integers(source.step)[from] *
                              viewStrides[from]);
  }
  std::vector<ReshapeFactor> factors = *factorReshape(permuted, shape);
  // Goes from the minor end, so that a factor's stride is its dimension's
  // stride times the factors of that dimension seen so far.
  for (size_t i = factors.size(); i-- > 0;) {
    const ReshapeFactor &factor = factors[i];
    part.dims[factor.to].sizes.push_back(factor.size);
    part.dims[factor.to].strides.push_back(permutedStrides[factor.from]);
    permutedStrides[factor.from] *= factor.size;
  }
  for (Factored &dim : part.dims) {
    std::reverse(dim.sizes.begin(), dim.sizes.end());
    std::reverse(dim.strides.begin(), dim.strides.end());
  }
  return part;
}

absl::Status tprt::loadSources(const Artifact &artifact, const InputRow &input,
                               int64_t rank,
                               absl::Span<const TensorReader> tensors,
                               char *block) {
  absl::Span<const SourceRow> sources = artifact.rows<SourceRow>(input.sources);
  for (size_t i = 0; i < sources.size(); ++i)
    TPRT_RETURN_IF_ERROR(checkStored(artifact.text(sources[i].tensor),
                                     artifact.integers(sources[i].stored),
                                     input.dtype, tensors[i]));
  std::memset(block, 0, artifact.getLocalBytes(input));
  TPRT_ASSIGN_OR_RETURN(AlignedBuffer buffer,
                        AlignedBuffer::create(kBuffer, /*isZeroed=*/false));
  std::vector<int64_t> shape = artifact.getGlobalShape(input.dims);
  std::vector<int64_t> blockStrides =
      getStrides(artifact.getLocalShape(input.dims));
  std::vector<Interval> whole = getBlock(artifact, input.dims, rank);
  int64_t size = getSize(input.dtype), begin = 0;
  absl::Status status;
  for (size_t i = 0; i < sources.size() && status.ok(); ++i) {
    // The elements of this part that are in the block, counted from the start
    // of the part.
    std::vector<Interval> own = whole;
    char *to = block;
    if (sources.size() > 1) {
      int64_t extent = shape[input.joined] = sources[i].extent;
      Interval &cut = own[input.joined];
      cut = {std::clamp<int64_t>(cut.begin - begin, 0, extent),
             std::clamp<int64_t>(cut.end - begin, 0, extent)};
      int64_t first = begin + cut.begin - whole[input.joined].begin;
      begin += extent;
      if (cut.begin == cut.end)
        continue;
      to += first * blockStrides[input.joined] * size;
    }
    StoredPart part = locate(artifact, sources[i], shape);
    forEachBox(
        own, blockStrides, part.dims,
        [&](int64_t offset, absl::Span<const int64_t> strides,
            int64_t storedOffset, absl::Span<const int64_t> storedStrides,
            absl::Span<const int64_t> sizes) {
          if (status.ok())
            status =
                readBox(tensors[i], part.base + storedOffset, storedStrides,
                        input.dtype, to + offset * size, strides,
                        {sizes.begin(), sizes.end()}, buffer.data());
        });
  }
  return status;
}

absl::Status tprt::loadWhole(const Artifact &artifact, const InputRow &input,
                             int64_t rank, const TensorReader &tensor,
                             char *block) {
  TPRT_RETURN_IF_ERROR(checkStored(artifact.text(input.name),
                                   artifact.getGlobalShape(input.dims),
                                   input.dtype, tensor));
  std::memset(block, 0, artifact.getLocalBytes(input));
  TPRT_ASSIGN_OR_RETURN(AlignedBuffer buffer,
                        AlignedBuffer::create(kBuffer, /*isZeroed=*/false));
  absl::Status status;
  forEachDenseBox(
      artifact, input.dims, rank,
      [&](int64_t offset, absl::Span<const int64_t> strides,
          int64_t wholeOffset, absl::Span<const int64_t> wholeStrides,
          absl::Span<const int64_t> sizes) {
        if (status.ok())
          status = readBox(tensor, wholeOffset, wholeStrides, input.dtype,
                           block + offset * getSize(input.dtype), strides,
                           {sizes.begin(), sizes.end()}, buffer.data());
      });
  return status;
}

void tprt::storeSources(const Artifact &artifact, const InputRow &input,
                        const char *whole,
                        absl::Span<const StoredBytes> tensors) {
  absl::Span<const SourceRow> sources = artifact.rows<SourceRow>(input.sources);
  std::vector<int64_t> shape = artifact.getGlobalShape(input.dims);
  std::vector<int64_t> wholeStrides = getStrides(shape);
  const char *from = whole;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (sources.size() > 1)
      shape[input.joined] = sources[i].extent;
    std::vector<Interval> all;
    for (int64_t size : shape)
      all.push_back({0, size});
    StoredPart part = locate(artifact, sources[i], shape);
    StoredBytes to = tensors[i];
    forEachBox(
        all, wholeStrides, part.dims,
        [&](int64_t offset, absl::Span<const int64_t> strides,
            int64_t storedOffset, absl::Span<const int64_t> storedStrides,
            absl::Span<const int64_t> sizes) {
          copyStrided(to.dtype,
                      to.data + (part.base + storedOffset) * getSize(to.dtype),
                      storedStrides, input.dtype,
                      from + offset * getSize(input.dtype), strides, sizes);
        });
    if (sources.size() > 1)
      from +=
          sources[i].extent * wholeStrides[input.joined] * getSize(input.dtype);
  }
}

void tprt::scatterBlock(const Artifact &artifact, Range dims, DType dtype,
                        int64_t rank, const char *whole, char *block) {
  std::vector<int64_t> local = artifact.getLocalShape(dims);
  int64_t size = getSize(dtype);
  std::memset(block, 0, *getNumElements(local) * size);
  forEachDenseBox(
      artifact, dims, rank,
      [&](int64_t offset, absl::Span<const int64_t> strides,
          int64_t wholeOffset, absl::Span<const int64_t> wholeStrides,
          absl::Span<const int64_t> sizes) {
        copyStrided(dtype, block + offset * size, strides, dtype,
                    whole + wholeOffset * size, wholeStrides, sizes);
      });
}

void tprt::gatherBlock(const Artifact &artifact, Range dims, DType dtype,
                       int64_t rank, const char *block, char *whole) {
  int64_t size = getSize(dtype);
  forEachDenseBox(artifact, dims, rank,
                  [&](int64_t offset, absl::Span<const int64_t> strides,
                      int64_t wholeOffset,
                      absl::Span<const int64_t> wholeStrides,
                      absl::Span<const int64_t> sizes) {
                    copyStrided(dtype, whole + wholeOffset * size, wholeStrides,
                                dtype, block + offset * size, strides, sizes);
                  });
}

/// Calls body with a function that makes an element from 64 random bits.
template <typename Body>
static void withRandom(DType dtype, float scale, Body body) {
  // 24 bits give a float in [-1, 1) exactly.
  auto makeFloat = [scale](uint64_t random) {
    return (static_cast<float>(random >> 40) * 0x1p-23f - 1.0f) * scale;
  };
  switch (dtype) {
  case DType::F64:
    return body([=](uint64_t r) { return double{makeFloat(r)}; });
  case DType::F32:
    return body(makeFloat);
  case DType::BF16:
    return body([=](uint64_t r) { return BFloat16(makeFloat(r)); });
  case DType::F16:
    return body([=](uint64_t r) { return Float16(makeFloat(r)); });
  case DType::F8E4M3FN:
  case DType::F8E5M2: // one magnitude, either sign
    return body([](uint64_t r) { return uint8_t(r >> 63 << 7 | 0x30); });
  case DType::Bool:
    return body([](uint64_t r) { return uint8_t(r >> 63); });
  default:
    break;
  }
  switch (getSize(dtype)) {
  case 1:
    return body([](uint64_t r) { return uint8_t(r >> 61); });
  case 2:
    return body([](uint64_t r) { return uint16_t(r >> 61); });
  case 4:
    return body([](uint64_t r) { return uint32_t(r >> 61); });
  default:
    return body([](uint64_t r) { return r >> 61; });
  }
}

/// Calls body(begin, end) for parts of [0, count), on `parts` threads.
template <typename Body>
static void forParts(int64_t count, int64_t parts, Body body) {
  std::vector<Thread> threads;
  int64_t begun = count / parts;
  for (int64_t part = 1; part < parts; ++part) {
    int64_t end = count * (part + 1) / parts;
    auto thread = Thread::start([=] { body(begun, end); });
    if (!thread.ok())
      break; // this thread does the rest
    threads.push_back(*std::move(thread));
    begun = end;
  }
  body(0, count / parts);
  body(begun, count);
}

std::vector<BlockRows> tprt::getBlockRows(const Artifact &artifact, Range dims,
                                          int64_t rank) {
  std::vector<BlockRows> result;
  forEachDenseBox(
      artifact, dims, rank,
      [&](int64_t block, absl::Span<const int64_t> strides, int64_t whole,
          absl::Span<const int64_t> wholes, absl::Span<const int64_t> sizes) {
        // Merge dimensions that are contiguous with each other in both views,
        // starting at the minor end.
        struct Dim {
          int64_t size, stride, whole;
        };
        std::vector<Dim> merged{{1, 1, 1}};
        for (size_t i = sizes.size(); i-- > 0;) {
          Dim &last = merged.back();
          if (strides[i] == last.size * last.stride &&
              wholes[i] == last.size * last.whole)
            last.size *= sizes[i];
          else if (sizes[i] != 1)
            merged.push_back({sizes[i], strides[i], wholes[i]});
        }
        Dim rows = merged.size() > 1 ? merged[1] : Dim{1, 0, 0};
        int64_t count = 1;
        for (size_t i = 2; i < merged.size(); ++i)
          count *= merged[i].size;
        for (int64_t turn = 0; turn < count; ++turn) {
          BlockRows piece = {rows.size,   merged[0].size, block,
                             rows.stride, whole,          rows.whole};
          int64_t left = turn;
          for (size_t i = 2; i < merged.size(); left /= merged[i++].size) {
            piece.block += left % merged[i].size * merged[i].stride;
            piece.whole += left % merged[i].size * merged[i].whole;
          }
          result.push_back(piece);
        }
      });
  return result;
}

void tprt::fillRandom(const BlockRows &rows, DType dtype, uint64_t seed,
                      float scale, int threads, char *block) {
  withRandom(dtype, scale, [&](auto make) {
    using Element = decltype(make(uint64_t{}));
    auto fillPart = [&](int64_t begin, int64_t end) {
      while (begin < end) {
        int64_t row = begin / rows.columns, column = begin % rows.columns;
        int64_t count = std::min(rows.columns - column, end - begin);
        auto place =
            static_cast<uint64_t>(rows.whole + row * rows.wholeStride + column);
        char *to = block + (rows.block + row * rows.blockStride + column) *
                               static_cast<int64_t>(sizeof(Element));
        for (int64_t i = 0; i < count; ++i, to += sizeof(Element)) {
          Element element =
              make(mix(seed ^ mix(place + static_cast<uint64_t>(i))));
          std::memcpy(to, &element, sizeof(Element));
        }
        begin += count;
      }
    };
    // Below this size, starting a thread is not worthwhile.
    constexpr int64_t smallest = 1 << 16;
    int64_t count = rows.rows * rows.columns;
    forParts(count, std::clamp<int64_t>(count / smallest, 1, threads),
             fillPart);
  });
}

void tprt::fillRandom(const Artifact &artifact, Range dims, DType dtype,
                      int64_t rank, uint64_t seed, float scale, int threads,
                      char *block) {
  std::vector<int64_t> local = artifact.getLocalShape(dims);
  std::memset(block, 0, *getNumElements(local) * getSize(dtype));
  for (const BlockRows &rows : getBlockRows(artifact, dims, rank))
    fillRandom(rows, dtype, seed, scale, threads, block);
}

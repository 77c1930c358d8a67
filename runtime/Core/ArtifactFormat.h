// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The bytes of a `.tpx` artifact: everything that the compiler hands to
/// the runtime. Writer and reader share these structs.
///
/// An artifact is what *one* device executes, in order; every device executes
/// the same (SPMD), and what differs between devices is derived from the mesh:
/// which block of an input it holds, which group it communicates in, the
/// coordinates its kernels see.
///
///     FileHeader | SectionRow x sectionCount | sections, each 64-byte aligned
///
/// A section is an array of rows of one of the structs below, or plain bytes.
/// Rows refer to each other by index and by `Range` (a slice of another
/// section). All integers are little-endian. Nothing is parsed: the file is
/// read into memory, checked once (ArtifactVerifier.cpp) and used in place. Its
/// code is native and runs unchecked, and checksums detect only accidental
/// damage: an artifact must be trusted as much as a program. A reader skips
/// sections of a kind it does not know, so a new kind does not need a new
/// version of the format, but a changed row does.
///
/// Example, everything needed for `y = all_reduce(x * w)` on two devices:
///
///     MeshAxes        {"model", 2, link 0}
///     Communicators   {axes: [model:(1)2]}
///     Inputs          x f32 [4][8 over model], w f32 [8 over model][3]
///     Outputs         y f32 [4][3]
///     Matmuls         m=4 n=3 k=4, A = input 0, B = input 1, C = arena +0
///     Collectives     all_reduce sum f32 count=12, arena +0 -> output 0
///     Steps           Matmul 0, CollectiveStart 0, CollectiveDone 0
///     Entries         {"main", inputs [0, 1], outputs, steps 0..2, arena 48}
///
/// Units: offsets and sizes of buffers are bytes; counts, extents and strides
/// are elements. A dimension of n elements over k devices is a flat block:
/// ceil(n/k) elements on each, the tail padded with zeros.

#ifndef TPRT_CORE_ARTIFACTFORMAT_H
#define TPRT_CORE_ARTIFACTFORMAT_H

#include "runtime/Core/DType.h"

#include <cstdint>

namespace tprt {

/// Like the start of a PNG file, this contains a byte that cannot occur in
/// text, and line ends that a transfer in text mode would change.
inline constexpr char kMagic[8] = {'\x89', 'T',  'P',    'X',
                                   '\r',   '\n', '\x1a', '\n'};
inline constexpr uint32_t kFormatVersion = 7;
inline constexpr uint64_t kSectionAlignment = 64;
/// Means "no row" in fields that may refer to none.
inline constexpr uint32_t kNone = ~0u;

struct FileHeader {
  char magic[8];
  uint32_t version;
  uint32_t sectionCount;
  uint64_t fileSize;
  /// The hashBytes of the section table. As the table holds the checksum of
  /// every section, this identifies the whole program: ranks compare it before
  /// they start.
  uint64_t checksum;
  uint8_t reserved[32];
};
static_assert(sizeof(FileHeader) == 64);

enum class SectionKind : uint32_t {
// The sections of rows: one for each TPRT_ROWS of ArtifactEnums.def.
#define TPRT_ROWS(section, number, Row) section = number,
#include "runtime/Core/ArtifactEnums.def"
  // Sections of bytes.
  Text = 64,          ///< All names.
  Constants = 65,     ///< Read-only data of Space::Constant.
  ObjectCode = 66,    ///< A shared object (ELF) that defines the kernels.
  CpuFeatures = 67,   ///< Architecture and features: "x86_64:avx2,fma".
  LocalProgram = 68,  ///< MLIR bytecode of the per-device program; not used.
  GlobalProgram = 69, ///< MLIR bytecode of the whole program; not used.
  Target = 70,        ///< The target, one of the names below.
  GpuCode = 71,       ///< Contains the GpuImages.
};

inline constexpr char kCpuTarget[] = "cpu";
inline constexpr char kCudaTarget[] = "cuda";
inline constexpr char kInterpreterTarget[] = "interpreter"; ///< Has no steps.

struct SectionRow {
  SectionKind kind;
  uint32_t rowSize; ///< sizeof the row struct; 1 for bytes.
  uint64_t offset;  ///< From the start of the file, a multiple of 64.
  uint64_t size;    ///< Bytes.
  uint64_t checksum;
};
static_assert(sizeof(SectionRow) == 32);

/// A slice of the bytes of the Text section.
struct TextRef {
  uint32_t offset = 0;
  uint32_t size = 0;
};

/// Rows first .. first+count-1 of the section that the field names.
struct Range {
  uint32_t first = 0;
  uint32_t count = 0;
};

//===-- The mesh ----------------------------------------------------------===//

/// The largest number of devices in a mesh.
inline constexpr int64_t kMaxDevices = int64_t{1} << 20;

/// Places in the mesh are numbered row-major, with the first axis slowest. Rank
/// r is device r, and has place r unless the Devices section says otherwise.
///
/// Collectives along an axis use its link. Axes of equal speed have one link.
/// Links are numbered from 0, in the order of axes. A link carries one
/// collective at a time, and a collective along axes with several links uses
/// all of them. Different links can be in use at the same time; on a GPU, one
/// collective is in flight, on any link.
struct MeshAxis {
  TextRef name;
  int64_t size;
  uint32_t link = 0;
  uint32_t reserved = 0;
};

/// A row of the Devices section: row p holds the rank at place p of the mesh.
/// The section is empty, or has one row for each place.
struct DeviceRow {
  uint32_t rank;
};

/// An axis or a part of one, see tp::AxisRef: the axis is read as a grid of pre
/// x size x rest, and this is the middle dimension of the grid.
struct AxisRefRow {
  uint32_t axis;
  uint32_t reserved = 0;
  int64_t pre;
  int64_t size;
};

/// The ranks that differ only along these axes form a group. A rank's position
/// in its group is its place along the axes, with the first axis most
/// significant. Every rank makes the communicators at load, in table order.
struct CommunicatorRow {
  Range axes; ///< AxisRefs.
};

//===-- Inputs and outputs ------------------------------------------------===//

/// One dimension of a tensor that is distributed in flat blocks.
struct DimRow {
  int64_t global;
  int64_t local; ///< ceil(global / devices along the axes).
  Range axes;    ///< AxisRefs, major first.
};

/// How to make an input, or a part of one, from a stored tensor: view the
/// stored tensor (dense, row major) as `view`, take from each dimension of the
/// view the `size` elements start, start+step and so on, permute the
/// dimensions, and read the result with the global shape of the input, or of
/// the part. Dimension i of the permuted tensor is dimension permutation[i] of
/// the view. The last operation may only merge and split dimensions.
///
/// The query part of a fused [heads*3*128, hidden] weight, wanted as
/// [hidden, heads, 128]: view [heads, 3, 128, hidden], start [0, 0, 0, 0], size
/// [heads, 1, 128, hidden], permutation [3, 0, 1, 2]; the 1 is merged away.
struct SourceRow {
  TextRef tensor; ///< Its name in the safetensors files.
  Range stored;   ///< Integers: the shape that the file must have.
  Range view;     ///< Integers, as are those below.
  Range start;
  Range size;
  Range step;
  Range permutation;
  int64_t extent; ///< Of a part, along InputRow::joined; else unused.
};

/// The purpose of an input, which the attribute `tp.role` gives in a program.
enum class Role : uint32_t {
  Input = 0,     ///< Bound by the caller before a run that needs a new value.
  Parameter = 1, ///< A weight: constant unless an entry overwrites it.
  // If an entry overwrites the input, its value is kept between runs
  // (Artifact::isKept): it is zero at first, and then has the value that the
  // last run left. Otherwise the caller binds the input.
  State = 2,
  KVCache = 3,
  Gradient = 4,
  OptimizerState = 5,
};
inline constexpr uint32_t kNumRoles = 6;

/// On each rank, an input has one storage, which all entries share.
struct InputRow {
  TextRef name;
  Role role;
  DType dtype;
  Range dims; ///< Dims.
  /// Sources: the stored tensors from which the input is loaded. If there are
  /// several, each holds one part of the input, and the parts are joined along
  /// dimension `joined`. Without sources, a parameter is loaded from the tensor
  /// that has its name, if the files have one.
  Range sources;
  uint32_t joined = 0;
  uint32_t reserved = 0;
};

/// Inputs whose storages are interleaved, so that one matrix product can use
/// all of them: row r of the bundle consists of row r of each member, in order.
/// A member has no other storage, has the bundle's element type, and no output
/// overwrites it.
///
/// q [2][4] and k [2][2] in two rows:   q q q q k k | q q q q k k
struct BundleRow {
  Range members; ///< Integers: indices of Inputs.
  int64_t rows;  ///< Divides the number of elements of each member.
};

struct OutputRow {
  TextRef name;
  DType dtype;
  uint32_t alias; ///< The donated input whose storage is used, or kNone.
  Range dims;     ///< Dims.
  /// Sources: if the output is a slice of a larger tensor along one dimension,
  /// this is one row, which names the tensor and the slice. It is empty if the
  /// output is a whole tensor. The slices of a tensor are consecutive outputs.
  Range part = {};
};

//===-- Operands of steps -------------------------------------------------===//

enum class Space : uint32_t {
  Arena = 0,    ///< The rank's scratch memory; `index` is 0.
  Input = 1,    ///< Inputs[index], not in a bundle; written only if an
                ///< output aliases it.
  Output = 2,   ///< Outputs[index], one without an alias.
  Constant = 3, ///< The Constants section, read-only; `index` is 0.
  Bundle = 4,   ///< Bundles[index], read-only.
};

/// `size` bytes at `offset` of a space. With a `counter`, the buffer's address
/// advances by `step` bytes (which may be negative) for each finished iteration
/// of the enclosing loop that counts in `counter`, as with one layer's slice of
/// stacked weights. With a `place`, the address advances by `step` bytes times
/// the position that this PlaceRow gives for the rank, as with a rank's own
/// block of a tensor that the rank holds completely. The arena has the same
/// layout on all ranks.
struct BufferRow {
  Space space = Space::Arena;
  uint32_t index = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  int64_t step = 0;
  uint32_t counter = kNone; ///< kNone if there is a place.
  uint32_t place = kNone;   ///< Places.
};

/// The position along `axes` that is `plus` positions after that of the rank,
/// with wraparound: with 4 positions and a `plus` of 1, rank 3 gets position 0.
struct PlaceRow {
  Range axes;   ///< AxisRefs.
  int64_t plus; ///< 0 .. group size - 1.
};

enum class ScalarKind : uint32_t {
  Constant = 0,   ///< value
  Coordinate = 1, ///< This rank's position along AxisRefs[index].
  Counter = 2,    ///< Finished trips of the loop that counts in `index`.
};

struct ScalarRow {
  ScalarKind kind;
  uint32_t index = 0;
  int64_t value = 0;
};

//===-- Steps -------------------------------------------------------------===//

/// A function of the object code, or of the GPU's images (LaunchRow). On a CPU:
///
///     int32_t f(void *const *buffers, const int64_t *scalars,
///               int64_t rowBegin, int64_t rowEnd);
///
/// It returns 0, or a number that becomes part of the error message.
struct KernelRow {
  TextRef symbol;
};

inline constexpr uint32_t kMaxGpuThreads = 1024;

/// How a kernel of an image is launched on a GPU. The table has one row per
/// kernel for the first image, then for the next, and so on. The kernel is a
/// function
///
///     void f(void *operand0, .., int64_t scalar0, ..)
///
/// with one pointer per buffer of the call and one word per scalar. It
/// processes all rows in one launch, whatever range the call gives.
struct LaunchRow {
  int64_t blocks;       ///< Along x; less than 2^31.
  uint32_t threads;     ///< Per block, along x; at most 1024.
  uint32_t sharedBytes; ///< In addition to what the kernel declares.
};

enum class Reduction : uint32_t { None = 0, Sum = 1, Max = 2, Min = 3 };

/// A kernel that reduces the payloads of a group whose ranks share one GPU:
///
///     void f(void *source0, .., void *destination, i64 elements)
///
/// with one source for each position, reduced in that order as CollectiveRow
/// says. Pointers are aligned to the element size. The kernel processes any
/// number of elements with the number of blocks in its LaunchRow. The
/// destination may be one of the sources.
struct CombineRow {
  uint32_t kernel;
  DType dtype;
  Reduction reduction;
  uint32_t groupSize;
};

/// A kernel that fills a block of this type with random numbers (Weights.h):
///
///     void f(void *to, i64 rows, i64 columns, i64 stride, i64 whole,
///            i64 wholeStride, i64 scale, i64 seed)
///
/// Element j of row i is at i * stride + j of the block, and is element `whole`
/// + i * wholeStride + j of the whole tensor, whose numbers are those of
/// fillRandom. `scale` holds the bits of the scale. The kernel processes any
/// number of elements with the number of blocks in its LaunchRow.
struct RandomRow {
  uint32_t kernel;
  DType dtype;
};

enum class GpuImageKind : uint32_t {
  Ptx = 0,   ///< Text, which the driver compiles for any later chip.
  Cubin = 1, ///< Code for one chip and later minor versions of it.
};

/// All kernels, for one chip. The image for a chip with a suffix ("sm_90a")
/// runs only on exactly that chip.
struct GpuImageRow {
  GpuImageKind kind;
  uint32_t chip;   ///< 10 * major + minor: 90.
  TextRef name;    ///< "sm_90".
  uint64_t offset; ///< In the GpuCode section.
  uint64_t size;
};

struct KernelCallRow {
  uint32_t kernel;
  uint32_t firstWritten; ///< Operands from this index on may be written.
  Range buffers;         ///< Buffers.
  Range scalars;         ///< Scalars.
  int64_t rowBegin;
  int64_t rowEnd;
};

inline constexpr unsigned kMaxBatch = 3;

/// Strides are in the order batch.., row, column; a broadcast dimension has
/// stride 0.
struct MatmulOperand {
  BufferRow buffer;
  DType dtype;
  uint32_t reserved = 0;
  int64_t strides[kMaxBatch + 2];
};

/// An operation after a matrix product. ArtifactEnums.def lists all such
/// operations as TPRT_POST_OP.
enum class PostOpKind : uint32_t {
#define TPRT_POST_OP(enumerator, number) enumerator = number,
#include "runtime/Core/ArtifactEnums.def"
};
inline constexpr uint32_t kNumPostOps = 0
#define TPRT_POST_OP(enumerator, number) +1
#include "runtime/Core/ArtifactEnums.def"
    ;

struct PostOpRow {
  PostOpKind kind;
  uint32_t reserved = 0;
  MatmulOperand operand; ///< For Add and Multiply: [batch.., m, n].
};

/// C[batch, m, n] = post-ops(A[batch, m, k] * B[batch, k, n]), accumulated in
/// f32. A and B have unit stride along their rows or their columns, C along its
/// columns. Elements of A and B may repeat only along batches, and elements of
/// C not at all. A and B have the same type: f32, bf16 or, on CUDA, f16; C is
/// f32 or that type. On CUDA, post-ops come in this order, each at most once:
/// the Add of a matrix, the Add of a row (row stride 0), both with C's type and
/// unit stride along the columns, then Relu or GeluTanh.
struct MatmulRow {
  int64_t m, n, k;
  int64_t batch[kMaxBatch]; ///< 1 if unused.
  /// Nonzero if B does not change between runs. Then the runtime may repack B
  /// once for the matrix library, and not in each run.
  uint32_t constantB;
  uint32_t reserved = 0;
  Range postOps; ///< PostOps.
  MatmulOperand a, b, c;
};

/// The operation of a collective. ArtifactEnums.def lists all operations as
/// TPRT_COLLECTIVE.
enum class CollectiveKind : uint32_t {
#define TPRT_COLLECTIVE(enumerator, number, name) enumerator = number,
#include "runtime/Core/ArtifactEnums.def"
};
inline constexpr uint32_t kNumCollectives = 0
#define TPRT_COLLECTIVE(enumerator, number, name) +1
#include "runtime/Core/ArtifactEnums.def"
    ;

/// Payloads are contiguous chunks of `count` elements: a copy step has packed
/// what was not contiguous. Reductions combine values in order of position and
/// give the same bits on every rank, in every run and over every transport
/// except NCCL, which has its own order; 16-bit floats are summed in f32. The
/// source and the destination are disjoint or, for an all_reduce, may be the
/// same.
///
/// A collective reads its source and writes its destination at any time between
/// its start step and its done step, which are in the same region. The steps in
/// between, and the steps that those govern, do not write the source, and
/// neither read nor write the destination. If such a step is in a loop, this
/// holds for each iteration. Other collectives may be among these steps, read
/// the same source, and be done in any order.
///
/// Collectives that are joined to the one before are sent in one launch with
/// it: they pay for one start.
struct CollectiveRow {
  CollectiveKind kind;
  uint32_t communicator;
  DType dtype;
  Reduction reduction;
  int64_t count;
  BufferRow source;
  BufferRow destination;
  /// Integers, for CollectivePermute: the position that each position receives
  /// from, or -1 to receive zeros.
  Range permutation;
  /// 1: the step before the start step starts another collective of this
  /// communicator, whose launch this one joins.
  uint32_t joined = 0;
  uint32_t reserved = 0;
};

inline constexpr unsigned kMaxDims = 8;

/// Extents and strides (in elements) of `rank` dimensions.
struct StridedView {
  int64_t strides[kMaxDims];
};

struct CopyRow {
  uint32_t rank;
  DType dtype;
  int64_t sizes[kMaxDims];
  BufferRow source;
  StridedView from;
  BufferRow destination;
  StridedView to;
};

struct FillRow {
  uint32_t rank;
  DType dtype;
  int64_t sizes[kMaxDims];
  BufferRow destination;
  StridedView to;
  uint64_t pattern; ///< The element's bits, in the low bytes.
};

/// How an update is combined with an element. ArtifactEnums.def lists the ways
/// as TPRT_SCATTER.
enum class ScatterKind : uint32_t {
#define TPRT_SCATTER(enumerator, number) enumerator = number,
#include "runtime/Core/ArtifactEnums.def"
};
inline constexpr uint32_t kNumScatterKinds = 0
#define TPRT_SCATTER(enumerator, number) +1
#include "runtime/Core/ArtifactEnums.def"
    ;

/// updates[b, o, i, r] is combined into destination[b, o, indices[b, i], r], in
/// ascending order of i. An index outside 0 .. axis drops its updates. Indices
/// are i64; the only float types that can be combined are f32 and f64.
struct ScatterRow {
  ScatterKind kind;
  DType dtype;
  int64_t batch, outer, count, inner; ///< Sizes of b, o, i, r.
  int64_t axis;
  BufferRow updates;
  int64_t updateStrides[4]; ///< For b, o, i, r.
  BufferRow indices;
  int64_t indexStrides[2]; ///< For b, i.
  BufferRow destination;
  int64_t strides[4]; ///< For b, o, the axis, r.
};

/// Sorts each row and writes the first `kept` elements of the sorted row, and
/// for each of them its position in the unsorted row, as i32. Equal elements
/// keep their order; NaN comes after all numbers in ascending order, and before
/// them in descending order.
struct SortRow {
  DType dtype;
  uint32_t descending;
  int64_t rows, columns, kept;
  BufferRow source;
  int64_t sourceStrides[2]; ///< For rows, columns.
  BufferRow values;
  int64_t valueStrides[2];
  BufferRow indices;
  int64_t indexStrides[2];
};

enum class ControlKind : uint32_t {
  Loop = 0,  ///< The first steps, `trips` times.
  While = 1, ///< First steps; stop if predicate is 0; second steps; repeat.
  If = 2,    ///< First steps if the predicate is not 0, else second steps.
  /// Runs one of two alternatives: the first steps or the second steps. Both
  /// read and write the same values, except for rounding and for arena memory
  /// that nothing else uses. Both consist of kernels, matmuls, copies, fills
  /// and choices. On CUDA, rank 0 finds the faster alternative when the program
  /// is loaded; a CPU runs the first.
  Choice = 3,
};
inline constexpr uint32_t kNumControls = 4;
/// Returns true for kinds that execute their steps repeatedly and count the
/// trips.
inline constexpr bool isLoop(ControlKind kind) {
  return kind == ControlKind::Loop || kind == ControlKind::While;
}

/// More than the nesting depth of any model's loops, and small enough for
/// recursion.
inline constexpr unsigned kMaxNesting = 32;

/// A control step governs two blocks of steps, which follow it in the step
/// table: first a block of `first` steps, then a block of `second` steps.
/// For a While, `trips` is a limit, and exceeding it is an error.
struct ControlRow {
  ControlKind kind;
  uint32_t counter; ///< For Loop and While: an index below Entry::counters.
  int64_t trips;
  uint32_t first;
  uint32_t second;
  BufferRow predicate; ///< For While and If: one byte.
};

/// The kind of a step. It determines in which table the step's row is.
/// ArtifactEnums.def lists the kinds as TPRT_STEP.
enum class StepKind : uint32_t {
#define TPRT_STEP(enumerator, number, Row) enumerator = number,
#include "runtime/Core/ArtifactEnums.def"
};
inline constexpr uint32_t kNumStepKinds = 0
#define TPRT_STEP(enumerator, number, Row) +1
#include "runtime/Core/ArtifactEnums.def"
    ;

struct StepRow {
  StepKind kind;
  uint32_t row; ///< In the table of its kind.
  TextRef name; ///< For traces and errors: the value or layer it works on.
};

/// A public function. Several entries share inputs, and therefore weights and
/// caches.
struct EntryRow {
  TextRef name;
  Range inputs;  ///< Integers: indices of Inputs, in argument order.
  Range outputs; ///< Outputs, in result order.
  Range steps;   ///< Steps.
  uint64_t arenaSize;
  uint32_t counters;
  uint32_t reserved = 0;
  int64_t positions; ///< Sequence positions of its caches; 0 if it has none.
};

/// SectionOf<Row>::kind is the section whose rows are of the struct Row.
template <typename Row> struct SectionOf;
#define TPRT_ROWS(section, number, Row)                                        \
  template <> struct SectionOf<Row> {                                          \
    static constexpr SectionKind kind = SectionKind::section;                  \
  };
#include "runtime/Core/ArtifactEnums.def"

/// One more than the number of row sections: their numbers begin at 1.
inline constexpr uint32_t kNumRowSections = 1
#define TPRT_ROWS(section, number, Row) +1
#include "runtime/Core/ArtifactEnums.def"
    ;

} // namespace tprt

#endif // TPRT_CORE_ARTIFACTFORMAT_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// GPU kernels of scatters, sorts and reductions, executed on this machine, give
// the bits that the CPU's runtime gives.

#include "test/Emulation/Emulator.h"
#include "test/Emulation/HostKernels.h"

#include "lib/Codegen/Artifact.h"
#include "lib/Codegen/Kernels.h"
#include "lib/Codegen/ObjectCode.h"
#include "tpopt/InitAll.h"

#include "runtime/CPU/Indexed.h"
#include "runtime/Communicators/Reduce.h"
#include "runtime/Core/Weights.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

namespace {

/// What the elements of operands are.
enum class Data {
  Few,     ///< Few different values, some of which are no numbers.
  Special, ///< And both zeros, infinities, and what is no number of both signs.
  Bits     ///< Of any bits.
};

/// The operands of a step; indices lie around what they point into.
class Operands {
public:
  Operands(step::KernelOpInterface op, int64_t indexRange, Data data) {
    std::mt19937_64 engine(7);
    for (Type type : op->getOperandTypes()) {
      auto buffer = cast<MemRefType>(type);
      Type element = buffer.getElementType();
      int64_t bytes = step::getElementBytes(element);
      memory.emplace_back(step::getEndByte(buffer));
      for (size_t at = 0; at < memory.back().size(); at += bytes) {
        int64_t value = engine();
        if (data != Data::Bits)
          value = getFew(element, value, data == Data::Special);
        if (element.isSignlessInteger(64) && indexRange > 0)
          value = int64_t(engine() % (indexRange + 2)) - 1;
        else if (element.isInteger(1))
          value &= 1;
        std::memcpy(&memory.back()[at], &value, bytes);
      }
    }
    for (std::vector<char> &bytes : memory)
      pointers.push_back(bytes.data());
  }
  void *const *getTable() const { return pointers.data(); }
  char *get(unsigned operand) { return memory[operand].data(); }

  std::vector<std::vector<char>> memory;

private:
  /// The bits of one of a few elements.
  static int64_t getFew(Type element, uint64_t random, bool isSpecial) {
    int64_t value = int64_t(random % 9) - 4;
    auto type = dyn_cast<FloatType>(element);
    if (!type)
      return value;
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    APFloat number(double(value) / 2);
    bool lost;
    number.convert(semantics, APFloat::rmNearestTiesToEven, &lost);
    bool isNegative = random >> 63;
    if (value == 4)
      number = APFloat::getQNaN(semantics, isSpecial && isNegative);
    else if (isSpecial && value == 0)
      number = APFloat::getZero(semantics, isNegative);
    else if (isSpecial && value == 3)
      number = APFloat::getInf(semantics, isNegative);
    return number.bitcastToAPInt().getSExtValue();
  }

  std::vector<void *> pointers;
};

class IndexedKernels : public ::testing::Test {
protected:
  IndexedKernels() {
    DialectRegistry registry;
    registerTPOptDialects(registry);
    registerKernelDialects(registry);
    registry.insert<gpu::GPUDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  using Action = llvm::function_ref<void(Operation *, Operands &)>;
  /// Runs the steps of `source`, the body of a step.program, as kernels, and by
  /// `compute`, and compares all bytes of their operands, which `prepare` has
  /// made before.
  void expectSame(
      StringRef source, int64_t indexRange, Action compute,
      ArrayRef<Data> data = Data::Few,
      Action prepare = [](Operation *, Operands &) {});

  MLIRContext context;
};

} // namespace

static tprt::DType dtypeOf(Value value) {
  return *getDType(step::bufferTypeOf(value).getElementType());
}

static std::string text(Operation *op) {
  std::string result;
  llvm::raw_string_ostream(result) << *op;
  return result;
}

template <size_t rank>
static void setStrides(int64_t (&strides)[rank], Value value) {
  llvm::copy(step::Strides(step::bufferTypeOf(value)).strides, strides);
}

void IndexedKernels::expectSame(StringRef source, int64_t indexRange,
                                Action compute, ArrayRef<Data> data,
                                Action prepare) {
  std::string program =
      ("step.program @main inputs [] outputs [] {\n^bb0:\n" + source + "\n}\n")
          .str();
  auto parsed = parseSourceString<ModuleOp>(program, &context);
  ASSERT_TRUE(parsed);
  Location loc = parsed->getLoc();
  OwningOpRef<ModuleOp> code = ModuleOp::create(loc);
  OwningOpRef<ModuleOp> outer = ModuleOp::create(loc);
  OpBuilder builder = OpBuilder::atBlockEnd(outer->getBody());
  auto device = gpu::GPUModuleOp::create(builder, loc, "kernels");
  SmallVector<step::KernelOpInterface> ops;
  parsed->walk([&](step::KernelOpInterface op) { ops.push_back(op); });
  ASSERT_FALSE(ops.empty());
  std::vector<KernelLaunch> launches;
  for (auto [i, op] : llvm::enumerate(ops)) {
    builder.setInsertionPointToEnd(device.getBody());
    FailureOr<KernelLaunch> launch =
        emitGpuKernel(builder, op, "kernel" + std::to_string(i));
    ASSERT_TRUE(succeeded(launch));
    launches.push_back(*launch);
  }
  auto library = emulation::loadOnHost(device, *code);
  ASSERT_TRUE(library);
  auto check = [&](unsigned i, Data data, emulation::Order order) {
    step::KernelOpInterface op = ops[i];
    Operands expected(op, indexRange, data), actual(op, indexRange, data);
    prepare(op, expected);
    prepare(op, actual);
    compute(op, expected);
    std::vector<int64_t> scalars;
    for (Attribute scalar : op.getScalars())
      scalars.push_back(cast<IntegerAttr>(scalar).getInt());
    emulation::Kernel kernel = library->find("kernel" + std::to_string(i));
    ASSERT_TRUE(kernel);
    absl::Status status =
        emulation::launch(kernel, actual.getTable(), scalars.data(),
                          {launches[i].blocks, launches[i].threads}, order);
    ASSERT_TRUE(status.ok()) << status;
    bool isSame = actual.memory == expected.memory;
    EXPECT_TRUE(isSame) << "step " << i << ": " << text(op);
  };
  for (unsigned i = 0; i < ops.size(); ++i)
    for (Data kind : data)
      for (auto order : emulation::kOrders)
        check(i, kind, order);
}

// Updates of one element come in the order of their indices, those outside are
// dropped, and strides are kept: for types that are computed in, and for all
// that are set.
TEST_F(IndexedKernels, Scatters) {
  std::string source;
  auto add = [&](StringRef kind, StringRef type, StringRef updates,
                 StringRef indices, StringRef destination) {
    std::string n = std::to_string(source.size());
    auto alloc = [&](StringRef name, StringRef shape, StringRef element) {
      std::string full = ("memref<" + shape + "x" + element + ">").str();
      source += ("%" + name + n + " = step.alloc : " + full + "\n").str();
      return full;
    };
    std::string u = alloc("u", updates, type), i = alloc("i", indices, "i64"),
                d = alloc("d", destination, type);
    source += ("step.scatter " + kind + " %u" + n + " at %i" + n + " into %d" +
               n + " : " + u + ", " + i + " into " + d + "\n")
                  .str();
  };
  for (StringRef type : {"f32", "f64", "i8", "i32", "ui8", "ui32", "i64"})
    for (StringRef kind : {"set", "add", "max", "min", "mul"})
      add(kind, type, "2x3x17x5", "2x17", "2x3x9x5");
  for (StringRef type : {"bf16", "f16", "i1", "f8E4M3FN", "i16"})
    add("set", type, "1x1x40x1", "1x40", "1x1x9x1");
  // More elements than threads, so that each has a slice of several.
  add("add", "f32", "1x1x50x65536", "1x50", "1x1x9x65536");
  expectSame(source, /*indexRange=*/9, [](Operation *op, Operands &operands) {
    auto scatter = cast<step::ScatterOp>(op);
    tprt::ScatterRow row = {};
    row.kind = tprt::ScatterKind(scatter.getKind());
    row.dtype = dtypeOf(scatter.getDestination());
    ArrayRef<int64_t> sizes =
        step::bufferTypeOf(scatter.getUpdates()).getShape();
    row.batch = sizes[0];
    row.outer = sizes[1];
    row.count = sizes[2];
    row.inner = sizes[3];
    row.axis = step::bufferTypeOf(scatter.getDestination()).getDimSize(2);
    setStrides(row.updateStrides, scatter.getUpdates());
    setStrides(row.indexStrides, scatter.getIndices());
    setStrides(row.strides, scatter.getDestination());
    tprt::Team team(1, /*hasCores=*/true);
    tprt::runScatter(row, operands.get(0), operands.get(1), operands.get(2),
                     team);
  });
}

//===----------------------------------------------------------------------===//
// Sorts
//===----------------------------------------------------------------------===//

/// Adds `step` with its attributes, on buffers of its own: rows of `columns`
/// into rows of `kept`, all with other strides.
static void addStep(std::string &source, StringRef step, StringRef attributes,
                    StringRef type, int64_t rows, int64_t columns,
                    int64_t kept) {
  std::string n = std::to_string(source.size());
  auto declare = [&](StringRef name, int64_t length, StringRef element,
                     int64_t gap) {
    int64_t stride = length + gap;
    std::string whole =
        llvm::formatv("memref<{0}x{1}>", rows * stride, element);
    std::string view = llvm::formatv("memref<{0}x{1}x{2}, strided<[{3}, 1]>>",
                                     rows, length, element, stride);
    source += llvm::formatv("%{0}_{1} = step.alloc : {2}\n"
                            "%{0}{1} = step.view %{0}_{1} : {2} as {3}\n",
                            name, n, whole, view);
    return view;
  };
  bool isMerge = step.starts_with("merge");
  std::string x = declare("x", columns, type, 3), operands = "%x" + n;
  if (isMerge) {
    x += ", " + declare("p", columns, "i32", 1);
    operands += ", %p" + n;
  }
  std::string v = declare("v", kept, type, 0), i = declare("i", kept, "i32", 2);
  source += llvm::formatv("step.{0} {1} {2} into %v{3}, %i{3} : {4} into {5}, "
                          "{6}\n",
                          step, operands, attributes, n, x, v, i);
}

/// As the CPU's runtime sorts `kept` of each row of `columns` elements, which
/// begin at `begin` of `source`, into what begins at `to`.
static void sortColumns(Operands &operands, Operation *op, unsigned source,
                        unsigned values, unsigned indices, bool isDescending,
                        int64_t begin, int64_t columns, int64_t kept,
                        int64_t to) {
  tprt::SortRow row = {};
  row.dtype = dtypeOf(op->getOperand(source));
  row.descending = isDescending;
  row.rows = step::bufferTypeOf(op->getOperand(source)).getDimSize(0);
  row.columns = columns;
  row.kept = std::min(kept, columns);
  setStrides(row.sourceStrides, op->getOperand(source));
  setStrides(row.valueStrides, op->getOperand(values));
  setStrides(row.indexStrides, op->getOperand(indices));
  auto at = [&](unsigned operand, int64_t column) {
    return operands.get(operand) +
           column *
               step::getElementBytes(step::bufferTypeOf(op->getOperand(operand))
                                         .getElementType());
  };
  tprt::Team team(1, /*hasCores=*/true);
  tprt::runSort(row, at(source, begin), at(values, to), at(indices, to), team);
}

/// Element [row, column] of an operand of i32.
static int32_t &getPlace(Operands &operands, Operation *op, unsigned operand,
                         int64_t row, int64_t column) {
  int64_t stride =
      step::Strides(step::bufferTypeOf(op->getOperand(operand))).strides[0];
  return reinterpret_cast<int32_t *>(
      operands.get(operand))[row * stride + column];
}

static constexpr Data kSorted[] = {Data::Special, Data::Bits};
static constexpr const char *kTypes[] = {"f32", "f64",  "bf16", "f16", "i8",
                                         "ui8", "i32",  "ui32", "i64", "ui64",
                                         "i16", "ui16", "i1"};

/// As the runtime does it.
static void sortRows(Operation *op, Operands &operands) {
  auto sort = cast<step::SortOp>(op);
  int64_t columns = step::bufferTypeOf(sort.getSource()).getDimSize(1);
  sortColumns(operands, op, 0, 1, 2, sort.getDescending(), 0, columns,
              step::bufferTypeOf(sort.getValues()).getDimSize(1), 0);
}

// Equal elements keep their order, zeros of both signs are equal, and what is
// no number is above all numbers: of all types, by counting and in a tile.
TEST_F(IndexedKernels, Sorts) {
  std::string source;
  for (StringRef type : kTypes)
    for (StringRef step : {"sort", "sort descending"})
      for (auto [columns, kept] :
           {std::pair(33, 33), std::pair(300, 5), std::pair(130, 130)})
        addStep(source, step, "", type, 2, columns, kept);
  expectSame(source, 0, sortRows, kSorted);
}

// All sizes of short rows, and of tiles that are full or lack an element.
TEST_F(IndexedKernels, SortSizes) {
  std::string source;
  for (int64_t columns :
       {1, 2, 3, 31, 32, 33, 42, 43, 51, 52, 64, 65, 127, 128, 129})
    for (int64_t kept : {int64_t(1), int64_t(8), (columns + 1) / 2, columns})
      if (kept <= columns)
        addStep(source, "sort descending", "", "f32", 3, columns, kept);
  for (int64_t kept : {1, 8, 9, 64, 65, 511, 512, 513, 1000})
    addStep(source, "sort", "", "i32", 1, 1000, kept);
  for (auto [type, columns] :
       {std::pair("f32", 4095), std::pair("f32", 4096), std::pair("i64", 2047),
        std::pair("f64", 2048), std::pair("bf16", 8191), std::pair("i8", 8192)})
    addStep(source, "sort", "", type, 1, columns, columns);
  expectSame(source, 0, sortRows, kSorted);
}

// Of rows that are longer than a tile, a block keeps the first, tile by tile.
TEST_F(IndexedKernels, LongSorts) {
  std::string source;
  for (auto [type, columns, kept] :
       {std::tuple("f32", 4097, 1), std::tuple("f32", 12000, 50),
        std::tuple("i32", 9000, 512), std::tuple("bf16", 70000, 9),
        std::tuple("f16", 20000, 1024), std::tuple("f64", 5000, 256),
        std::tuple("ui8", 8193, 100)})
    for (StringRef step : {"sort", "sort descending"})
      addStep(source, step, "", type, 2, columns, kept);
  // Kept of a longer row is more than that: what no merge follows is counted.
  addStep(source, "sort", "", "f32", 1, 4097, 600);
  expectSame(source, 0, sortRows, kSorted);
}

// Each part for itself, of which the last is shorter than others, or than what
// is kept of them; with places in the whole row.
TEST_F(IndexedKernels, SortParts) {
  std::string source;
  auto add = [&](StringRef type, int64_t columns, int64_t part, int64_t kept) {
    int64_t total = columns / part * kept + std::min(columns % part, kept);
    for (StringRef step : {"sort_parts", "sort_parts descending"})
      addStep(source, step,
              llvm::formatv("parts {0} keep {1}", part, kept).str(), type, 2,
              columns, total);
  };
  add("f32", 1000, 300, 20);
  add("f32", 1000, 333, 20);
  add("bf16", 1000, 500, 500);
  add("i64", 700, 200, 150);
  add("i32", 95, 10, 7);
  add("f32", 9500, 5000, 33);
  add("i8", 50, 60, 50);
  expectSame(
      source, 0,
      [](Operation *op, Operands &operands) {
        auto sort = cast<step::SortPartsOp>(op);
        MemRefType from = step::bufferTypeOf(sort.getSource());
        int64_t part = sort.getPart(), kept = sort.getKept(), to = 0;
        for (int64_t begin = 0; begin < from.getDimSize(1); begin += part) {
          int64_t size = std::min(part, from.getDimSize(1) - begin);
          sortColumns(operands, op, 0, 1, 2, sort.getDescending(), begin, size,
                      kept, to);
          for (int64_t row = 0; row < from.getDimSize(0); ++row)
            for (int64_t i = 0; i < std::min(size, kept); ++i)
              getPlace(operands, op, 2, row, to + i) += begin;
          to += kept;
        }
      },
      kSorted);
}

/// Puts the runs of the elements of a merge in order.
static void sortRuns(Operation *op, Operands &operands) {
  auto merge = cast<step::MergeOp>(op);
  MemRefType from = step::bufferTypeOf(merge.getElements());
  std::vector<char> unsorted = operands.memory[0];
  std::vector<int32_t> places(from.getNumElements());
  tprt::SortRow row = {};
  row.dtype = dtypeOf(merge.getElements());
  row.descending = merge.getDescending();
  row.rows = from.getDimSize(0);
  setStrides(row.sourceStrides, merge.getElements());
  setStrides(row.valueStrides, merge.getElements());
  row.indexStrides[0] = from.getDimSize(1);
  row.indexStrides[1] = 1;
  tprt::Team team(1, /*hasCores=*/true);
  int64_t bytes = step::getElementBytes(from.getElementType()),
          run = merge.getRun();
  for (int64_t begin = 0; begin < from.getDimSize(1); begin += run) {
    row.columns = row.kept = std::min(run, from.getDimSize(1) - begin);
    tprt::runSort(row, unsorted.data() + begin * bytes,
                  operands.get(0) + begin * bytes,
                  reinterpret_cast<char *>(places.data()), team);
  }
}

// Runs that become one, in a tile or in several after each other, and by
// bisection, and runs that become fewer: with the places that they bring.
TEST_F(IndexedKernels, Merges) {
  std::string source;
  auto add = [&](StringRef type, int64_t columns, int64_t run, int64_t ways,
                 int64_t kept) {
    for (StringRef step : {"merge", "merge descending"})
      addStep(source, step, llvm::formatv("runs {0} ways {1}", run, ways).str(),
              type, 2, columns, kept);
  };
  add("f32", 5 * 50, 50, 5, 50);
  add("f32", 5 * 50 - 3, 50, 6, 17);
  add("bf16", 32 * 9, 9, 32, 9);
  add("i32", 32, 1, 32, 1);
  add("f32", 32 * 256, 256, 32, 256);
  add("f64", 20 * 200 - 199, 200, 20, 200);
  add("i64", 9 * 8, 8, 9, 8);
  add("f32", 700, 100, 7, 700);
  add("f32", 700, 100, 4, 700);
  add("bf16", 701, 100, 2, 701);
  add("i64", 1000, 64, 16, 300);
  add("ui8", 9, 3, 3, 8);
  add("f16", 20, 30, 2, 11);
  expectSame(
      source, 0,
      [](Operation *op, Operands &operands) {
        auto merge = cast<step::MergeOp>(op);
        MemRefType from = step::bufferTypeOf(merge.getElements());
        int64_t columns = from.getDimSize(1),
                all = merge.getRun() * merge.getWays(),
                kept = step::bufferTypeOf(merge.getValues()).getDimSize(1);
        for (int64_t begin = 0; begin < columns; begin += all) {
          int64_t size = std::min(all, columns - begin);
          sortColumns(operands, op, 0, 2, 3, merge.getDescending(), begin, size,
                      kept, begin);
          for (int64_t row = 0; row < from.getDimSize(0); ++row)
            for (int64_t i = begin; i < std::min(begin + size, kept); ++i) {
              int32_t &index = getPlace(operands, op, 3, row, i);
              index = getPlace(operands, op, 1, row, begin + index);
            }
        }
      },
      kSorted, sortRuns);
}

// The numbers of a seed are those of the runtime for every type, and what lies
// between rows stays; a place may be beyond 32 bits.
TEST_F(IndexedKernels, RandomNumbers) {
  std::string source;
  for (StringRef type : {"f64", "f32", "bf16", "f16", "f8E4M3FN", "f8E5M2",
                         "i1", "i8", "ui8", "i16", "i32", "ui32", "i64"})
    for (StringRef where :
         {"first 0 stride 13 into %b", "first 7 stride 40 into %v",
          "first 9000000000 stride 13 into %b"}) {
      std::string n = std::to_string(source.size());
      std::string dense = ("memref<5x13x" + type + ">").str();
      std::string rows = ("memref<5x11x" + type + ", strided<[13, 1]>>").str();
      bool isDense = where.ends_with("b");
      source += "%b" + n + " = step.alloc : " + dense + "\n";
      if (!isDense)
        source += "%v" + n + " = step.view %b" + n + " : " + dense + " as " +
                  rows + "\n";
      source += ("step.random seed -5 scale 0.02 " + where).str() + n + " : " +
                (isDense ? dense : rows) + "\n";
    }
  // More elements than threads.
  source += "%long = step.alloc : memref<3x65536xbf16>\n"
            "step.random seed 1 scale 1.0 first 0 stride 65536 into %long : "
            "memref<3x65536xbf16>\n";
  expectSame(source, 0, [](Operation *op, Operands &operands) {
    auto random = cast<step::RandomOp>(op);
    MemRefType type = step::bufferTypeOf(random.getDestination());
    tprt::BlockRows rows = {type.getDimSize(0),
                            type.getDimSize(1),
                            0,
                            step::Strides(type).strides[0],
                            int64_t(random.getFirst()),
                            int64_t(random.getStride())};
    tprt::fillRandom(rows, dtypeOf(random.getDestination()), random.getSeed(),
                     random.getScale().convertToFloat(), 1, operands.get(0));
  });
}

// Sources are combined in order, 16-bit floats in f32 and rounded once.
TEST_F(IndexedKernels, Combinations) {
  std::string source;
  for (StringRef type :
       {"f32", "f64", "bf16", "f16", "i8", "ui8", "i32", "ui32", "i64", "i1"})
    for (StringRef kind : {"sum", "max", "min"})
      for (unsigned group : {1, 2, 5}) {
        std::string n = std::to_string(source.size());
        std::string buffer = ("memref<131x" + type + ">").str();
        std::string names, types;
        for (unsigned i = 0; i <= group; ++i) {
          std::string name = "%b" + std::to_string(i) + "_" + n;
          source += name + " = step.alloc : " + buffer + "\n";
          names += (i == 0 ? "" : i == group ? " into " : ", ") + name;
          types += (i == 0 ? "" : i == group ? " into " : ", ") + buffer;
        }
        source +=
            ("step.combine " + kind + " ").str() + names + " : " + types + "\n";
      }
  expectSame(source, 0, [](Operation *op, Operands &operands) {
    auto combine = cast<step::CombineOp>(op);
    unsigned group = combine.getSources().size();
    std::vector<const char *> sources;
    for (unsigned i = 0; i < group; ++i)
      sources.push_back(operands.get(i));
    tprt::reduceInOrder(
        dtypeOf(combine.getDestination()), tprt::Reduction(combine.getKind()),
        sources, step::bufferTypeOf(combine.getDestination()).getNumElements(),
        operands.get(group));
  });
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// GPU kernels of scatters, sorts and reductions, executed on this machine, give
// the bits that the CPU's runtime gives.

#include "test/Emulation/Emulator.h"
#include "test/Emulation/HostKernels.h"

#include "tpopt/Codegen/Artifact.h"
#include "tpopt/Codegen/Kernels.h"
#include "tpopt/Codegen/ObjectCode.h"
#include "tpopt/InitAll.h"

#include "runtime/CPU/Indexed.h"
#include "runtime/Communicators/Reduce.h"
#include "runtime/Core/Weights.h"

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace tp;

namespace {

/// The operands of a step, with few different values, some of which are no
/// numbers; indices lie around what they point into.
class Operands {
public:
  Operands(step::KernelOpInterface op, int64_t indexRange) {
    std::mt19937 engine(7);
    for (Type type : op->getOperandTypes()) {
      auto buffer = cast<MemRefType>(type);
      Type element = buffer.getElementType();
      int64_t bytes = step::getElementBytes(element);
      memory.emplace_back(step::getEndByte(buffer));
      for (size_t at = 0; at < memory.back().size(); at += bytes) {
        int64_t value = int64_t(engine() % 9) - 4;
        if (auto type = dyn_cast<FloatType>(element)) {
          APFloat number(double(value) / 2);
          bool lost;
          number.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                         &lost);
          if (value == 4)
            number = APFloat::getQNaN(type.getFloatSemantics());
          value = number.bitcastToAPInt().getSExtValue();
        } else if (element.isSignlessInteger(64) && indexRange > 0) {
          value = int64_t(engine() % (indexRange + 2)) - 1;
        } else if (element.isInteger(1)) {
          value &= 1;
        }
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

  /// Runs the steps of `source`, the body of a step.program, as kernels, and by
  /// `compute`, and compares all bytes of their operands.
  void expectSame(StringRef source, int64_t indexRange,
                  llvm::function_ref<void(Operation *, Operands &)> compute);

  MLIRContext context;
};

} // namespace

static MemRefType typeOf(Value value) {
  return cast<MemRefType>(value.getType());
}

static tprt::DType dtypeOf(Value value) {
  return *getDType(typeOf(value).getElementType());
}

template <size_t rank>
static void setStrides(int64_t (&strides)[rank], Value value) {
  llvm::copy(step::Strides(typeOf(value)).strides, strides);
}

void IndexedKernels::expectSame(
    StringRef source, int64_t indexRange,
    llvm::function_ref<void(Operation *, Operands &)> compute) {
  std::string text =
      ("step.program @main inputs [] outputs [] {\n^bb0:\n" + source + "\n}\n")
          .str();
  auto parsed = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(parsed);
  Location loc = parsed->getLoc();
  OwningOpRef<ModuleOp> code = ModuleOp::create(loc);
  OwningOpRef<ModuleOp> outer = ModuleOp::create(loc);
  OpBuilder builder = OpBuilder::atBlockEnd(outer->getBody());
  auto device = gpu::GPUModuleOp::create(builder, loc, "kernels");
  SmallVector<step::KernelOpInterface> ops;
  parsed->walk([&](step::KernelOpInterface op) { ops.push_back(op); });
  ASSERT_FALSE(ops.empty());
  std::vector<Launch> launches;
  for (auto [i, op] : llvm::enumerate(ops)) {
    builder.setInsertionPointToEnd(device.getBody());
    FailureOr<Launch> launch =
        emitGpuKernel(builder, op, "kernel" + std::to_string(i));
    ASSERT_TRUE(succeeded(launch));
    launches.push_back(*launch);
  }
  auto library = emulation::loadOnHost(device, *code);
  ASSERT_TRUE(library);
  for (auto [i, op] : llvm::enumerate(ops)) {
    Operands expected(op, indexRange), actual(op, indexRange);
    compute(op, expected);
    std::vector<int64_t> scalars;
    for (Attribute scalar : op.getScalars())
      scalars.push_back(cast<IntegerAttr>(scalar).getInt());
    emulation::Kernel kernel = library->find("kernel" + std::to_string(i));
    ASSERT_TRUE(kernel);
    absl::Status status =
        emulation::launch(kernel, actual.getTable(), scalars.data(),
                          {launches[i].blocks, launches[i].threads});
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(actual.memory, expected.memory) << "step " << i;
  }
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
    ArrayRef<int64_t> sizes = typeOf(scatter.getUpdates()).getShape();
    row.batch = sizes[0];
    row.outer = sizes[1];
    row.count = sizes[2];
    row.inner = sizes[3];
    row.axis = typeOf(scatter.getDestination()).getDimSize(2);
    setStrides(row.updateStrides, scatter.getUpdates());
    setStrides(row.indexStrides, scatter.getIndices());
    setStrides(row.strides, scatter.getDestination());
    tprt::runScatter(row, operands.get(0), operands.get(1), operands.get(2),
                     tprt::Team(1));
  });
}

// Equal elements keep their order, zeros of both signs are equal, and what is
// no number is above all numbers; whole rows, and their first elements.
TEST_F(IndexedKernels, Sorts) {
  std::string source;
  for (StringRef type :
       {"f32", "f64", "bf16", "f16", "i8", "ui8", "i32", "ui32", "i64", "i1"})
    for (StringRef direction : {"", "descending "})
      for (int64_t kept : {1, 5, 67}) {
        std::string n = std::to_string(source.size());
        std::string in = ("memref<3x67x" + type + ">").str();
        std::string shape = "memref<3x" + std::to_string(kept) + "x";
        std::string out = shape + type.str() + ">", places = shape + "i32>";
        source += "%x" + n + " = step.alloc : " + in + "\n%v" + n +
                  " = step.alloc : " + out + "\n%i" + n +
                  " = step.alloc : " + places + "\nstep.sort " +
                  direction.str() + "%x" + n + " into %v" + n + ", %i" + n +
                  " : " + in + " into " + out + ", " + places + "\n";
      }
  expectSame(source, 0, [](Operation *op, Operands &operands) {
    auto sort = cast<step::SortOp>(op);
    tprt::SortRow row = {};
    row.dtype = dtypeOf(sort.getSource());
    row.descending = sort.getDescending();
    row.rows = typeOf(sort.getSource()).getDimSize(0);
    row.columns = typeOf(sort.getSource()).getDimSize(1);
    row.kept = typeOf(sort.getValues()).getDimSize(1);
    setStrides(row.sourceStrides, sort.getSource());
    setStrides(row.valueStrides, sort.getValues());
    setStrides(row.indexStrides, sort.getIndices());
    tprt::runSort(row, operands.get(0), operands.get(1), operands.get(2),
                  tprt::Team(1));
  });
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
    MemRefType type = typeOf(random.getDestination());
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
    tprt::reduceInOrder(dtypeOf(combine.getDestination()),
                        tprt::Reduction(combine.getKind()), sources,
                        typeOf(combine.getDestination()).getNumElements(),
                        operands.get(group));
  });
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The GPU's attention kernels, executed on this machine, give what the formula
// gives in f64.

#include "test/Emulation/Emulator.h"
#include "test/Emulation/HostKernels.h"

#include "lib/Codegen/Attention.h"
#include "lib/Codegen/Kernels.h"
#include "lib/Codegen/Ptx.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

namespace {

/// What is computed. Data are the same for the same sizes.
struct Problem {
  const char *type;
  int64_t b, s, k, g, d, t, e;
  bool causal = false;
  int64_t window = 0;                ///< 0: none.
  std::vector<int32_t> offset = {};  ///< None, one, or one per batch entry.
  std::vector<int32_t> lengths = {}; ///< None, or one per batch entry.
  bool hasMask = false;
  int64_t parts = 0;   ///< 0: not divided.
  bool byHead = false; ///< Heads lie outside of positions in memory.
  bool hasTwoWarps = false;

  double scale() const { return 1 / std::sqrt(double(d)); }
  bool isVisible(int64_t b, int64_t s, int64_t t) const {
    int64_t position = s;
    if (!offset.empty())
      position += offset[offset.size() == 1 ? 0 : b];
    return (!causal || t <= position) &&
           (window == 0 || position - t < window) &&
           (lengths.empty() || t < lengths[b]) &&
           (!hasMask || (b + 2 * s + 3 * t) % 5 != 0);
  }
};

/// Numbers of an element type in memory, with room to begin at 64 bytes.
class Buffer {
public:
  Buffer(StringRef type, int64_t count)
      : type(type), count(count), words((count * bytes() + 7) / 8 + 16) {
    auto start = reinterpret_cast<uintptr_t>(words.data());
    begin = reinterpret_cast<char *>((start + 63) / 64 * 64);
  }
  void set(int64_t index, float value) {
    uint32_t bits = toBits(value);
    std::memcpy(begin + index * bytes(), &bits, bytes());
  }
  float get(int64_t index) const {
    uint32_t bits = 0;
    std::memcpy(&bits, begin + index * bytes(), bytes());
    if (type == "f16")
      return fromHalf(bits);
    bits <<= type == "bf16" ? 16 : 0;
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  void fill(float value) {
    for (int64_t i = 0; i < count; ++i)
      set(i, value);
  }
  void *data() { return begin; }

private:
  int64_t bytes() const { return type == "f32" || type == "i32" ? 4 : 2; }
  static float fromHalf(uint32_t bits) {
    llvm::APFloat value(llvm::APFloat::IEEEhalf(), llvm::APInt(16, bits));
    return value.convertToFloat();
  }
  uint32_t toBits(float number) const {
    llvm::APFloat value(number);
    bool lost;
    if (type != "f32")
      value.convert(type == "bf16" ? llvm::APFloat::BFloat()
                                   : llvm::APFloat::IEEEhalf(),
                    llvm::APFloat::rmNearestTiesToEven, &lost);
    return uint32_t(value.bitcastToAPInt().getZExtValue());
  }

  std::string type;
  int64_t count;
  std::vector<int64_t> words;
  char *begin;
};

class Attention : public ::testing::Test {
protected:
  Attention() {
    DialectRegistry registry;
    registerKernelModels(registry);
    registerGpuKernelDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// Computes all problems and compares each with the formula.
  void check(ArrayRef<Problem> problems, double tolerance,
             const std::string &cpu = tprt::getHostCpu());

  std::string chip = "sm_80";
  MLIRContext context;
};

/// Strides of [b,s,k,g,d] and [b,t,k,d] tensors.
using Strides = std::vector<int64_t>;

} // namespace

static Strides getQueryStrides(const Problem &p, int64_t features) {
  int64_t all = p.s * p.k * p.g * features;
  if (p.byHead)
    return {all, features, p.g * p.s * features, p.s * features, 1};
  return {all, p.k * p.g * features, p.g * features, features, 1};
}
static Strides getKeyStrides(const Problem &p, int64_t features) {
  int64_t all = p.t * p.k * features;
  if (p.byHead)
    return {all, features, p.t * features, 1};
  return {all, p.k * features, features, 1};
}

static std::string getType(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides,
                           StringRef element) {
  std::string text = "memref<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  text += element.str() + ", strided<[";
  for (int64_t stride : strides)
    text += (text.back() == '[' ? "" : ", ") + std::to_string(stride);
  return text + "]>>";
}

/// The step, on arguments of a program.
static std::string getText(const Problem &p) {
  std::string query =
      getType({p.b, p.s, p.k, p.g, p.d}, getQueryStrides(p, p.d), p.type);
  std::string key =
      getType({p.b, p.t, p.k, p.d}, getKeyStrides(p, p.d), p.type);
  std::string value =
      getType({p.b, p.t, p.k, p.e}, getKeyStrides(p, p.e), p.type);
  std::string output =
      getType({p.b, p.s, p.k, p.g, p.e}, getQueryStrides(p, p.e), p.type);
  std::string text = "step.program @main inputs [] outputs [] {\n", operands;
  // An alloc is dense; only the types of its views matter here.
  auto add = [&](StringRef name, StringRef element, const std::string &type) {
    text +=
        llvm::formatv("%{0}_ = step.alloc : memref<1048576x{1}>\n"
                      "%{0} = step.view %{0}_ : memref<1048576x{1}> as {2}\n",
                      name, element, type);
  };
  auto addOptional = [&](StringRef name, StringRef element, std::string type) {
    add(name, element, type);
    operands += llvm::formatv(" {0}(%{0} : {1})", name, type);
  };
  add("q", p.type, query);
  add("k", p.type, key);
  add("v", p.type, value);
  if (p.offset.size() == 1)
    addOptional("offset", "i32", "memref<i32>");
  else if (!p.offset.empty())
    addOptional("offset", "i32", llvm::formatv("memref<{0}xi32>", p.b));
  if (!p.lengths.empty())
    addOptional("lengths", "i32", llvm::formatv("memref<{0}xi32>", p.b));
  if (p.hasMask)
    addOptional("mask", "i1",
                llvm::formatv("memref<{0}x{1}x{2}xi1>", p.b, p.s, p.t));
  operands += " into %y";
  add("y", p.type, output);
  if (p.parts > 0) {
    std::string rows = llvm::formatv("{0}x{1}x{2}x{3}x", p.b, p.s, p.k, p.g);
    std::string types[] = {
        llvm::formatv("memref<{0}x{1}{2}xf32>", p.parts, rows, p.e),
        llvm::formatv("memref<{0}x{1}2xf32>", p.parts, rows),
        llvm::formatv("memref<{0}i32>", rows)};
    StringRef names[] = {"partial", "statistics", "counters"};
    for (auto [name, type] : llvm::zip(names, types))
      text += llvm::formatv("%{0} = step.alloc : {1}\n", name, type);
    operands += llvm::formatv(" parts(%partial, %statistics, %counters : {0})",
                              llvm::join(ArrayRef(types), ", "));
  }
  std::string window = llvm::formatv(", window = {0} : i64", p.window);
  return llvm::formatv("{0}step.attention %q, %k, %v{1} {{{2}{9}scale = "
                       "{3:f17} : f64{4}} : {5}, "
                       "{6}, {7} into {8}\n}\n",
                       text, operands, p.causal ? "causal, " : "", p.scale(),
                       p.window ? window : "", query, key, value, output,
                       p.hasTwoWarps ? "two_warps, " : "");
}

namespace {

/// The operands of a problem in memory, and what comes out.
class Data {
public:
  explicit Data(const Problem &p)
      : p(p), query(p.type, p.b * p.s * p.k * p.g * p.d),
        key(p.type, p.b * p.t * p.k * p.d),
        value(p.type, p.b * p.t * p.k * p.e),
        output(p.type, p.b * p.s * p.k * p.g * p.e),
        partial("f32", p.parts * p.b * p.s * p.k * p.g * p.e),
        statistics("f32", p.parts * p.b * p.s * p.k * p.g * 2),
        counters(p.parts ? p.b * p.s * p.k * p.g : 0), mask(p.b * p.s * p.t) {
    std::mt19937 engine(1);
    auto next = [&] { return float(int(engine() % 257) - 128) / 128; };
    for (int64_t i = 0; i < p.b * p.s * p.k * p.g * p.d; ++i)
      query.set(i, 2 * next());
    for (int64_t b = 0; b < p.b; ++b)
      for (int64_t t = 0; t < p.t; ++t) {
        // What no row sees may be anything.
        bool isSeen = false;
        for (int64_t s = 0; s < p.s; ++s)
          isSeen |= p.isVisible(b, s, t);
        isSeen |= p.hasMask || p.window > 0;
        for (int64_t k = 0; k < p.k; ++k) {
          for (int64_t d = 0; d < p.d; ++d)
            key.set(place(getKeyStrides(p, p.d), {b, t, k, d}),
                    isSeen ? next() : NAN);
          for (int64_t e = 0; e < p.e; ++e)
            value.set(place(getKeyStrides(p, p.e), {b, t, k, e}),
                      isSeen ? next() : NAN);
        }
        for (int64_t s = 0; s < p.s; ++s)
          mask[(b * p.s + s) * p.t + t] = (b + 2 * s + 3 * t) % 5 != 0;
      }
  }

  std::vector<void *> getTable() {
    std::vector<void *> table{query.data(), key.data(), value.data()};
    if (!p.offset.empty())
      table.push_back(const_cast<int32_t *>(p.offset.data()));
    if (!p.lengths.empty())
      table.push_back(const_cast<int32_t *>(p.lengths.data()));
    if (p.hasMask)
      table.push_back(mask.data());
    table.push_back(output.data());
    if (p.parts > 0) {
      table.push_back(partial.data());
      table.push_back(statistics.data());
      table.push_back(counters.data());
    }
    return table;
  }

  /// Makes everything that the kernel writes NaN, but leaves its counters.
  void poison() {
    for (Buffer *buffer : {&output, &partial, &statistics})
      buffer->fill(NAN);
  }
  /// Are all blocks counted? Otherwise the next launch goes wrong.
  bool isReady() const {
    return llvm::all_of(counters, [](int32_t count) { return count == 0; });
  }
  /// The largest distance from the formula.
  double getError();
  /// How many elements differ from the parts, combined in their order.
  int64_t countCombinedOtherwise();

private:
  static int64_t place(ArrayRef<int64_t> strides, ArrayRef<int64_t> index) {
    int64_t sum = 0;
    for (auto [stride, i] : llvm::zip(strides, index))
      sum += stride * i;
    return sum;
  }
  float getOutput(int64_t b, int64_t s, int64_t k, int64_t g, int64_t e) const {
    return output.get(place(getQueryStrides(p, p.e), {b, s, k, g, e}));
  }

  const Problem &p;
  Buffer query, key, value, output, partial, statistics;
  std::vector<int32_t> counters;
  std::vector<int8_t> mask;
};

} // namespace

int64_t Data::countCombinedOtherwise() {
  int64_t rows = p.b * p.s * p.k * p.g, count = 0;
  Buffer rounded(p.type, 1);
  for (int64_t row = 0; p.parts > 0 && row < rows; ++row) {
    auto getMaximum = [&](int64_t part) {
      return statistics.get((part * rows + row) * 2);
    };
    float maximum = -INFINITY, sum = 0;
    for (int64_t i = 0; i < p.parts; ++i)
      maximum = std::fmax(maximum, getMaximum(i));
    std::vector<float> all(p.e);
    for (int64_t i = 0; i < p.parts; ++i) {
      float part = statistics.get((i * rows + row) * 2 + 1);
      float weight = part == 0 ? 0 : std::exp2(getMaximum(i) - maximum);
      sum = std::fma(weight, part, sum);
      for (int64_t e = 0; e < p.e; ++e)
        all[e] =
            std::fma(weight, partial.get((i * rows + row) * p.e + e), all[e]);
    }
    int64_t g = row % p.g, k = row / p.g % p.k, s = row / p.g / p.k % p.s,
            b = row / p.g / p.k / p.s;
    for (int64_t e = 0; e < p.e; ++e) {
      rounded.set(0, all[e] / (sum == 0 ? 1 : sum));
      count += rounded.get(0) != getOutput(b, s, k, g, e);
    }
  }
  return count;
}

double Data::getError() {
  double error = 0;
  for (int64_t b = 0; b < p.b; ++b)
    for (int64_t s = 0; s < p.s; ++s)
      for (int64_t k = 0; k < p.k; ++k)
        for (int64_t g = 0; g < p.g; ++g) {
          std::vector<double> weights(p.t), wanted(p.e);
          double maximum = -INFINITY, sum = 0;
          for (int64_t t = 0; t < p.t; ++t) {
            weights[t] = -INFINITY;
            if (!p.isVisible(b, s, t))
              continue;
            weights[t] = 0;
            for (int64_t d = 0; d < p.d; ++d)
              weights[t] += double(query.get(place(getQueryStrides(p, p.d),
                                                   {b, s, k, g, d}))) *
                            key.get(place(getKeyStrides(p, p.d), {b, t, k, d}));
            weights[t] *= p.scale();
            maximum = std::max(maximum, weights[t]);
          }
          for (int64_t t = 0; t < p.t; ++t) {
            if (weights[t] == -INFINITY)
              continue;
            double weight = std::exp(weights[t] - maximum);
            sum += weight;
            for (int64_t e = 0; e < p.e; ++e)
              wanted[e] += weight * value.get(place(getKeyStrides(p, p.e),
                                                    {b, t, k, e}));
          }
          for (int64_t e = 0; e < p.e; ++e) {
            double distance = std::abs(getOutput(b, s, k, g, e) -
                                       wanted[e] / (sum ? sum : 1));
            // Not a number is no distance at all.
            error = distance <= error ? error : distance;
            if (std::isnan(distance))
              return distance;
          }
        }
  return error;
}

void Attention::check(ArrayRef<Problem> problems, double tolerance,
                      const std::string &cpu) {
  std::string text;
  OwningOpRef<ModuleOp> outer = ModuleOp::create(UnknownLoc::get(&context));
  OwningOpRef<ModuleOp> code = ModuleOp::create(UnknownLoc::get(&context));
  OpBuilder builder = OpBuilder::atBlockEnd(outer->getBody());
  auto device = createGpuModule(builder, outer->getLoc(), chip);
  std::vector<KernelLaunch> launches;
  std::vector<OwningOpRef<ModuleOp>> modules;
  for (const Problem &problem : problems) {
    modules.push_back(parseSourceString<ModuleOp>(getText(problem), &context));
    ASSERT_TRUE(modules.back()) << getText(problem);
    modules.back()->walk([&](step::AttentionOp op) {
      builder.setInsertionPointToEnd(device.getBody());
      std::string name = "attention" + std::to_string(launches.size());
      FailureOr<KernelLaunch> launch = emitGpuKernel(
          builder, cast<step::KernelOpInterface>(op.getOperation()), name);
      if (succeeded(launch))
        launches.push_back(*launch);
    });
  }
  ASSERT_EQ(launches.size(), problems.size());
  auto library = emulation::loadOnHost(device, *code, cpu);
  ASSERT_TRUE(library);
  for (auto [i, problem] : llvm::enumerate(problems)) {
    Data data(problem);
    std::vector<void *> table = data.getTable();
    const KernelLaunch &launch = launches[i];
    // Each launch finds the counters that the one before it has left.
    for (auto order : emulation::kOrders) {
      data.poison();
      absl::Status status = emulation::launch(
          library->find("attention" + std::to_string(i)), table.data(), nullptr,
          {launch.blocks, launch.threads, launch.sharedBytes}, order);
      ASSERT_TRUE(status.ok()) << "problem " << i << ": " << status;
      EXPECT_LE(data.getError(), tolerance) << "problem " << i;
      EXPECT_EQ(data.countCombinedOtherwise(), 0) << "problem " << i;
      EXPECT_TRUE(data.isReady()) << "problem " << i;
      EXPECT_EQ(emulation::getNumBankConflicts(), 0) << "problem " << i;
    }
  }
}

// Tiles that end early in either direction, and blocks of one to four warps.
TEST_F(Attention, UnevenSizes) {
  check({{"bf16", 1, 1, 1, 1, 64, 1, 64},
         {"bf16", 2, 37, 2, 1, 64, 71, 64},
         {"f16", 1, 70, 1, 1, 128, 130, 128, /*causal=*/true}},
        1e-2);
}

// Without the instruction that narrows to bf16, LLVM calls a function for it.
TEST_F(Attention, PlainCpu) {
  std::string cpu = tprt::getHostCpu();
  check({{"bf16", 1, 9, 1, 1, 64, 9, 64}}, 1e-2,
        cpu.substr(0, cpu.find(':') + 1));
}

// Rows of a block are of several heads, which see the same keys; a warp has 32
// rows where they fit into its registers; heads may lie anywhere.
TEST_F(Attention, GroupsOfHeads) {
  Problem byHead = {"bf16", 2, 9, 2, 4, 64, 9, 64, /*causal=*/true};
  byHead.byHead = true;
  check({{"bf16", 1, 20, 2, 4, 64, 20, 64, /*causal=*/true},
         {"bf16", 1, 5, 1, 8, 128, 70, 128, /*causal=*/true, 0, {65}},
         byHead},
        1e-2);
}

// What hides keys, alone and together: positions that differ from sequence to
// sequence, lengths, which may be 0, windows, and masks.
TEST_F(Attention, HiddenKeys) {
  Problem masked = {"bf16", 2, 19, 1, 2, 32, 90, 32};
  masked.hasMask = true;
  check({{"bf16", 2, 18, 1, 2, 32, 150, 32, /*causal=*/true, 0, {100, 3}},
         {"bf16",
          3,
          18,
          1,
          1,
          32,
          150,
          32,
          /*causal=*/false,
          0,
          {},
          {150, 70, 0}},
         {"bf16", 1, 150, 1, 1, 32, 150, 32, /*causal=*/true, /*window=*/20},
         {"bf16",
          2,
          40,
          1,
          1,
          32,
          100,
          32,
          /*causal=*/true,
          70,
          {60, 0},
          {99, 33}},
         masked},
        1e-2);
}

// Features are padded to what tensor cores take, and differ for values.
TEST_F(Attention, Features) {
  check({{"bf16", 1, 17, 1, 1, 8, 20, 24},
         {"f16", 1, 17, 1, 1, 72, 20, 96},
         {"bf16", 1, 17, 1, 1, 256, 40, 256, /*causal=*/true}},
        1e-2);
}

// On Hopper, warpgroups multiply, of whole blocks and of what is left of one.
TEST_F(Attention, Warpgroups) {
  chip = "sm_90a";
  Problem byHead = {"bf16", 1, 40, 2, 4, 64, 300, 128};
  byHead.byHead = true;
  check({{"bf16", 1, 128, 1, 1, 64, 128, 64},
         {"bf16", 1, 128, 1, 1, 128, 128, 128},
         {"bf16", 1, 130, 2, 1, 128, 420, 128, /*causal=*/true, 0, {290}},
         {"f16", 2, 50, 1, 2, 128, 50, 64, /*causal=*/true},
         byHead},
        1e-2);
}

// What hides keys does so there, too: some rows, or all rows of a block, see
// nothing.
TEST_F(Attention, WarpgroupsAndHiddenKeys) {
  chip = "sm_90a";
  Problem parts = {"bf16", 1, 70, 1, 1, 64, 600, 64, true, 0, {130}};
  parts.parts = 4;
  Problem lengths = {"f16", 3, 70, 1, 1, 64, 300, 64};
  lengths.lengths = {300, 129, 0};
  check({{"bf16", 1, 400, 1, 1, 64, 400, 64, true, /*window=*/40},
         lengths,
         parts},
        1e-2);
}

// f32 is as precise as f32 is.
TEST_F(Attention, SinglePrecision) {
  Problem masked = {"f32", 2, 9, 1, 2, 20, 45, 100};
  masked.hasMask = true;
  check({{"f32", 1, 1, 1, 1, 4, 1, 4},
         {"f32", 2, 37, 2, 1, 64, 71, 64, /*causal=*/true},
         {"f32", 1, 5, 1, 8, 128, 70, 128, /*causal=*/true, 17, {65}},
         masked},
        1e-5);
}

// Few queries of a long cache: parts see what is visible now, some of them
// nothing. Whichever block ends last combines them, in the order of the parts:
// more than it loads at once, and the rows of several blocks.
TEST_F(Attention, Parts) {
  Problem short_ = {"bf16",          2, 1,         2, 4, 64, 600, 64,
                    /*causal=*/true, 0, {130, 599}};
  short_.parts = 4;
  Problem none = {"bf16", 2, 2, 1, 8, 128, 300, 128, false, 0, {}, {300, 0}};
  none.parts = 3;
  Problem window = {"bf16", 1, 16, 1, 1, 64, 500, 64, true, 90, {400}};
  window.parts = 5;
  Problem blocks = {"bf16", 1, 140, 2, 1, 64, 300, 64, true, 0, {150}};
  blocks.parts = 3;
  check({short_, none, window, blocks}, 1e-2);
  Problem single = {"f32", 2, 1, 2, 8, 64, 200, 64, true, 0, {199, 31}};
  single.parts = 3;
  Problem many = {"f32", 1, 2, 1, 8, 32, 700, 64};
  many.parts = 20;
  check({single, many}, 1e-5);
}

// Two warps of a block have the same rows and half of the keys of a tile each,
// of whatever size: the second may see nothing, or see what the first does not.
// They merge their results alone and in parts, with all that hides keys.
TEST_F(Attention, TwoWarps) {
  Problem one = {"bf16", 2, 1, 2, 4, 64, 1, 64};
  Problem uneven = {"f16", 1, 2, 1, 8, 128, 130, 128, true, 0, {128}};
  Problem second = {"bf16", 2, 1, 1, 1, 64, 200, 64, true, 20, {63, 190}};
  Problem masked = {"bf16", 2, 4, 1, 4, 32, 90, 32};
  masked.hasMask = true;
  Problem none = {"f16", 2, 3, 1, 2, 72, 40, 96, false, 0, {}, {40, 0}};
  Problem wide = {"bf16", 1, 5, 1, 3, 256, 70, 256, true, 0, {60}};
  Problem narrow = {"f16", 1, 1, 3, 5, 8, 100, 24};
  Problem parts = {"bf16", 2, 1, 2, 4, 64, 600, 64, true, 0, {130, 599}};
  parts.parts = 4;
  Problem many = {"f16", 1, 2, 1, 8, 128, 700, 128};
  many.parts = 20;
  Problem window = {"bf16", 1, 16, 1, 1, 64, 500, 64, true, 90, {400}};
  window.parts = 5;
  std::vector<Problem> problems = {one,  uneven, second, masked, none,
                                   wide, narrow, parts,  many,   window};
  for (Problem &problem : problems)
    problem.hasTwoWarps = true;
  check(problems, 1e-2);
}

// Warpgroups have blocks of 128 rows, where features fill whole panels.
TEST(AttentionTiles, Warpgroups) {
  EXPECT_EQ(getWarpgroupTiles().getRows(), 128);
  AttentionSize size = {
      /*heads=*/8,    /*rows=*/65, /*keys=*/512, 64, 128,
      /*isHalf=*/true};
  EXPECT_TRUE(fitsWarpgroups(size, /*isMasked=*/false));
  EXPECT_FALSE(fitsWarpgroups(size, /*isMasked=*/true));
  for (auto change : {+[](AttentionSize &size) { size.rows = 64; },
                      +[](AttentionSize &size) { size.features = 96; },
                      +[](AttentionSize &size) { size.valueFeatures = 256; },
                      +[](AttentionSize &size) { size.isHalf = false; }}) {
    AttentionSize other = size;
    change(other);
    EXPECT_FALSE(fitsWarpgroups(other, /*isMasked=*/false));
  }
}

// Parts are many where blocks are few, as many as make whole waves of the 396
// that a large GPU has at once, and none where keys do not suffice.
TEST(AttentionTiles, Parts) {
  AttentionSize decode = {
      /*heads=*/8,    /*rows=*/8, /*keys=*/8192, 128, 128,
      /*isHalf=*/true};
  EXPECT_EQ(getAttentionTiles(decode).getRows(), 16);
  EXPECT_EQ(getAttentionParts(decode), 32);
  decode.keys = 1024;
  EXPECT_EQ(getAttentionParts(decode), 8);
  EXPECT_EQ(getBlocksAtOnce(decode, getAttentionTiles(decode)), 3);
  decode.heads = 132;
  EXPECT_EQ(getAttentionParts(decode), 3);
  decode.heads = 396;
  EXPECT_EQ(getAttentionParts(decode), 1);
  decode.keys = 8192;
  decode.heads = 64;
  EXPECT_EQ(getAttentionParts(decode), 6);
  decode.heads = 512;
  EXPECT_EQ(getAttentionParts(decode), 3);
  decode.heads = 1;
  decode.keys = 100;
  EXPECT_EQ(getAttentionParts(decode), 1);
  // Half as many, those that fill GPUs of other sizes, and two warps.
  using Choices = llvm::SmallVector<AttentionChoice>;
  decode.heads = 80;
  decode.keys = 1030;
  decode.features = decode.valueFeatures = 64;
  EXPECT_EQ(getAttentionChoices(decode), (Choices{{6}, {3}, {5}, {6, true}}));
  decode.heads = 4;
  EXPECT_EQ(getAttentionChoices(decode), (Choices{{6}, {3}, {6, true}}));
  decode.keys = 127;
  EXPECT_EQ(getAttentionChoices(decode), (Choices{{1}}));
  decode.keys = 128;
  EXPECT_EQ(getAttentionChoices(decode), (Choices{{1}, {1, true}}));
  EXPECT_EQ(getTwoWarpTiles(decode).warps, 2);
  EXPECT_EQ(getTwoWarpTiles(decode).getRows(), 16);
  EXPECT_EQ(getTwoWarpTiles(decode).getWarpKeys(), 32);
  decode.rows = 17;
  EXPECT_FALSE(fitsTwoWarps(decode));
  decode.rows = 16;
  EXPECT_TRUE(fitsTwoWarps(decode));
  decode.isHalf = false;
  EXPECT_FALSE(fitsTwoWarps(decode));
  AttentionSize prefill = {
      /*heads=*/8,    /*rows=*/512, /*keys=*/512, 64, 64,
      /*isHalf=*/true};
  EXPECT_EQ(getAttentionTiles(prefill).getRows(), 128);
  EXPECT_EQ(getAttentionParts(prefill), 1);
  EXPECT_EQ(getAttentionChoices(prefill).size(), 1u);
  prefill.features = 256;
  EXPECT_EQ(getAttentionTiles(prefill).keys, 32);
}

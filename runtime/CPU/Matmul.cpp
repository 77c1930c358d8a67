// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CPU/Matmul.h"

#include "runtime/CPU/SkinnyMatmul.h"
#include "runtime/CPU/TileMatmul.h"
#include "runtime/Core/Batches.h"
#include "runtime/Core/Errors.h"
#include "runtime/Core/Shapes.h"
#include "runtime/Core/StridedCopy.h"

#include "absl/container/flat_hash_map.h"

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>

using namespace tprt;
using dnnl::memory;

namespace {

/// An operand in oneDNN's terms, and its strides along the batch dimensions
/// that our own loop iterates over.
struct Operand {
  memory::desc plain;
  std::vector<int64_t> outerBytes;
  /// For a bf16 operand on a CPU where oneDNN cannot multiply bf16: its strides
  /// in memory. `plain` then describes a dense f32 copy. Unless the operand is
  /// packed, `wide` holds that copy during a run.
  memory::dims narrowStrides;
  memory wide;

  bool isWidened() const { return !narrowStrides.empty(); }
};

struct Plan {
  std::vector<Batch> outer; ///< Batch dimensions of our own loop.
  Operand a, b, c;
  std::vector<Operand> postOps; ///< One per post-op; empty if no operand.
  memory::desc packedB;
  bool isBPacked; ///< If false, B is read from the operand's memory.
  bool readsC = false;
  dnnl::matmul primitive;
  memory::desc scratchpad;
  /// The memory objects are created once, as creating them takes longer than a
  /// small product; every run sets their addresses.
  std::unordered_map<int, memory> arguments;
};

} // namespace

static memory::data_type getType(DType dtype) {
  return dtype == DType::BF16 ? memory::data_type::bf16
                              : memory::data_type::f32;
}

/// oneDNN multiplies bf16 only on CPUs with AVX-512.
static bool multipliesBFloat16() {
  auto least = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & least) ==
         least;
}

/// An operand of `rows` x `columns`, in `inner` batches if there are any. A
/// stride of 0 becomes a dimension of 1, which oneDNN broadcasts.
static Operand describeOperand(const MatmulOperand &operand, int64_t rows,
                               int64_t columns, const Batch *inner,
                               size_t index) {
  memory::dims sizes, strides;
  auto add = [&](int64_t size, int64_t stride) {
    sizes.push_back(stride == 0 ? 1 : size);
    strides.push_back(stride);
  };
  if (inner)
    add(inner->size, inner->strides[index]);
  add(rows, operand.strides[kMaxBatch]);
  add(columns, operand.strides[kMaxBatch + 1]);
  // A dimension of size 1 may have any stride; oneDNN's fast paths expect the
  // dense one.
  int64_t dense = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1)
      strides[i] = dense;
    dense = std::max(dense, sizes[i] * strides[i]);
  }
  Operand result;
  if (operand.dtype == DType::BF16 && !multipliesBFloat16()) {
    result.plain =
        memory::desc(sizes, memory::data_type::f32, getStrides(sizes));
    result.narrowStrides = strides;
  } else {
    result.plain = memory::desc(sizes, getType(operand.dtype), strides);
  }
  return result;
}

/// Fills `wide`, the dense f32 form of an operand, from the operand's `data`.
static void widen(const Operand &operand, const char *data,
                  const memory &wide) {
  memory::dims sizes = operand.plain.dims();
  copyStrided(DType::F32, static_cast<char *>(wide.get_data_handle()),
              getStrides(sizes), DType::BF16, data, operand.narrowStrides,
              sizes);
}

static void narrow(const Operand &operand, char *data) {
  memory::dims sizes = operand.plain.dims();
  copyStrided(DType::BF16, data, operand.narrowStrides, DType::F32,
              static_cast<const char *>(operand.wide.get_data_handle()),
              getStrides(sizes), sizes);
}

class MatmulEngine::Impl {
public:
  Impl(const Artifact &artifact, const Team &team)
      : artifact(artifact), skinny(team), tile(team),
        engine(dnnl::engine::kind::cpu, 0), stream(engine) {}

  absl::Status run(uint32_t index, const MatmulPointers &pointers) {
    const MatmulRow &row = artifact.rows<MatmulRow>()[index];
    if (SkinnyMatmul::suits(row)) {
      skinny.run(artifact, row, pointers);
      return absl::OkStatus();
    }
    if (tile.suits(row))
      return tile.run(artifact, row, pointers);
    std::unique_ptr<Plan> &plan = plans[index];
    if (!plan)
      plan = std::make_unique<Plan>(makePlan(row));
    int64_t count = 1;
    for (const Batch &batch : plan->outer)
      count *= batch.size;
    for (int64_t number = 0; number < count; ++number)
      runOne(*plan, pointers, number);
    return absl::OkStatus();
  }

  void forgetWeights() {
    for (auto &[row, plan] : plans)
      plan->arguments[DNNL_ARG_WEIGHTS] = wrap(plan->b.plain, nullptr);
    packed.clear();
    packedBytes = 0;
    tile.forgetWeights();
  }

  uint64_t getPackedBytes() const {
    return packedBytes + tile.getPackedBytes();
  }

private:
  struct PackedWeight {
    memory::desc plain;
    memory::dims narrowStrides;
    memory data;
  };

  Plan makePlan(const MatmulRow &whole);
  /// Runs the outer batch with this number.
  void runOne(Plan &plan, const MatmulPointers &pointers, int64_t number);
  memory getPacked(const Plan &plan, const char *data);
  memory wrap(const memory::desc &desc, const char *data) {
    return memory(desc, engine, const_cast<char *>(data));
  }

  const Artifact &artifact;
  SkinnyMatmul skinny;
  TileMatmul tile;
  dnnl::engine engine;
  dnnl::stream stream;
  absl::flat_hash_map<uint32_t, std::unique_ptr<Plan>> plans;
  /// Repacked weights, by the address of the original weight. A weight that
  /// several matmuls use may be packed in several layouts.
  absl::flat_hash_map<const char *, std::vector<PackedWeight>> packed;
  uint64_t packedBytes = 0;
  memory scratchpad;
  size_t scratchpadSize = 0;
};

/// Returns how many columns to compute at a time. If B is as wide as a
/// vocabulary, oneDNN 2.6 loses half of its speed: its blocks of the weight
/// leave the cache before all rows have used them.
static int64_t getPieceWidth(const MatmulRow &row) {
  constexpr int64_t widest = 4096, unit = 64;
  if (!row.constantB || row.n <= widest)
    return row.n;
  for (int64_t width = widest; width > 0; width -= unit)
    if (row.n % width == 0)
      return width;
  return row.n;
}

static int getPostOpArgument(size_t index) {
  return DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(index)) |
         DNNL_ARG_SRC_1;
}

/// Appends a post-op to `epilogue`; `operand` is the tensor that it adds or
/// multiplies by.
static void append(dnnl::post_ops &epilogue, PostOpKind kind,
                   const memory::desc &operand) {
  using dnnl::algorithm;
  switch (kind) {
  case PostOpKind::Add:
    return epilogue.append_binary(algorithm::binary_add, operand);
  case PostOpKind::Multiply:
    return epilogue.append_binary(algorithm::binary_mul, operand);
  case PostOpKind::Accumulate:
    return epilogue.append_sum(1.0f);
  case PostOpKind::Relu:
    return epilogue.append_eltwise(1.0f, algorithm::eltwise_relu, 0.0f, 0.0f);
  case PostOpKind::GeluErf:
    return epilogue.append_eltwise(1.0f, algorithm::eltwise_gelu_erf, 0.0f,
                                   0.0f);
  case PostOpKind::GeluTanh:
    return epilogue.append_eltwise(1.0f, algorithm::eltwise_gelu_tanh, 0.0f,
                                   0.0f);
  case PostOpKind::Silu:
    return epilogue.append_eltwise(1.0f, algorithm::eltwise_swish, 1.0f, 0.0f);
  }
}

Plan MatmulEngine::Impl::makePlan(const MatmulRow &whole) {
  MatmulRow row = whole;
  row.n = getPieceWidth(whole);
  absl::Span<const PostOpRow> postOps = artifact.rows<PostOpRow>(row.postOps);
  std::vector<const MatmulOperand *> operands = {&row.a, &row.b, &row.c};
  for (const PostOpRow &postOp : postOps)
    if (postOp.kind <= PostOpKind::Multiply)
      operands.push_back(&postOp.operand);

  Plan plan;
  plan.outer = getBatches(row, operands);
  // oneDNN takes one batch dimension, along which the result and A or B
  // advance. It is not used with an epilogue: in 2.6 the gemm-based matmul
  // crashes on a batched epilogue whose result is strided.
  const Batch *inner = nullptr;
  Batch last;
  if (!plan.outer.empty() && postOps.empty()) {
    const std::vector<int64_t> &strides = plan.outer.back().strides;
    if (strides[2] != 0 && (strides[0] != 0 || strides[1] != 0)) {
      last = std::move(plan.outer.back());
      plan.outer.pop_back();
      inner = &last;
    }
  }
  size_t index = 0;
  auto makeOperand = [&](const MatmulOperand &operand, int64_t rows,
                         int64_t columns) {
    Operand result = describeOperand(operand, rows, columns, inner, index);
    for (size_t i = 0; i < plan.outer.size(); ++i)
      result.outerBytes.push_back(plan.outer[i].strides[index] *
                                  getSize(operand.dtype));
    ++index;
    return result;
  };
  plan.outer.push_back({whole.n / row.n, {}});
  for (const MatmulOperand *operand : operands)
    plan.outer.back().strides.push_back(
        operand == &row.a ? 0 : row.n * operand->strides[kMaxBatch + 1]);
  plan.a = makeOperand(row.a, row.m, row.k);
  plan.b = makeOperand(row.b, row.k, row.n);
  plan.c = makeOperand(row.c, row.m, row.n);

  dnnl::post_ops epilogue;
  for (const PostOpRow &postOp : postOps) {
    Operand operand;
    if (postOp.kind <= PostOpKind::Multiply)
      operand = makeOperand(postOp.operand, row.m, row.n);
    plan.readsC |= postOp.kind == PostOpKind::Accumulate;
    append(epilogue, postOp.kind, operand.plain);
    plan.postOps.push_back(operand);
  }
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(epilogue);
  // All matmuls share one scratchpad, as they run one after another.
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);

  memory::desc b = plan.b.plain;
  if (row.constantB)
    b = memory::desc(b.dims(), b.data_type(), memory::format_tag::any);
  dnnl::matmul::primitive_desc description(
      dnnl::matmul::desc(plan.a.plain, b, plan.c.plain), attributes, engine);
  plan.packedB = description.weights_desc();
  plan.isBPacked =
      plan.packedB != plan.b.plain || (row.constantB && plan.b.isWidened());
  plan.scratchpad = description.scratchpad_desc();
  plan.primitive = dnnl::matmul(description);

  auto add = [&](int argument, const memory::desc &desc) {
    plan.arguments.emplace(argument, wrap(desc, nullptr));
  };
  add(DNNL_ARG_SRC, plan.a.plain);
  add(DNNL_ARG_WEIGHTS, plan.b.plain);
  add(DNNL_ARG_DST, plan.c.plain);
  add(DNNL_ARG_SCRATCHPAD, plan.scratchpad);
  for (size_t i = 0; i < postOps.size(); ++i)
    if (postOps[i].kind <= PostOpKind::Multiply)
      add(getPostOpArgument(i), plan.postOps[i].plain);
  return plan;
}

/// Returns the weight in the layout of the plan, repacked at most once.
memory MatmulEngine::Impl::getPacked(const Plan &plan, const char *data) {
  std::vector<PackedWeight> &forms = packed[data];
  for (const PackedWeight &form : forms)
    if (form.plain == plan.b.plain &&
        form.narrowStrides == plan.b.narrowStrides &&
        form.data.get_desc() == plan.packedB)
      return form.data;
  memory result = wrap(plan.b.plain, data);
  if (plan.b.isWidened()) {
    result = memory(plan.b.plain, engine);
    widen(plan.b, data, result);
  }
  if (plan.packedB != plan.b.plain) {
    memory plain = result;
    result = memory(plan.packedB, engine);
    dnnl::reorder(plain, result).execute(stream, plain, result);
    stream.wait();
  }
  packedBytes += plan.packedB.get_size();
  forms.push_back({plan.b.plain, plan.b.narrowStrides, result});
  return result;
}

void MatmulEngine::Impl::runOne(Plan &plan, const MatmulPointers &pointers,
                                int64_t number) {
  auto move = [&](const Operand &operand, const char *data) {
    int64_t rest = number;
    for (size_t i = plan.outer.size(); i-- > 0;) {
      data += rest % plan.outer[i].size * operand.outerBytes[i];
      rest /= plan.outer[i].size;
    }
    return data;
  };
  if (plan.scratchpad.get_size() > scratchpadSize) {
    scratchpad = memory(plan.scratchpad, engine);
    scratchpadSize = plan.scratchpad.get_size();
  }
  auto place = [&](int argument, Operand &operand, const char *data,
                   bool isRead = true) {
    const char *here = move(operand, data);
    if (operand.isWidened() && !operand.wide)
      operand.wide = memory(operand.plain, engine);
    if (operand.isWidened() && isRead)
      widen(operand, here, operand.wide);
    plan.arguments.at(argument).set_data_handle(
        operand.isWidened() ? operand.wide.get_data_handle()
                            : const_cast<char *>(here));
  };
  place(DNNL_ARG_SRC, plan.a, pointers.a);
  place(DNNL_ARG_DST, plan.c, pointers.c, plan.readsC);
  if (!plan.isBPacked)
    place(DNNL_ARG_WEIGHTS, plan.b, pointers.b);
  else
    plan.arguments[DNNL_ARG_WEIGHTS] =
        getPacked(plan, move(plan.b, pointers.b));
  if (scratchpadSize > 0)
    plan.arguments.at(DNNL_ARG_SCRATCHPAD)
        .set_data_handle(scratchpad.get_data_handle());
  for (size_t i = 0; i < plan.postOps.size(); ++i)
    if (pointers.postOps[i])
      place(getPostOpArgument(i), plan.postOps[i], pointers.postOps[i]);
  plan.primitive.execute(stream, plan.arguments);
  stream.wait();
  if (plan.c.isWidened())
    narrow(plan.c, const_cast<char *>(move(plan.c, pointers.c)));
}

MatmulEngine::MatmulEngine(const Artifact &artifact, const Team &team)
    : impl(std::make_unique<Impl>(artifact, team)) {}
MatmulEngine::~MatmulEngine() = default;

absl::Status MatmulEngine::run(uint32_t row, const MatmulPointers &pointers) {
  // oneDNN's C++ interface throws; exceptions must not leave this function.
  try {
    return impl->run(row, pointers);
  } catch (const dnnl::error &error) {
    return makeError(error.status == dnnl_out_of_memory
                         ? ErrorCode::OutOfMemory
                         : ErrorCode::MatmulFailed,
                     "oneDNN: ", error.what(), " (status ",
                     static_cast<int>(error.status), ")");
  } catch (const std::bad_alloc &) {
    return makeError(ErrorCode::OutOfMemory,
                     "not enough memory to repack the weight of a matmul");
  }
}

void MatmulEngine::forgetWeights() { impl->forgetWeights(); }
uint64_t MatmulEngine::getPackedBytes() const { return impl->getPackedBytes(); }

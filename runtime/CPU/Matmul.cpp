// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CPU/Matmul.h"

#include "runtime/CPU/MatmulRows.h"
#include "runtime/CPU/SkinnyMatmul.h"
#include "runtime/CPU/TileMatmul.h"
#include "runtime/Core/Batches.h"
#include "runtime/Core/Errors.h"
#include "runtime/Core/LargePages.h"
#include "runtime/Core/Shapes.h"
#include "runtime/Core/StridedCopy.h"

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/optional.h"

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>

using namespace tprt;
using dnnl::memory;

namespace {

constexpr int64_t kLeastPieceRows = 32;

/// An operand of a piece in oneDNN's terms, and its strides from piece to
/// piece.
struct Operand {
  memory::desc plain;
  std::vector<int64_t> outerBytes;
  /// For a bf16 operand on a CPU where oneDNN cannot multiply bf16: its strides
  /// in memory. `plain` then describes a dense f32 copy.
  memory::dims narrowStrides;

  bool isWidened() const { return !narrowStrides.empty(); }
};

/// How oneDNN computes pieces of one size.
struct Plan {
  Operand a, b, c;
  std::vector<Operand> postOps; ///< One per post-op; empty if no operand.
  memory::desc packedB;
  bool isBPacked; ///< If false, B is read from the operand's memory.
  bool readsC = false;
  dnnl::matmul primitive;
  memory::desc scratchpad;
};

/// A thread's memory objects for a plan, by argument. They are created once,
/// because that takes longer than a small product. Each piece sets their
/// addresses.
struct Bindings {
  std::unordered_map<int, memory> arguments;
  std::unordered_map<int, memory> wide; ///< Of operands that are widened.
};

/// A row of the Matmuls table, cut into pieces: [outer.., columns, rows].
struct Product {
  std::vector<Batch> outer;
  int64_t numPieces = 1;
  bool isParallel = false;
  Plan plan;
  absl::optional<Plan> lastPlan; ///< For the last rows, if they are fewer.
  struct Thread {
    Bindings bindings, lastBindings;
  };
  std::vector<Thread> threads;
  const char *packedB = nullptr; ///< The operand that is packed by now.

  bool isLast(int64_t piece) const {
    return lastPlan && (piece + 1) % outer.back().size == 0;
  }
  const Plan &getPlan(int64_t piece) const {
    return isLast(piece) ? *lastPlan : plan;
  }
  /// Returns where an operand of a piece begins.
  const char *move(const Operand &operand, const char *data,
                   int64_t piece) const {
    for (size_t i = outer.size(); i-- > 0; piece /= outer[i].size)
      data += piece % outer[i].size * operand.outerBytes[i];
    return data;
  }
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

static void narrow(const Operand &operand, const memory &wide, char *data) {
  memory::dims sizes = operand.plain.dims();
  copyStrided(DType::BF16, data, operand.narrowStrides, DType::F32,
              static_cast<const char *>(wide.get_data_handle()),
              getStrides(sizes), sizes);
}

/// oneDNN's C++ interface throws; exceptions must not leave a thread's work.
template <typename Body> static absl::Status guard(Body body) {
  try {
    body();
    return absl::OkStatus();
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

class MatmulEngine::Impl {
public:
  Impl(const Artifact &artifact, Team &team)
      : artifact(artifact), team(team), skinny(team), tile(team),
        engine(dnnl::engine::kind::cpu, 0) {
    for (int i = 0; i < team.size(); ++i)
      workspaces.push_back({dnnl::stream(engine), {}, 0});
  }

  absl::Status run(uint32_t index, const MatmulPointers &pointers) {
    const MatmulRow &row = artifact.rows<MatmulRow>()[index];
    if (SkinnyMatmul::suits(row)) {
      skinny.run(artifact, row, pointers);
      return absl::OkStatus();
    }
    if (tile.suits(row))
      return tile.run(artifact, row, pointers);
    std::unique_ptr<Product> &product = products[index];
    if (!product)
      product = std::make_unique<Product>(makeProduct(row));
    TPRT_RETURN_IF_ERROR(packWeight(*product, pointers.b));
    return runParts(product->isParallel, product->numPieces,
                    [&](int part, int64_t piece) {
                      runPiece(*product, pointers, part, piece);
                    });
  }

  void forgetWeights() {
    for (auto &[row, product] : products)
      product->packedB = nullptr;
    packed.clear();
    packedPages.clear();
    packedBytes = 0;
    skinny.forgetWeights();
    tile.forgetWeights();
  }

  uint64_t getPackedBytes() const {
    return packedBytes + skinny.getPackedBytes() + tile.getPackedBytes();
  }

private:
  struct PackedWeight {
    memory::desc plain;
    memory::dims narrowStrides;
    memory data;
  };
  /// What one thread at a time uses.
  struct Workspace {
    dnnl::stream stream;
    memory scratchpad;
    size_t scratchpadSize;
  };

  /// Calls body(part, item) for all items, on the threads of the team.
  template <typename Body>
  absl::Status runParts(bool isParallel, int64_t items, Body body) {
    absl::InlinedVector<absl::Status, 8> results(team.size());
    auto compute = [&](int part, int parts) {
      auto [begin, end] = Team::split(items, part, parts);
      results[part] = guard([&, begin = begin, end = end] {
        for (int64_t item = begin; item < end; ++item)
          body(part, item);
      });
    };
    if (isParallel)
      team.run(compute);
    else
      compute(0, 1);
    for (const absl::Status &result : results)
      TPRT_RETURN_IF_ERROR(result);
    return absl::OkStatus();
  }

  Product makeProduct(const MatmulRow &whole) const;
  Plan makePlan(const MatmulRow &piece, const Batch *inner,
                absl::Span<const Batch> outer,
                absl::optional<memory::desc> packedB) const;
  Bindings bind(const Plan &plan) const;
  absl::Status packWeight(Product &product, const char *b);
  const memory *findPacked(const Plan &plan, const char *b) const;
  void pack(const Plan &plan, const char *b, memory &to, dnnl::stream &stream);
  void runPiece(Product &product, const MatmulPointers &pointers, int part,
                int64_t piece);
  memory wrap(const memory::desc &desc, const char *data) const {
    return memory(desc, engine, const_cast<char *>(data));
  }

  const Artifact &artifact;
  Team &team;
  SkinnyMatmul skinny;
  TileMatmul tile;
  dnnl::engine engine;
  std::vector<Workspace> workspaces; ///< For each part.
  absl::flat_hash_map<uint32_t, std::unique_ptr<Product>> products;
  /// Repacked weights, by the address of the original weight. A weight that
  /// several matmuls use may be packed in several layouts.
  absl::flat_hash_map<const char *, std::vector<PackedWeight>> packed;
  LargePages packedPages;
  uint64_t packedBytes = 0;
};

/// Returns how many columns to compute at a time. If B is as wide as a
/// vocabulary, oneDNN 2.6 loses half of its speed: its blocks of the weight
/// leave the cache before all rows have used them. A weight that threads can
/// share is repacked by all of them.
static int64_t getPieceWidth(const MatmulRow &row, int threads) {
  constexpr int64_t widest = 4096, narrowest = 512, unit = 64;
  if (!row.constantB)
    return row.n;
  int64_t limit =
      std::min(widest, std::max(narrowest, divideUp(row.n, threads)));
  if (row.n <= limit)
    return row.n;
  for (int64_t width = limit / unit * unit; width >= narrowest / 2;
       width -= unit)
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

/// Returns the operands of a product and its post-ops: A, B, C, and those of
/// the post-ops that have one.
static std::vector<const MatmulOperand *>
getOperands(const MatmulRow &row, absl::Span<const PostOpRow> postOps) {
  std::vector<const MatmulOperand *> operands = {&row.a, &row.b, &row.c};
  for (const PostOpRow &postOp : postOps)
    if (postOp.kind <= PostOpKind::Multiply)
      operands.push_back(&postOp.operand);
  return operands;
}

/// Splits off the part of the last batch dimension that oneDNN computes in one
/// call, so that there are at least `wanted` pieces if possible. oneDNN takes
/// one batch dimension, along which the result and A or B advance.
static absl::optional<Batch> takeInner(std::vector<Batch> &outer,
                                       int64_t wanted) {
  if (outer.empty())
    return absl::nullopt;
  Batch &last = outer.back();
  if (last.strides[2] == 0 || (last.strides[0] == 0 && last.strides[1] == 0))
    return absl::nullopt;
  int64_t others = 1;
  for (const Batch &batch : outer)
    others *= batch.size;
  others /= last.size;
  int64_t size = last.size;
  while (size > 1 &&
         (last.size % size != 0 || others * (last.size / size) < wanted))
    --size;
  if (size == 1)
    return absl::nullopt;
  Batch inner = {size, last.strides};
  last.size /= size;
  for (int64_t &stride : last.strides)
    stride *= size;
  return inner;
}

Product MatmulEngine::Impl::makeProduct(const MatmulRow &whole) const {
  absl::Span<const PostOpRow> postOps = artifact.rows<PostOpRow>(whole.postOps);
  std::vector<const MatmulOperand *> operands = getOperands(whole, postOps);
  Product product;
  int64_t batches = whole.batch[0] * whole.batch[1] * whole.batch[2];
  product.isParallel =
      team.size() > 1 &&
      batches * whole.m * whole.n * whole.k >= kMinParallelWork;
  int64_t wanted = product.isParallel ? team.size() * kMinPartsPerThread : 1;

  MatmulRow piece = whole;
  piece.n = getPieceWidth(whole, product.isParallel ? team.size() : 1);
  product.outer = getBatches(whole, operands);
  // No batch goes into a call with an epilogue: in 2.6 the gemm-based matmul
  // crashes on a batched epilogue whose result is strided.
  absl::optional<Batch> inner;
  if (postOps.empty())
    inner = takeInner(product.outer, wanted);
  auto cut = [&](int64_t count, int64_t size, unsigned dimension) {
    Batch batch = {count, {}};
    for (const MatmulOperand *operand : operands) {
      bool isFixed = operand == (dimension == kMaxBatch ? &whole.b : &whole.a);
      batch.strides.push_back(isFixed ? 0 : size * operand->strides[dimension]);
    }
    product.outer.push_back(std::move(batch));
  };
  cut(whole.n / piece.n, piece.n, kMaxBatch + 1);
  for (const Batch &batch : product.outer)
    product.numPieces *= batch.size;
  piece.m = std::min(
      whole.m,
      std::max(kLeastPieceRows, divideUp(whole.m * product.numPieces, wanted)));
  int64_t heights = divideUp(whole.m, piece.m);
  cut(heights, piece.m, kMaxBatch);
  product.numPieces *= heights;

  const Batch *innerOrNull = inner ? &*inner : nullptr;
  product.plan = makePlan(piece, innerOrNull, product.outer, absl::nullopt);
  if (whole.m % piece.m != 0) {
    piece.m = whole.m % piece.m;
    product.lastPlan =
        makePlan(piece, innerOrNull, product.outer, product.plan.packedB);
  }
  product.threads.resize(team.size());
  return product;
}

/// Plans pieces of this size. They have B in the layout `packedB` if it is
/// given.
Plan MatmulEngine::Impl::makePlan(const MatmulRow &piece, const Batch *inner,
                                  absl::Span<const Batch> outer,
                                  absl::optional<memory::desc> packedB) const {
  absl::Span<const PostOpRow> postOps = artifact.rows<PostOpRow>(piece.postOps);
  Plan plan;
  size_t index = 0;
  auto makeOperand = [&](const MatmulOperand &operand, int64_t rows,
                         int64_t columns) {
    Operand result = describeOperand(operand, rows, columns, inner, index);
    for (const Batch &batch : outer)
      result.outerBytes.push_back(batch.strides[index] *
                                  getSize(operand.dtype));
    ++index;
    return result;
  };
  plan.a = makeOperand(piece.a, piece.m, piece.k);
  plan.b = makeOperand(piece.b, piece.k, piece.n);
  plan.c = makeOperand(piece.c, piece.m, piece.n);

  dnnl::post_ops epilogue;
  for (const PostOpRow &postOp : postOps) {
    Operand operand;
    if (postOp.kind <= PostOpKind::Multiply)
      operand = makeOperand(postOp.operand, piece.m, piece.n);
    plan.readsC |= postOp.kind == PostOpKind::Accumulate;
    append(epilogue, postOp.kind, operand.plain);
    plan.postOps.push_back(operand);
  }
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(epilogue);
  // A thread's products share one scratchpad, as they run one after another.
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);

  memory::desc b = plan.b.plain;
  if (packedB)
    b = *packedB;
  else if (piece.constantB)
    b = memory::desc(b.dims(), b.data_type(), memory::format_tag::any);
  dnnl::matmul::primitive_desc description(
      dnnl::matmul::desc(plan.a.plain, b, plan.c.plain), attributes, engine);
  plan.packedB = description.weights_desc();
  plan.isBPacked =
      plan.packedB != plan.b.plain || (piece.constantB && plan.b.isWidened());
  plan.scratchpad = description.scratchpad_desc();
  plan.primitive = dnnl::matmul(description);
  return plan;
}

Bindings MatmulEngine::Impl::bind(const Plan &plan) const {
  Bindings bindings;
  auto add = [&](int argument, const Operand &operand) {
    bindings.arguments.emplace(argument, wrap(operand.plain, nullptr));
    if (operand.isWidened())
      bindings.wide.emplace(argument, memory(operand.plain, engine));
  };
  add(DNNL_ARG_SRC, plan.a);
  if (plan.isBPacked)
    bindings.arguments.emplace(DNNL_ARG_WEIGHTS, memory());
  else
    add(DNNL_ARG_WEIGHTS, plan.b);
  add(DNNL_ARG_DST, plan.c);
  bindings.arguments.emplace(DNNL_ARG_SCRATCHPAD,
                             wrap(plan.scratchpad, nullptr));
  for (size_t i = 0; i < plan.postOps.size(); ++i)
    if (!plan.postOps[i].outerBytes.empty())
      add(getPostOpArgument(i), plan.postOps[i]);
  return bindings;
}

//===----------------------------------------------------------------------===//
// Repacked weights
//===----------------------------------------------------------------------===//

const memory *MatmulEngine::Impl::findPacked(const Plan &plan,
                                             const char *b) const {
  auto forms = packed.find(b);
  if (forms == packed.end())
    return nullptr;
  for (const PackedWeight &form : forms->second)
    if (form.plain == plan.b.plain &&
        form.narrowStrides == plan.b.narrowStrides &&
        form.data.get_desc() == plan.packedB)
      return &form.data;
  return nullptr;
}

/// Writes the weight at `b` to `to`, in the layout of the plan.
void MatmulEngine::Impl::pack(const Plan &plan, const char *b, memory &to,
                              dnnl::stream &stream) {
  memory plain = wrap(plan.b.plain, b);
  if (plan.b.isWidened()) {
    plain = plan.packedB == plan.b.plain ? to : memory(plan.b.plain, engine);
    widen(plan.b, b, plain);
  }
  if (plan.packedB == plan.b.plain)
    return;
  dnnl::reorder(plain, to).execute(stream, plain, to);
  stream.wait();
}

/// Repacks the pieces of a weight that are not yet in the product's layout.
absl::Status MatmulEngine::Impl::packWeight(Product &product, const char *b) {
  const Plan &plan = product.plan;
  if (!plan.isBPacked || product.packedB == b)
    return absl::OkStatus();
  std::vector<std::pair<const char *, memory>> missing;
  for (int64_t piece = 0; piece < product.numPieces; ++piece) {
    const char *address = product.move(plan.b, b, piece);
    auto isAddress = [&](const auto &other) { return other.first == address; };
    if (findPacked(plan, address) || absl::c_any_of(missing, isAddress))
      continue;
    TPRT_ASSIGN_OR_RETURN(char *data,
                          packedPages.allocate(plan.packedB.get_size()));
    missing.push_back({address, wrap(plan.packedB, data)});
  }
  TPRT_RETURN_IF_ERROR(
      runParts(product.isParallel, static_cast<int64_t>(missing.size()),
               [&](int part, int64_t item) {
                 auto &[address, data] = missing[item];
                 pack(plan, address, data, workspaces[part].stream);
               }));
  for (auto &[address, data] : missing) {
    packed[address].push_back({plan.b.plain, plan.b.narrowStrides, data});
    packedBytes += plan.packedB.get_size();
  }
  product.packedB = b;
  return absl::OkStatus();
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// Computes a piece with the workspace of part `part`.
void MatmulEngine::Impl::runPiece(Product &product,
                                  const MatmulPointers &pointers, int part,
                                  int64_t piece) {
  const Plan &plan = product.getPlan(piece);
  Product::Thread &thread = product.threads[part];
  Bindings &bindings =
      product.isLast(piece) ? thread.lastBindings : thread.bindings;
  if (bindings.arguments.empty())
    bindings = bind(plan);
  Workspace &workspace = workspaces[part];
  if (plan.scratchpad.get_size() > workspace.scratchpadSize) {
    workspace.scratchpad = memory(plan.scratchpad, engine);
    workspace.scratchpadSize = plan.scratchpad.get_size();
  }
  auto place = [&](int argument, const Operand &operand, const char *data,
                   bool isRead = true) {
    const char *here = product.move(operand, data, piece);
    memory &bound = bindings.arguments.at(argument);
    if (!operand.isWidened())
      return bound.set_data_handle(const_cast<char *>(here));
    const memory &wide = bindings.wide.at(argument);
    if (isRead)
      widen(operand, here, wide);
    bound.set_data_handle(wide.get_data_handle());
  };
  place(DNNL_ARG_SRC, plan.a, pointers.a);
  place(DNNL_ARG_DST, plan.c, pointers.c, plan.readsC);
  if (plan.isBPacked)
    bindings.arguments[DNNL_ARG_WEIGHTS] =
        *findPacked(plan, product.move(plan.b, pointers.b, piece));
  else
    place(DNNL_ARG_WEIGHTS, plan.b, pointers.b);
  if (workspace.scratchpadSize > 0)
    bindings.arguments.at(DNNL_ARG_SCRATCHPAD)
        .set_data_handle(workspace.scratchpad.get_data_handle());
  for (size_t i = 0; i < plan.postOps.size(); ++i)
    if (pointers.postOps[i])
      place(getPostOpArgument(i), plan.postOps[i], pointers.postOps[i]);
  plan.primitive.execute(workspace.stream, bindings.arguments);
  workspace.stream.wait();
  if (plan.c.isWidened())
    narrow(plan.c, bindings.wide.at(DNNL_ARG_DST),
           const_cast<char *>(product.move(plan.c, pointers.c, piece)));
}

MatmulEngine::MatmulEngine(const Artifact &artifact, Team &team)
    : impl(std::make_unique<Impl>(artifact, team)) {}
MatmulEngine::~MatmulEngine() = default;

absl::Status MatmulEngine::run(uint32_t row, const MatmulPointers &pointers) {
  absl::Status status;
  TPRT_RETURN_IF_ERROR(guard([&] { status = impl->run(row, pointers); }));
  return status;
}

void MatmulEngine::forgetWeights() { impl->forgetWeights(); }
uint64_t MatmulEngine::getPackedBytes() const { return impl->getPackedBytes(); }

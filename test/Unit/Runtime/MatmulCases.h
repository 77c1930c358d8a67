// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Matmuls of every layout and epilogue, and what they should compute.

#ifndef TPOPT_TEST_UNIT_RUNTIME_MATMULCASES_H
#define TPOPT_TEST_UNIT_RUNTIME_MATMULCASES_H

#include "TestProgram.h"
#include "runtime/Core/Errors.h"
#include "runtime/Core/Session.h"
#include "runtime/Core/StridedCopy.h"

#include "gtest/gtest.h"

#include <cmath>

namespace tprt::test {

/// An operand's layout: strides of batch.., row, column, and the elements its
/// storage has.
struct Layout {
  int64_t strides[kMaxBatch + 2];
  int64_t elements;
};

/// Dense storage with dimensions outermost first as `order` says (0..2 batch, 3
/// rows, 4 columns), rows padded by `gap` elements; a dimension absent from
/// `order` is broadcast.
inline Layout makeLayout(const MatmulRow &row, int64_t rows, int64_t columns,
                         const std::vector<int> &order, int64_t gap = 0) {
  int64_t sizes[kMaxBatch + 2] = {row.batch[0], row.batch[1], row.batch[2],
                                  rows, columns};
  Layout layout = {};
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    layout.strides[order[i]] = stride;
    stride = stride * sizes[order[i]] + (i + 1 == order.size() ? gap : 0);
  }
  layout.elements = stride;
  return layout;
}

struct MatmulCase {
  const char *name;
  int64_t batch[kMaxBatch];
  int64_t m, n, k;
  std::vector<int> a, b, c;
  int64_t gap = 0;
};

const MatmulCase kCases[] = {
    {"plain", {1, 1, 1}, 5, 7, 9, {3, 4}, {3, 4}, {3, 4}},
    {"one row", {1, 1, 1}, 1, 33, 17, {3, 4}, {3, 4}, {3, 4}},
    {"one column", {1, 1, 1}, 6, 1, 4, {3, 4}, {4, 3}, {3, 4}},
    {"A transposed", {1, 1, 1}, 5, 7, 9, {4, 3}, {3, 4}, {3, 4}},
    {"B transposed", {1, 1, 1}, 5, 7, 9, {3, 4}, {4, 3}, {3, 4}},
    {"both transposed", {1, 1, 1}, 16, 32, 8, {4, 3}, {4, 3}, {3, 4}},
    {"rows apart", {1, 1, 1}, 5, 7, 9, {3, 4}, {3, 4}, {3, 4}, 3},
    {"batched", {3, 1, 1}, 5, 7, 9, {0, 3, 4}, {0, 3, 4}, {0, 3, 4}},
    {"two batches merge",
     {2, 3, 1},
     4,
     5,
     6,
     {0, 1, 3, 4},
     {0, 1, 3, 4},
     {0, 1, 3, 4}},
    {"heads inside tokens",
     {2, 3, 1},
     4,
     5,
     6,
     {0, 3, 1, 4},
     {0, 1, 4, 3},
     {0, 3, 1, 4}},
    {"B shared by a batch",
     {2, 3, 1},
     4,
     5,
     6,
     {0, 1, 3, 4},
     {0, 3, 4},
     {0, 1, 3, 4}},
    {"A shared", {3, 1, 1}, 4, 5, 6, {3, 4}, {0, 3, 4}, {0, 3, 4}},
    {"three batches",
     {2, 3, 2},
     4,
     5,
     6,
     {1, 0, 2, 3, 4},
     {2, 0, 1, 3, 4},
     {0, 1, 2, 3, 4}},
    {"grouped queries",
     {2, 2, 3},
     4,
     5,
     6,
     {0, 3, 1, 2, 4},
     {0, 1, 4, 3},
     {0, 1, 2, 3, 4}},
};

struct PostOps {
  const char *name;
  std::vector<PostOpKind> kinds;
  /// Dimensions of the operand of Add and Multiply.
  std::vector<int> operand;
  int64_t begin = 0; ///< The operand's first element.
};

const PostOps kEpilogues[] = {
    {"none", {}, {}},
    {"bias", {PostOpKind::Add}, {4}},
    {"bias, gelu", {PostOpKind::Add, PostOpKind::GeluErf}, {4}},
    {"residual", {PostOpKind::Add}, {0, 1, 2, 3, 4}},
    {"gate", {PostOpKind::Silu, PostOpKind::Multiply}, {0, 1, 2, 3, 4}},
    {"column", {PostOpKind::Multiply}, {3, 4}},
    {"scalar", {PostOpKind::Multiply}, {}},
    {"accumulate, relu", {PostOpKind::Accumulate, PostOpKind::Relu}, {}},
    {"gelu", {PostOpKind::GeluTanh}, {}},
};

inline double apply(PostOpKind kind, double value, double operand,
                    double before) {
  switch (kind) {
  case PostOpKind::Add:
    return value + operand;
  case PostOpKind::Multiply:
    return value * operand;
  case PostOpKind::Accumulate:
    return value + before;
  case PostOpKind::Relu:
    return std::max(value, 0.0);
  case PostOpKind::GeluErf:
    return 0.5 * value * (1 + std::erf(value / std::sqrt(2.0)));
  case PostOpKind::GeluTanh:
    return 0.5 * value *
           (1 + std::tanh(std::sqrt(2 / M_PI) *
                          (value + 0.044715 * value * value * value)));
  case PostOpKind::Silu:
    return value / (1 + std::exp(-value));
  }
  return value;
}

/// Quarters in (-1, 1): exact in bf16, and so are sums of their products in
/// f32.
inline double valueOf(int64_t i, int seed) {
  return static_cast<double>((i * 5 + seed * 3) % 7 - 3) / 4;
}

class Storage {
public:
  Storage(DType dtype, int64_t elements, int seed)
      : dtype(dtype), bytes(elements * getSize(dtype), '\0') {
    for (int64_t i = 0; i < elements; ++i)
      set(i, valueOf(i, seed));
  }
  double get(int64_t i) const {
    double value;
    copyStrided(DType::F64, reinterpret_cast<char *>(&value), {}, dtype,
                &bytes[i * getSize(dtype)], {}, {});
    return value;
  }
  void set(int64_t i, double value) {
    copyStrided(dtype, &bytes[i * getSize(dtype)], {}, DType::F64,
                reinterpret_cast<const char *>(&value), {}, {});
  }

  DType dtype;
  std::string bytes;
};

/// Computes it on a backend and compares with the definition. A backend may
/// refuse with GpuStep, if `refused` is there to be told.
inline void check(const MatmulCase &test, const PostOps &epilogue, DType dtype,
                  DType cType, bool constantB, SessionOptions options = {},
                  bool *refused = nullptr) {
  SCOPED_TRACE(absl::StrCat(
      test.name, ", ", epilogue.name, ", ", getName(dtype), " -> ",
      getName(cType), constantB ? ", constant B" : "", ", ", options.backend));
  TestProgram program;
  if (options.backend != "cpu")
    program.target = kCudaTarget;
  MatmulRow row = {};
  std::copy_n(test.batch, kMaxBatch, row.batch);
  row.m = test.m, row.n = test.n, row.k = test.k;
  row.constantB = constantB;
  Layout a = makeLayout(row, test.m, test.k, test.a, test.gap);
  Layout b = makeLayout(row, test.k, test.n, test.b, test.gap);
  Layout c = makeLayout(row, test.m, test.n, test.c, test.gap);
  Layout o = makeLayout(row, test.m, test.n, epilogue.operand);
  Storage aData(dtype, a.elements, 1), bData(dtype, b.elements, 2),
      cData(cType, c.elements, 4), oData(cType, epilogue.begin + o.elements, 3);

  auto addInput = [&](const char *name, const Storage &data, Role role) {
    int64_t elements = data.bytes.size() / getSize(data.dtype);
    uint32_t input = program.addInput(name, data.dtype, {{elements, {}}}, role);
    return program.buffer(Space::Input, input, data.bytes.size());
  };
  auto makeOperand = [](BufferRow buffer, DType type, const Layout &layout) {
    MatmulOperand operand = {buffer, type, 0, {}};
    std::copy_n(layout.strides, kMaxBatch + 2, operand.strides);
    return operand;
  };
  row.a = makeOperand(addInput("a", aData, Role::Input), dtype, a);
  row.b = makeOperand(addInput("b", bData, Role::Parameter), dtype, b);
  row.c = makeOperand(addInput("c", cData, Role::Input), cType, c);
  program.addOutput("c.out", cType, {{c.elements, {}}}, row.c.buffer.index);
  BufferRow operand = addInput("o", oData, Role::Input);
  operand.offset += epilogue.begin * getSize(cType);
  operand.size -= epilogue.begin * getSize(cType);
  std::vector<PostOpRow> postOps;
  for (PostOpKind kind : epilogue.kinds)
    postOps.push_back({kind, 0, makeOperand(operand, cType, o)});
  row.postOps = program.writer.addAll<PostOpRow>(absl::MakeConstSpan(postOps));
  program.addStep(StepKind::Matmul, program.writer.add(row), "matmul");

  auto artifact = Artifact::fromBytes(program.finish());
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  auto session = Session::open(options, *artifact);
  if (refused) {
    *refused = getErrorCode(session.status()) == ErrorCode::GpuStep;
    if (*refused)
      return;
  }
  ASSERT_TRUE(session.ok()) << session.status();
  auto bind = [&](const char *name, const Storage &data) {
    int64_t elements =
        static_cast<int64_t>(data.bytes.size()) / getSize(data.dtype);
    ASSERT_TRUE(
        (*session)->bind(name, data.dtype, {elements}, data.bytes).ok());
  };
  bind("a", aData);
  bind("b", bData);
  bind("o", oData);
  // A weight that is used again may have a copy by then.
  for (int run = 0; run < (constantB ? 3 : 1); ++run) {
    bind("c", cData);
    absl::Status status = (*session)->run("main");
    ASSERT_TRUE(status.ok()) << status;
  }
  Storage result = cData;
  result.bytes = *(*session)->read("c.out");

  // Whatever the matmul does not write must stay, so start from what was there.
  Storage wanted = cData;
  for (int64_t x = 0; x < test.batch[0]; ++x)
    for (int64_t y = 0; y < test.batch[1]; ++y)
      for (int64_t z = 0; z < test.batch[2]; ++z)
        for (int64_t i = 0; i < test.m; ++i)
          for (int64_t j = 0; j < test.n; ++j) {
            auto at = [&](const Layout &l, int64_t r, int64_t s) {
              return x * l.strides[0] + y * l.strides[1] + z * l.strides[2] +
                     r * l.strides[3] + s * l.strides[4];
            };
            double value = 0;
            for (int64_t l = 0; l < test.k; ++l)
              value += aData.get(at(a, i, l)) * bData.get(at(b, l, j));
            for (PostOpKind kind : epilogue.kinds)
              value =
                  apply(kind, value, oData.get(epilogue.begin + at(o, i, j)),
                        cData.get(at(c, i, j)));
            wanted.set(at(c, i, j), value);
          }
  double tolerance = cType == DType::BF16 ? 0x1p-7 : 2e-5;
  for (int64_t i = 0; i < c.elements; ++i)
    ASSERT_NEAR(result.get(i), wanted.get(i),
                tolerance * (std::abs(wanted.get(i)) + 0.01))
        << "element " << i;
}

} // namespace tprt::test

#endif // TPOPT_TEST_UNIT_RUNTIME_MATMULCASES_H

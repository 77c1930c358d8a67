// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ContractionPlan.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

Run Contraction::getRun(char letter) const {
  Run run{1, {}};
  for (auto [index, view] : llvm::enumerate(operands)) {
    size_t dim = getLetters(index).find(letter);
    bool isThere = dim != StringRef::npos;
    run.strides.push_back(isThere ? view.strides[dim] : 0);
    if (isThere)
      run.size = view.shape[dim];
  }
  return run;
}

Contraction Contraction::take(char letter, int64_t begin, int64_t size) const {
  Contraction part = *this;
  for (auto [index, view] : llvm::enumerate(part.operands)) {
    size_t dim = getLetters(index).find(letter);
    if (dim == StringRef::npos)
      continue;
    view.offset += begin * view.strides[dim];
    view.shape[dim] = size;
  }
  return part;
}

/// Appends `inner`, merged into the last run if it continues that run in all
/// operands.
static void append(SmallVectorImpl<Run> &runs, const Run &inner) {
  if (inner.size == 1)
    return;
  if (!runs.empty()) {
    Run &outer = runs.back();
    bool continues = true;
    for (auto [a, b] : llvm::zip(outer.strides, inner.strides))
      continues &= a == b * inner.size;
    if (continues) {
      outer = {outer.size * inner.size, inner.strides};
      return;
    }
  }
  runs.push_back(inner);
}

View tp::getMatrixOperand(const View &view, const MatmulPlan &plan,
                          unsigned index, const Run &row, const Run &column) {
  View result = view;
  result.shape.assign(step::kNumBatchDims - plan.batch.size(), 1);
  result.strides.assign(result.shape.size(), 0);
  for (const Run &run : plan.batch) {
    result.shape.push_back(run.size);
    result.strides.push_back(run.strides[index]);
  }
  for (const Run *run : {&row, &column}) {
    result.shape.push_back(run->size);
    result.strides.push_back(run->strides[index]);
  }
  // The library needs stride 1 along rows or columns. A dimension of size 1 may
  // have any stride, and gets stride 1. Operands of post-ops keep their
  // strides.
  if (index <= C) {
    int64_t &last = result.strides.back(), &first = *std::prev(&last);
    if (column.size == 1 && first != 1)
      last = 1;
    else if (row.size == 1 && last != 1)
      first = 1;
    if (index == C && column.size == 1)
      last = 1;
  }
  return result;
}

MatmulPlan tp::planMatmul(const Contraction &contraction,
                          const Target &target) {
  MatmulPlan plan;
  size_t count = contraction.operands.size();
  for (Run *run : {&plan.m, &plan.n, &plan.k})
    run->strides.assign(count, 0);
  SmallVector<Run> rows, columns, summed;
  for (char letter : contraction.letters[C]) {
    bool inA = contraction.has(A, letter), inB = contraction.has(B, letter);
    append(inA && inB ? plan.batch
           : inA      ? rows
                      : columns,
           contraction.getRun(letter));
  }
  // The last column is the one along which C has stride 1.
  if (!columns.empty())
    plan.n = columns.pop_back_val();
  auto largest = llvm::max_element(
      rows, [](const Run &a, const Run &b) { return a.size < b.size; });
  if (largest != rows.end()) {
    plan.m = *largest;
    rows.erase(largest);
  }
  plan.batch.append(columns);
  plan.batch.append(rows);
  if (plan.n.size > 1 && plan.n.strides[C] != 1)
    plan.blocker = C;
  if (plan.batch.size() > step::kNumBatchDims)
    plan.blocker = C;

  // Orders summed letters as in B: where A has a different order, A is copied,
  // rather than B, which may be a weight.
  SmallVector<Run> order;
  for (char letter : contraction.letters[B])
    if (Run run = contraction.getRun(letter);
        run.size > 1 && !contraction.has(C, letter))
      order.push_back(run);
  llvm::sort(order, [](const Run &a, const Run &b) {
    return a.strides[B] > b.strides[B];
  });
  for (const Run &run : order)
    append(summed, run);
  if (summed.size() > 1) {
    // The summed letters do not form a single run in A or in B.
    bool isB = false;
    for (size_t i = 1; i < summed.size(); ++i)
      isB |= summed[i - 1].strides[B] != summed[i].strides[B] * summed[i].size;
    plan.blocker = isB ? B : A;
  }
  if (!summed.empty())
    plan.k = summed.front();
  if (plan.blocker)
    return plan;
  auto describe = [&](Operand operand, const Run &row, const Run &column) {
    View view = getMatrixOperand(contraction.operands[operand], plan, operand,
                                 row, column);
    return getMatrix(view.getType(), view.by);
  };
  // True if the last two runs of columns are contiguous in C. Then only the
  // layout of B prevents merging them.
  bool areTogether = !columns.empty() && columns.back().strides[C] ==
                                             plan.n.size * plan.n.strides[C];
  if (!target.writesMatrix(contraction.operands[A].element,
                           describe(C, plan.m, plan.n)))
    plan.blocker = areTogether ? B : C;
  else if (!target.readsMatrix(describe(A, plan.m, plan.k)))
    plan.blocker = A;
  else if (!target.readsMatrix(transpose(describe(B, plan.k, plan.n))))
    plan.blocker = B;
  return plan;
}

bool tp::readsPost(const Contraction &contraction, const MatmulPlan &plan,
                   unsigned post, const Target &target) {
  auto describe = [&](unsigned index) {
    View view = getMatrixOperand(contraction.operands[index], plan, index,
                                 plan.m, plan.n);
    return getMatrix(view.getType(), view.by);
  };
  return target.readsBeside(describe(C), describe(FirstPost + post));
}

View tp::permute(const View &view, StringRef from, StringRef to) {
  SmallVector<int64_t> permutation;
  for (char letter : to)
    permutation.push_back(from.find(letter));
  return view.transpose(permutation);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// With fewer rows, or columns, the library would be inefficient.
static constexpr int64_t kLeastRows = 128;

/// The size of a block must be a multiple of this number, since an offset that
/// advances with a loop must advance by whole cache lines (see step.view). 0 if
/// the letter cannot be split into blocks.
static int64_t getBlockUnit(const Contraction &contraction, char letter) {
  constexpr int64_t line = 64;
  int64_t unit = 1;
  for (auto [view, stride] : llvm::zip_equal(
           contraction.operands, contraction.getRun(letter).strides)) {
    if (stride == 0)
      continue;
    if (view.by != 0)
      return 0; // its offset already advances with another loop
    int64_t bytes = stride * step::getElementBytes(view.element);
    unit = std::lcm(unit, line / std::gcd(line, bytes));
  }
  return unit;
}

std::optional<ProductBlocks> tp::planBlocks(const Contraction &contraction,
                                            Operand copied,
                                            const Target &target) {
  auto getDense = [&](const Contraction &part) {
    Contraction dense = part;
    View &view = dense.operands[copied];
    view = View(view.shape, view.element);
    return dense;
  };
  auto getRows = [&](const MatmulPlan &plan) {
    return copied == A ? plan.m.size : plan.n.size;
  };
  const View &source = contraction.operands[copied];
  int64_t elementBytes = step::getElementBytes(source.element);
  int64_t wholeBytes = source.getNumElements() * elementBytes;
  if (wholeBytes <= target.getCacheBytes())
    return std::nullopt;
  int64_t least =
      std::min(kLeastRows, getRows(planMatmul(getDense(contraction), target)));
  std::optional<ProductBlocks> best;
  int64_t bestBytes = wholeBytes;
  for (char letter : contraction.letters[C]) {
    int64_t size = contraction.getRun(letter).size;
    int64_t unit = getBlockUnit(contraction, letter);
    if (!contraction.has(copied, letter) || unit == 0 || unit >= size)
      continue;
    auto plan = [&](int64_t count) {
      return planMatmul(getDense(contraction.take(letter, 0, count)), target);
    };
    // If `letter` is one of the rows, larger blocks have more rows. Otherwise
    // all blocks have the same number of rows.
    int64_t rows = getRows(plan(unit)), next = getRows(plan(2 * unit));
    int64_t fewest = rows >= least  ? 1
                     : next == rows ? size
                                    : llvm::divideCeil(least, rows);
    int64_t most = target.getCacheBytes() / (wholeBytes / size * unit);
    int64_t units = std::max(fewest, most);
    // Make the blocks as equal as possible.
    int64_t parts = llvm::divideCeil(size, units * unit);
    int64_t block =
        llvm::alignTo(llvm::divideCeil(size, parts), uint64_t(unit));
    int64_t bytes = wholeBytes / size * block;
    auto isRead = [&](int64_t count) {
      Contraction part = getDense(contraction.take(letter, 0, count));
      MatmulPlan plan = planMatmul(part, target);
      return !plan.blocker &&
             llvm::all_of(
                 llvm::seq<unsigned>(0, part.operands.size() - FirstPost),
                 [&](unsigned post) {
                   return readsPost(part, plan, post, target);
                 });
    };
    bool fits = size / block >= 2 && isRead(block) &&
                (size % block == 0 || isRead(size % block));
    if (fits && bytes < bestBytes) {
      best = ProductBlocks{letter, block, size / block};
      bestBytes = bytes;
    }
  }
  return best;
}

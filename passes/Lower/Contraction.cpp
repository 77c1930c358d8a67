// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Contractions as matrix products.
//
// Every letter of an equation is a batch (in all three tensors), a row (left
// and result), a column (right and result) or summed. A letter costs nothing
// where all tensors walk through it as the continuation of another one; those
// that remain beside one row, one column and one summed dimension become
// batches, of which the library takes three. The result's layout is ours to
// choose: the tensor's own order where its last letter is a row or a column,
// else batches first, and the value is a view of that. Only what then still
// does not fit, or what the library does not read as it lies, is copied.

#include "Lowering.h"

#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

namespace {

enum Operand : unsigned { A, B, C, FirstPost };

/// A letter, or several that walk as one, with its stride in every operand.
struct Run {
  int64_t size;
  SmallVector<int64_t, 4> strides;
};

/// A contraction with one letter per dimension of every operand.
struct Contraction {
  std::string letters[3];
  std::vector<View> operands; ///< A, B, C, then post-ops' with C's letters.

  bool has(unsigned operand, char letter) const {
    return StringRef(letters[operand]).contains(letter);
  }
  Run getRun(char letter) const {
    Run run{1, {}};
    for (auto [index, view] : llvm::enumerate(operands)) {
      size_t dim = letters[std::min<size_t>(index, C)].find(letter);
      bool isThere = dim != std::string::npos;
      run.strides.push_back(isThere ? view.strides[dim] : 0);
      if (isThere)
        run.size = view.shape[dim];
    }
    return run;
  }
};

struct MatmulPlan {
  SmallVector<Run> batch;
  Run m{1, {}}, n{1, {}}, k{1, {}};
  /// The operand whose layout does not allow the plan, if any.
  std::optional<Operand> blocker;
};

} // namespace

/// Appends `inner`, as the continuation of the last run where all operands walk
/// so.
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

/// A dense matrix per batch: `row` and `column` are what an operand has of
/// them.
static View getOperand(const View &view, const MatmulPlan &plan, unsigned index,
                       const Run &row, const Run &column) {
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
  // A dimension of 1 may have any stride, and one of them is to be 1. Strides
  // of a broadcast operand stay.
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

static MatmulPlan planMatmul(const Contraction &contraction,
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

  // Summed letters in the order in which B has them: it may be a weight.
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
    // One of the two walks through them unevenly.
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
    View view =
        getOperand(contraction.operands[operand], plan, operand, row, column);
    return getMatrix(view.getType(), view.by);
  };
  // Whether columns that C has together are apart in B.
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

/// A dense copy of what a post-op adds, with `repeated` dimensions as they are.
View ProgramLowering::copyPostOperand(const View &view,
                                      ArrayRef<int64_t> repeated,
                                      Operation *op) {
  View from = view;
  for (int64_t dim : repeated)
    from.shape[dim] = 1;
  View dense = allocate(from.shape, from.element);
  copy(from, dense, op);
  for (int64_t dim : repeated) {
    dense.shape[dim] = view.shape[dim];
    dense.strides[dim] = 0;
  }
  return dense;
}

View ProgramLowering::getPostOperand(View view, PostOpPattern::Operand kind,
                                     Type factor, Operation *op) {
  if (!target.hasFixedEpilogue())
    return view;
  constexpr int64_t row = step::kNumBatchDims;
  bool isRow = kind == PostOpPattern::Operand::Row;
  // Of one row, strides do not tell which it is.
  if (view.shape[row] == 1)
    view.strides[row] = isRow ? 0 : view.shape.back();
  MemRefType type = view.getType();
  if (classifyPostOpOperand(type, type) == kind &&
      target.writesMatrix(factor, getMatrix(type, view.by)))
    return view;
  return copyPostOperand(view, isRow ? ArrayRef(row) : ArrayRef<int64_t>(), op);
}

/// `view`, whose dimensions are the letters `from`, in the order `to`.
static View permute(const View &view, StringRef from, StringRef to) {
  SmallVector<int64_t> permutation;
  for (char letter : to)
    permutation.push_back(from.find(letter));
  return view.transpose(permutation);
}

/// Lowers an einsum and the ops after it that the library does with it.
class ProgramLowering::ContractionBuilder {
public:
  ContractionBuilder(ProgramLowering &lowering, const Unit &unit)
      : lowering(lowering), target(lowering.target), unit(unit),
        op(cast<EinsumOp>(unit.ops.front())),
        result(unit.ops.back()->getResult(0)) {}

  void run();

private:
  void readOperands();
  void readPosts();
  void makeFit();
  void makeDense(Operand operand);
  void useOwnLayout();
  void makePostsDense();
  bool isConstant(const View &weight);
  void emit();

  ProgramLowering &lowering;
  const Target &target;
  const Unit &unit;
  EinsumOp op;
  Value result;

  Contraction contraction;
  Type factor;         ///< The elements that are multiplied.
  std::string ordered; ///< C's letters: batches, rows, columns.
  View value;          ///< The result, which may be a view of C.
  SmallVector<Attribute> postOps;
  SmallVector<View> postViews;
  SmallVector<PostOpPattern::Operand>
      postKinds; ///< Of post-ops with an operand.
  MatmulPlan plan;
  llvm::SmallSet<unsigned, 3> changed; ///< Operands in a layout of ours.
};

/// The three tensors, and the order of the result's letters that always fits.
void ProgramLowering::ContractionBuilder::readOperands() {
  EinsumTerms terms = EinsumTerms::split(op.getEquation());
  contraction.letters[A] = terms.lhs.str();
  contraction.letters[B] = terms.rhs.str();
  contraction.letters[C] = terms.result.str();
  View a = lowering.getView(op.getLhs()), b = lowering.getView(op.getRhs());
  // The last letter of the result is a column; if it is one of A, sides change.
  if (takesColumnsFromLeft(op)) {
    std::swap(a, b);
    std::swap(contraction.letters[A], contraction.letters[B]);
  }
  factor = a.element;
  for (unsigned round = 0; round < 3; ++round)
    for (char letter : contraction.letters[C]) {
      bool inA = contraction.has(A, letter), inB = contraction.has(B, letter);
      unsigned kind = inA && inB ? 0 : inA ? 1 : 2;
      if (kind == round)
        ordered += letter;
    }
  value = lowering.allocatePart(result);
  contraction.operands = {a, b, value};
}

void ProgramLowering::ContractionBuilder::readPosts() {
  SmallVector<PostOpPattern> posts;
  SmallVector<Value> others;
  Value previous = op.getResult();
  for (Operation *next : ArrayRef(unit.ops).drop_front()) {
    posts.push_back(getPost(op, previous, next));
    others.push_back(isa<AddOp, MulOp>(next) ? getOther(next, previous)
                                             : Value());
    previous = next->getResult(0);
  }
  for (unsigned index : orderPosts(posts, target)) {
    postOps.push_back(step::PostOpAttr::get(lowering.builder.getContext(),
                                            posts[index].kind));
    if (!others[index])
      continue;
    postKinds.push_back(posts[index].operand);
    postViews.push_back(lowering.getView(others[index]));
  }
}

/// Copies `operand` with its letters in an order that the library reads.
void ProgramLowering::ContractionBuilder::makeDense(Operand operand) {
  ProductSize size = getProductSize(op);
  bool readsByRows = target.readsMatrix(
      transpose({factor, size.k, size.n, size.n, 1, /*begin=*/0}));
  // The result's letters keep their order in C, summed letters their order in
  // B. Summed letters come after the rows in A. In B they come before the
  // columns if the library reads that, else after them.
  std::string wanted, columns;
  for (char letter : ordered)
    if (contraction.has(operand, letter))
      (contraction.has(A, letter) ? wanted : columns) += letter;
  if (!readsByRows)
    wanted += std::exchange(columns, "");
  for (char letter : contraction.letters[B])
    if (!contraction.has(C, letter))
      wanted += letter;
  wanted += columns;
  View &view = contraction.operands[operand];
  View inOrder = permute(view, contraction.letters[operand], wanted);
  view = lowering.allocate(inOrder.shape, inOrder.element);
  lowering.copy(inOrder, view, op);
  contraction.letters[operand] = wanted;
}

/// Gives the result a layout of our own.
void ProgramLowering::ContractionBuilder::useOwnLayout() {
  View own = permute(contraction.operands[C], contraction.letters[C], ordered);
  own = lowering.allocate(own.shape, own.element);
  value = permute(own, ordered, contraction.letters[C]);
  contraction.operands[C] = own;
  for (View &view : llvm::drop_begin(contraction.operands, size_t(FirstPost)))
    view = permute(view, contraction.letters[C], ordered);
  contraction.letters[C] = ordered;
}

void ProgramLowering::ContractionBuilder::makePostsDense() {
  for (auto [i, kind] : llvm::enumerate(postKinds)) {
    SmallVector<int64_t> repeated;
    for (auto [dim, letter] : llvm::enumerate(contraction.letters[C]))
      if (kind == PostOpPattern::Operand::Row && contraction.has(A, letter))
        repeated.push_back(dim);
    View &view = contraction.operands[FirstPost + i];
    view = lowering.copyPostOperand(view, repeated, op);
  }
  plan = planMatmul(contraction, target);
}

/// Changes the layout of the operand that blocks the plan and, if that is not
/// enough, of all three. Then rows, columns and summed letters are each one run
/// in every operand but a post-op's.
void ProgramLowering::ContractionBuilder::makeFit() {
  while (plan.blocker && changed.size() < 3) {
    Operand next = *plan.blocker;
    for (Operand other : {C, A, B})
      if (changed.contains(next))
        next = other;
    changed.insert(next);
    if (next == C)
      useOwnLayout();
    else
      makeDense(next);
    plan = planMatmul(contraction, target);
  }
}

/// Whether `weight` is the same in every run and every iteration.
bool ProgramLowering::ContractionBuilder::isConstant(const View &weight) {
  if (weight.by != 0)
    return false; // each iteration reads another weight
  step::ProgramOp program = lowering.program;
  auto argument = dyn_cast<BlockArgument>(weight.root);
  if (!argument || argument.getArgNumber() >= program.getInputs().size())
    return weight.root.getDefiningOp<step::ConstantOp>() != nullptr;
  auto isWritten = [&](Attribute output) {
    return cast<step::OutputAttr>(output).getAlias() ==
           int64_t(argument.getArgNumber());
  };
  return cast<step::InputAttr>(program.getInputs()[argument.getArgNumber()])
                 .getRole() == Role::Parameter &&
         llvm::none_of(program.getOutputs(), isWritten);
}

void ProgramLowering::ContractionBuilder::emit() {
  auto get = [&](unsigned index, const Run &row, const Run &column) {
    return getOperand(contraction.operands[index], plan, index, row, column);
  };
  Value a = lowering.getBuffer(get(A, plan.m, plan.k)),
        b = lowering.getBuffer(get(B, plan.k, plan.n)),
        c = lowering.getBuffer(get(C, plan.m, plan.n));
  SmallVector<Value> posts;
  for (auto [i, kind] : llvm::enumerate(postKinds))
    posts.push_back(lowering.getBuffer(lowering.getPostOperand(
        get(FirstPost + i, plan.m, plan.n), kind, factor, op)));
  step::MatmulOp::create(lowering.builder, lowering.loc, a, b, c, posts,
                         lowering.builder.getArrayAttr(postOps),
                         isConstant(contraction.operands[B]));
}

void ProgramLowering::ContractionBuilder::run() {
  readOperands();
  readPosts();
  plan = planMatmul(contraction, target);
  // Operands of post-ops are added once the product itself fits.
  std::string letters = contraction.letters[C];
  makeFit();
  for (const View &view : postViews)
    contraction.operands.push_back(
        permute(view, letters, contraction.letters[C]));
  plan = planMatmul(contraction, target);
  if (plan.blocker && target.hasFixedEpilogue())
    makePostsDense();
  makeFit();
  if (plan.blocker)
    return void(lowering.fail(op, ErrorCode::UnsupportedOp)
                << "\"" << op.getEquation()
                << "\" has more batch dimensions than a matmul takes");
  emit();
  lowering.views[result] = value;
}

void ProgramLowering::lowerContraction(const Unit &unit) {
  ContractionBuilder(*this, unit).run();
}

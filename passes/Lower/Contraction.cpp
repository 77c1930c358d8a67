// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Lowers contractions to matrix products (see ContractionPlan.h).
//
// Chooses the layout of the result. If the result's last dimension is a row or
// column of the product, the result's dimensions stay in order. Otherwise, the
// result is a transposed view of a buffer with the batch dimensions first. An
// operand is copied only if the library cannot read it in its own layout.
// Overlapping windows are copied block by block, other operands as a whole.

#include "ContractionPlan.h"
#include "Lowering.h"
#include "Products.h"

#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

/// A dense copy of a post-op's operand, in which the `repeated` dimensions
/// still have stride 0.
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
  // With a single row, the strides do not tell a repeated row from a matrix.
  if (view.shape[row] == 1)
    view.strides[row] = isRow ? 0 : view.shape.back();
  MemRefType type = view.getType();
  if (classifyPostOpOperand(type, type) == kind &&
      target.writesMatrix(factor, getMatrix(type, view.by)))
    return view;
  return copyPostOperand(view, isRow ? ArrayRef(row) : ArrayRef<int64_t>(), op);
}

/// Lowers an einsum together with the ops after it that the library applies to
/// the product.
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
  void planDense(Operand operand);
  void useOwnLayout();
  void makePostsDense();
  void makePostsFit();
  bool isConstant(const View &weight);
  void emitCopy(Contraction &part, Operand operand);
  void emitBlocks(const ProductBlocks &blocks, Operand operand);
  void emitProduct(const Contraction &part);
  void emit();

  ProgramLowering &lowering;
  const Target &target;
  const Unit &unit;
  EinsumOp op;
  Value result;

  Contraction contraction;
  Type factor;         ///< The type of the elements that are multiplied.
  std::string ordered; ///< C's letters: batches, rows, columns.
  View value;          ///< The result, which may be a view of C.
  SmallVector<Attribute> postOps;
  SmallVector<View> postViews;
  SmallVector<PostOpPattern::Operand>
      postKinds; ///< Of post-ops with an operand.
  MatmulPlan plan;
  llvm::SmallSet<unsigned, 3> changed; ///< Operands whose layout we chose.
  /// For A and B: the view that will be copied to make the operand dense. The
  /// view's dimensions are in the order of the copy's letters.
  std::optional<View> sources[2];
};

/// Reads the three tensors. Sets `ordered`: the result's letters in an order
/// that the library can always write.
void ProgramLowering::ContractionBuilder::readOperands() {
  EinsumTerms terms = EinsumTerms::split(op.getEquation());
  contraction.letters[A] = terms.lhs.str();
  contraction.letters[B] = terms.rhs.str();
  contraction.letters[C] = terms.result.str();
  View a = lowering.getView(op.getLhs()), b = lowering.getView(op.getRhs());
  // The last letter of the result is a column; if A has it, A and B are
  // swapped.
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

/// Returns true if a view with these letters has stride 1 along one of
/// `wanted`.
static bool isContiguousAlong(const View &view, StringRef letters,
                              StringRef wanted) {
  return llvm::any_of(
      llvm::zip_equal(letters, view.shape, view.strides), [&](auto dim) {
        auto [letter, size, stride] = dim;
        return size > 1 && stride == 1 && wanted.contains(letter);
      });
}

/// Makes `operand` a copy with its letters in an order that the library can
/// read.
void ProgramLowering::ContractionBuilder::planDense(Operand operand) {
  // Batch letters come first, in the order of C. The letters that only this
  // operand and C have (rows or columns) follow in the order of C, and the
  // summed letters in the order of the other operand. But rows or columns come
  // last if the library can read them last and, in A, one of them already has
  // stride 1.
  std::string wanted, own, summed;
  Operand other = operand == A ? B : A;
  for (char letter : ordered)
    if (contraction.has(operand, letter))
      (contraction.has(other, letter) ? wanted : own) += letter;
  for (char letter : contraction.letters[other])
    if (!contraction.has(C, letter))
      summed += letter;
  llvm::sort(summed, [&](char a, char b) {
    return contraction.getRun(a).strides[other] >
           contraction.getRun(b).strides[other];
  });
  View &view = contraction.operands[operand];
  ProductSize size = getProductSize(op);
  int64_t rows = operand == A ? size.m : size.n;
  bool isOwnLast =
      target.readsMatrix({factor, rows, size.k, 1, rows, /*begin=*/0}) &&
      (operand == B || isContiguousAlong(view, contraction.letters[A], own));
  wanted += isOwnLast ? summed + own : own + summed;
  View source = permute(view, contraction.letters[operand], wanted);
  view = View(source.shape, source.element);
  sources[operand] = source;
  contraction.letters[operand] = wanted;
}

/// Stores the result in a new buffer, with its letters in the order `ordered`.
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

/// If the library requires the operands of post-ops to have the layout of C,
/// copies those that have a different one. If C has gaps, because it is a part
/// of a concatenation, first gives C a buffer of its own. Without these copies,
/// the epilogue would be slower.
void ProgramLowering::ContractionBuilder::makePostsFit() {
  auto fits = [&](unsigned post) {
    return readsPost(contraction, plan, post, target);
  };
  auto posts = llvm::seq<unsigned>(0, postKinds.size());
  if (llvm::all_of(posts, fits))
    return;
  if (!contraction.operands[C].isDense()) {
    useOwnLayout();
    plan = planMatmul(contraction, target);
  }
  for (unsigned post : posts)
    if (!fits(post)) {
      View &view = contraction.operands[FirstPost + post];
      view = lowering.copyPostOperand(view, {}, op);
    }
  plan = planMatmul(contraction, target);
}

/// Changes the layout of the operand that blocks the plan and, if that is not
/// enough, of all three. Afterwards, rows, columns and summed letters each form
/// a single run in A, B and C.
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
      planDense(next);
    plan = planMatmul(contraction, target);
  }
}

/// Returns true if `weight` is the same in every run and every iteration.
bool ProgramLowering::ContractionBuilder::isConstant(const View &weight) {
  if (weight.by != 0)
    return false; // each iteration reads a different weight
  step::ProgramOp program = lowering.program;
  auto argument = dyn_cast<BlockArgument>(weight.root);
  if (!argument || argument.getArgNumber() >= program.getInputs().size())
    return isa_and_present<step::ConstantOp, step::BundleOp>(
        weight.root.getDefiningOp());
  auto isWritten = [&](Attribute output) {
    return cast<step::OutputAttr>(output).getAlias() ==
           int64_t(argument.getArgNumber());
  };
  return cast<step::InputAttr>(program.getInputs()[argument.getArgNumber()])
                 .getRole() == Role::Parameter &&
         llvm::none_of(program.getOutputs(), isWritten);
}

/// Replaces an operand of a part by a dense copy.
void ProgramLowering::ContractionBuilder::emitCopy(Contraction &part,
                                                   Operand operand) {
  View &view = part.operands[operand];
  View source =
      std::exchange(view, lowering.allocate(view.shape, view.element));
  lowering.copy(source, view, op);
}

void ProgramLowering::ContractionBuilder::emitProduct(const Contraction &part) {
  MatmulPlan plan = planMatmul(part, target);
  auto get = [&](unsigned index, const Run &row, const Run &column) {
    return getMatrixOperand(part.operands[index], plan, index, row, column);
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
                         isConstant(part.operands[B]));
}

/// Emits a loop over the blocks, followed by the remainder.
void ProgramLowering::ContractionBuilder::emitBlocks(
    const ProductBlocks &blocks, Operand operand) {
  auto emitPart = [&](Contraction part) {
    emitCopy(part, operand);
    emitProduct(part);
  };
  auto loop =
      step::LoopOp::create(lowering.builder, lowering.loc, blocks.count);
  {
    // Views created in the loop are not available outside of it.
    auto outerBuffers = lowering.buffers;
    OpBuilder::InsertionGuard guard(lowering.builder);
    lowering.builder.setInsertionPointToStart(&loop.getBody().emplaceBlock());
    Contraction part = contraction.take(blocks.letter, 0, blocks.size);
    for (auto [view, stride] : llvm::zip_equal(
             part.operands, contraction.getRun(blocks.letter).strides))
      if (stride != 0) {
        view.loop = loop;
        view.by = blocks.size * stride;
      }
    emitPart(std::move(part));
    lowering.buffers = std::move(outerBuffers);
  }
  int64_t done = blocks.count * blocks.size;
  int64_t size = contraction.getRun(blocks.letter).size;
  if (done < size)
    emitPart(contraction.take(blocks.letter, done, size - done));
}

void ProgramLowering::ContractionBuilder::emit() {
  std::optional<Operand> repeating;
  for (Operand operand : {A, B}) {
    if (!sources[operand])
      continue;
    contraction.operands[operand] = *sources[operand];
    if (!repeating && sources[operand]->hasRepeats())
      repeating = operand;
    else
      emitCopy(contraction, operand);
  }
  if (repeating) {
    if (auto blocks = planBlocks(contraction, *repeating, target))
      return emitBlocks(*blocks, *repeating);
    emitCopy(contraction, *repeating);
  }
  emitProduct(contraction);
}

void ProgramLowering::ContractionBuilder::run() {
  readOperands();
  readPosts();
  plan = planMatmul(contraction, target);
  // Finds a plan for the product alone before it adds the operands of post-ops.
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
                << "\" has too many batch dimensions for a matmul; reshape the "
                   "operands to merge some of them");
  makePostsFit();
  emit();
  lowering.views[result] = value;
}

void ProgramLowering::lowerContraction(const Unit &unit) {
  ContractionBuilder(*this, unit).run();
}

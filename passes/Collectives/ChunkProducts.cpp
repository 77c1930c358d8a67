// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Replaces products by ops that send some blocks while they multiply others, if
// that is faster: see tp.gather_einsum and tp.einsum_scatter.

#include "ChunkTimes.h"
#include "RowProduct.h"

#include "dialects/TP/Einsum.h"
#include "dialects/TP/ShardingTable.h"
#include "lib/Cost/OpPricer.h"
#include "lib/Cost/ProgramCost.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Collectives/Passes.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/Format.h"

#include <array>

namespace tp {
#define GEN_PASS_DEF_CHUNKPRODUCTSPASS
#include "tpopt/Passes/Collectives/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::cost;
using namespace tp::spmd;

/// The numbers of pieces in which a block may be sent.
static constexpr std::array<int64_t, 3> kPieces = {1, 2, 4};
/// Bytes of the smallest piece. A block that is not split may be smaller.
static constexpr double kLeastPiece = 64 << 10;
static constexpr StringLiteral kGathering = "gathering while multiplying",
                               kScattering = "multiplying while scattering";
/// Chunking must save at least this fraction of the time.
static constexpr double kLeastGain = 0.02;

namespace {

/// Whether a collective and its products become one op.
struct Verdict {
  std::string why;               ///< Why they cannot; empty if they can.
  int64_t pieces = 0;            ///< 0 if chunking is slower.
  double whole = 0, chunked = 0; ///< Seconds without and with chunking.
};

/// The work of a device for one block of a product.
struct BlockWork {
  Work work;
  double otherBytes; ///< Bytes of the other operand, included in `work`.
};

/// Chunks the products of one block of a function.
class BlockChunker {
public:
  BlockChunker(Block &block, ShardingTable &table, const CostModel &cost,
               const Machine &machine, bool force)
      : block(block), table(table), cost(cost), pricer(table, cost),
        machine(machine), force(force) {}

  void run() {
    measure();
    SmallVector<Operation *> collectives;
    for (Operation &op : block)
      if (isa<AllGatherOp, ReduceScatterOp, AllReduceOp>(op))
        collectives.push_back(&op);
    for (Operation *op : collectives) {
      if (auto gather = dyn_cast<AllGatherOp>(op))
        visitGather(gather);
      else
        visitSum(cast<CollectiveOpInterface>(op));
    }
  }

private:
  void measure();
  void visitGather(AllGatherOp gather);
  void visitSum(CollectiveOpInterface sum);
  void replaceGather(AllGatherOp gather, MutableArrayRef<RowProduct> products,
                     int64_t dim, int64_t pieces);
  void replaceSum(CollectiveOpInterface sum, RowProduct &product, int64_t dim,
                  const ReshardStep &scatter, int64_t pieces);

  std::string findProducts(AllGatherOp gather, int64_t &dim,
                           SmallVectorImpl<RowProduct> &products);
  std::string findScatter(CollectiveOpInterface sum, const RowProduct &product,
                          int64_t &dim, std::optional<ReshardStep> &scatter);
  BlockWork getBlockWork(EinsumOp op, int64_t dim, const AxisList &axes);
  ChunkProblem describe(const AxisList &axes, double blockBytes) const;
  double getExposed(Operation *collective, double slack);
  double getSlack(Value made, ArrayRef<Operation *> users) const;
  Verdict decide(ChunkProblem problem, ArrayRef<BlockWork> products,
                 int64_t rows, double blockBytes, double whole, double behind,
                 double (*getTime)(const ChunkProblem &)) const;
  void report(Operation *op, StringRef what, const Verdict &verdict);

  TensorSharding getLayout(Value value) {
    const TensorSharding *known = table.lookup(value);
    return known ? *known
                 : TensorSharding::replicate(
                       cast<RankedTensorType>(value.getType()).getRank());
  }

  Block &block;
  ShardingTable &table;
  const CostModel &cost;
  OpPricer pricer;
  const Machine &machine;
  bool force;
  /// The times at which an op begins and ends if collectives took no time.
  llvm::DenseMap<Operation *, std::pair<double, double>> times;
};

} // namespace

void BlockChunker::measure() {
  double now = 0;
  for (Operation &op : block) {
    double begin = now;
    // Values in a manual region have no shardings.
    if (op.getNumRegions() > 0 && !isa<ManualOp>(op))
      now += getPrice(&op, table, cost).cost;
    else if (!isa<CollectiveOpInterface, ManualOp>(op))
      now += pricer.get(&op).computed.cost;
    times[&op] = {begin, now};
  }
}

/// Seconds that the device computes between the op that makes `made` and the
/// first user.
double BlockChunker::getSlack(Value made, ArrayRef<Operation *> users) const {
  Operation *maker = made.getDefiningOp();
  double there = maker ? times.lookup(maker).second : 0;
  double wanted = times.lookup(block.getTerminator()).second;
  for (Operation *user : users)
    if (Operation *own = block.findAncestorOpInBlock(*user))
      wanted = std::min(wanted, times.lookup(own).first);
  return std::max(0.0, wanted - there);
}

/// Seconds that a device waits for a collective that overlaps with `slack`
/// seconds of other work.
double BlockChunker::getExposed(Operation *collective, double slack) {
  std::optional<CollectiveCost> launch = getCollectiveCost(collective, table);
  double travels = cost.getTransferCost(launch->axes, launch->wireBytes);
  return std::max(0.0, travels - slack);
}

/// The only dimension that a collective gathers or scatters; none if there are
/// several.
static std::optional<int64_t> getOnlyDim(const ReshardStep &step) {
  std::optional<int64_t> dim;
  for (auto [i, axes] : llvm::enumerate(step.dimAxes)) {
    if (axes.empty())
      continue;
    if (dim)
      return std::nullopt;
    dim = i;
  }
  return dim;
}

/// The work of one block of a product if dimension `dim` of its result is also
/// sharded along `axes`.
BlockWork BlockChunker::getBlockWork(EinsumOp op, int64_t dim,
                                     const AxisList &axes) {
  EinsumTerms terms = EinsumTerms::split(op.getEquation());
  char letter = terms.result[dim];
  std::vector<TensorSharding> layouts{getLayout(op.getLhs()),
                                      getLayout(op.getRhs()),
                                      getLayout(op.getResult())};
  const std::array<StringRef, 3> all = {terms.lhs, terms.rhs, terms.result};
  for (auto [layout, term] : llvm::zip_equal(layouts, all))
    if (size_t at = term.find(letter); at != StringRef::npos)
      layout.dims[at].axes.append(axes.begin(), axes.end());
  layouts.back().unreduced.clear();
  Value other = terms.lhs.contains(letter) ? op.getRhs() : op.getLhs();
  return {getWork(op, op.getShardingRule(),
                  {&layouts[0], &layouts[1], &layouts[2]}),
          double(getLocalTensor(other, table)->getBytes())};
}

/// Seconds to compute one of the `pieces` of a block. Each piece reads all of
/// the other operand.
static double getPieceTime(const BlockWork &block, int64_t pieces,
                           const Machine &machine) {
  Work work = block.work;
  work.flops /= double(pieces);
  work.bytes =
      (work.bytes - block.otherBytes) / double(pieces) + block.otherBytes;
  return getTime(machine, work);
}

ChunkProblem BlockChunker::describe(const AxisList &axes,
                                    double blockBytes) const {
  ChunkProblem problem;
  problem.places = getSize(axes);
  problem.start = cost.getTransferCost(axes, 0);
  problem.transfer = cost.getTransferCost(axes, blockBytes) - problem.start;
  return problem;
}

Verdict BlockChunker::decide(ChunkProblem problem, ArrayRef<BlockWork> products,
                             int64_t rows, double blockBytes, double whole,
                             double behind,
                             double (*getTime)(const ChunkProblem &)) const {
  auto getChunked = [&](int64_t pieces) {
    problem.pieces = pieces;
    problem.product = problem.piece = 0;
    for (const BlockWork &product : products) {
      problem.product += getPieceTime(product, 1, machine);
      problem.piece += getPieceTime(product, pieces, machine);
    }
    return getTime(problem) + behind;
  };
  Verdict verdict;
  verdict.whole = whole;
  verdict.chunked = getChunked(1);
  if (force) {
    verdict.pieces = rows % 2 == 0 ? 2 : 1;
    return verdict;
  }
  int64_t best = 1;
  for (int64_t pieces : kPieces) {
    if (rows % pieces != 0 || (pieces > 1 && blockBytes / pieces < kLeastPiece))
      continue;
    double time = getChunked(pieces);
    if (time < verdict.chunked) {
      verdict.chunked = time;
      best = pieces;
    }
  }
  if (verdict.chunked < (1 - kLeastGain) * whole)
    verdict.pieces = best;
  return verdict;
}

void BlockChunker::report(Operation *op, StringRef what,
                          const Verdict &verdict) {
  auto options = remark::RemarkOpts::name(what).category("tp-chunk-products");
  auto us = [](double seconds) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.1f us", seconds * 1e6);
    return text;
  };
  if (!verdict.why.empty()) {
    remark::missed(op->getLoc(), options)
        << "devices wait " + us(verdict.whole) + " for this collective; " +
               what.str() + " could hide this time, but " + verdict.why;
    return;
  }
  if (verdict.pieces == 0) {
    remark::missed(op->getLoc(), options)
        << what.str() + " would take " + us(verdict.chunked) +
               "; without overlap, the same work takes " + us(verdict.whole);
    return;
  }
  remark::passed(op->getLoc(), options)
      << what.str() + " takes " + us(verdict.chunked) + " instead of " +
             us(verdict.whole);
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

/// Finds the products that can be computed block by block, and the dimension
/// that is gathered. If there are none, returns why, else an empty string.
std::string BlockChunker::findProducts(AllGatherOp gather, int64_t &dim,
                                       SmallVectorImpl<RowProduct> &products) {
  const ReshardStep &step = getStep(gather);
  std::optional<int64_t> only = getOnlyDim(step);
  if (!only)
    return "the all-gather gathers along several dimensions";
  dim = *only;
  Value input = gather.getInput();
  auto type = cast<RankedTensorType>(input.getType());
  AxisList cut = getLayout(input).dims[dim].axes;
  if (type.getDimSize(dim) % getSize(cut) != 0)
    return llvm::formatv(
        "{0} rows cannot be cut into equal blocks for {1} devices",
        type.getDimSize(dim), getSize(cut));
  SmallVector<Operation *> users;
  for (Operation *user : gather->getUsers())
    if (user->getBlock() == &block && !llvm::is_contained(users, user))
      users.push_back(user);
  llvm::sort(users,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  Operation *first = nullptr;
  for (Operation *user : users) {
    auto einsum = dyn_cast<EinsumOp>(user);
    if (!einsum || einsum.getLhs() == einsum.getRhs())
      continue;
    RowProduct product(einsum, einsum.getLhs() == gather.getResult() ? 0 : 1);
    Operation *other = product.other.getDefiningOp();
    bool isThere = !other || other->getBlock() != &block || !first ||
                   other->isBeforeInBlock(first);
    if (!product.hasOwn(product.rowsTerm[dim]) || !isThere ||
        !getLayout(einsum.getResult()).unreduced.empty())
      continue;
    if (!first)
      first = einsum;
    products.push_back(std::move(product));
  }
  if (products.empty())
    return "every product either sums over the gathered dimension or has it in "
           "both operands";
  for (Operation *user : gather->getUsers()) {
    Operation *own = block.findAncestorOpInBlock(*user);
    if (own && own->isBeforeInBlock(first))
      return "another op uses the gathered tensor before the first product";
  }
  return {};
}

/// Returns true if each element of a result is computed from one element of
/// each operand.
static bool keepsElementsApart(Operation *op) {
  return op->hasTrait<Elementwise>() ||
         isa<ConvertOp, TransposeOp, ReshapeOp>(op);
}

/// The op between `value` and a product: it uses `value`, and the product uses
/// its result. Null if there is no such op.
static Operation *findBeforeProduct(Value value) {
  for (Operation *user : value.getUsers())
    if (keepsElementsApart(user) &&
        llvm::any_of(user->getUsers(), llvm::IsaPred<EinsumOp>))
      return user;
  return nullptr;
}

/// The op between a product and `value`: it computes `value` from the product.
/// Null if there is no such op.
static Operation *findAfterProduct(Value value) {
  Operation *op = value.getDefiningOp();
  bool fits = op && keepsElementsApart(op) &&
              llvm::any_of(op->getOperands(), [](Value operand) {
                return operand.getDefiningOp<EinsumOp>() != nullptr;
              });
  return fits ? op : nullptr;
}

static std::string standsBetween(Operation *op) {
  return (op->getName().getStringRef() +
          " stands between the collective and the product")
      .str();
}

void BlockChunker::visitGather(AllGatherOp gather) {
  SmallVector<Operation *> users(gather->getUsers());
  double slack = getSlack(gather.getInput(), users);
  double exposed = getExposed(gather, slack);
  if (llvm::none_of(users, llvm::IsaPred<EinsumOp>)) {
    if (Operation *op = findBeforeProduct(gather.getResult()))
      report(gather, kGathering, {standsBetween(op), 0, exposed});
    return;
  }
  const ReshardStep &step = getStep(gather);
  int64_t dim;
  SmallVector<RowProduct> products;
  Verdict verdict;
  verdict.whole = exposed;
  verdict.why = findProducts(gather, dim, products);
  if (verdict.why.empty()) {
    LocalTensor local = *getLocalTensor(gather.getInput(), table);
    double whole = exposed;
    ChunkProblem problem = describe(step.dimAxes[dim], local.getBytes());
    problem.slack = slack;
    SmallVector<BlockWork> blocks;
    for (RowProduct &product : products) {
      whole += pricer.get(product.op).computed.cost;
      blocks.push_back(getBlockWork(product.op,
                                    product.result.find(product.rowsTerm[dim]),
                                    step.dimAxes[dim]));
    }
    verdict = decide(problem, blocks, local.getShape()[dim], local.getBytes(),
                     whole, 0, getGatherTime);
  }
  report(gather, kGathering, verdict);
  if (verdict.pieces > 0)
    replaceGather(gather, products, dim, verdict.pieces);
}

void BlockChunker::replaceGather(AllGatherOp gather,
                                 MutableArrayRef<RowProduct> products,
                                 int64_t dim, int64_t pieces) {
  SmallVector<Value> others;
  SmallVector<Attribute> equations;
  SmallVector<int64_t> sides;
  SmallVector<Type> types;
  SmallVector<Location> locations{gather.getLoc()};
  OpBuilder builder(products.front().op);
  llvm::SmallPtrSet<Operation *, 4> taken;
  for (RowProduct &product : products) {
    others.push_back(product.other);
    equations.push_back(product.op.getEquationAttr());
    sides.push_back(product.side);
    types.push_back(product.op.getType());
    locations.push_back(product.op.getLoc());
    taken.insert(product.op);
  }
  bool keepsInput = llvm::any_of(gather->getUsers(), [&](Operation *user) {
    return !taken.contains(user);
  });
  if (keepsInput)
    types.push_back(gather.getType());
  auto chunked = GatherEinsumOp::create(
      builder, builder.getFusedLoc(locations), types, gather.getInput(), others,
      builder.getArrayAttr(equations), sides, dim, pieces);
  for (auto [product, result] : llvm::zip(products, chunked.getResults())) {
    setSharding(result, spmd::getSharding(product.op.getResult()));
    product.op.getResult().replaceAllUsesWith(result);
    product.op->erase();
  }
  if (keepsInput) {
    Value whole = chunked.getResults().back();
    setSharding(whole, gather.getOutSharding());
    gather.getResult().replaceAllUsesWith(whole);
  }
  gather->erase();
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Finds the dimension along which a sum can be scattered, and the step that
/// scatters it. If there is none, returns why, else an empty string.
std::string BlockChunker::findScatter(CollectiveOpInterface sum,
                                      const RowProduct &product, int64_t &dim,
                                      std::optional<ReshardStep> &scatter) {
  const ReshardStep &step = getStep(sum);
  TensorSharding in = getLayout(sum->getOperand(0));
  auto type = cast<RankedTensorType>(sum->getResult(0).getType());
  if (sum.getInSharding().getKind() != ReduceKind::Sum)
    return "its reduction is not a sum";
  if (getMerged(in.unreduced) != getMerged(step.axes))
    return "its operand is also unreduced along other axes";
  // The sum must have one addend for each device: the product that the device
  // computes. An unreduced operand would give other addends, and so would
  // operands whose summed dimensions are not cut along the axes of the sum.
  EinsumOp einsum = product.op;
  TensorSharding lhs = getLayout(einsum.getLhs()),
                 rhs = getLayout(einsum.getRhs());
  if (!lhs.unreduced.empty() || !rhs.unreduced.empty())
    return "an operand of the product is unreduced";
  if (getSummedAxes(EinsumTerms::split(einsum.getEquation()), lhs, rhs) !=
      getMerged(step.axes))
    return "the operands of the product are not both cut along the axes of the "
           "sum";
  const TensorSharding &rows = product.side == 0 ? lhs : rhs;
  auto fits = [&](int64_t d, const AxisList &axes) {
    return product.hasOwn(product.result[d]) &&
           rows.dims[product.rowsTerm.find(product.result[d])].axes ==
               in.dims[d].axes &&
           type.getDimSize(d) % (getSize(in.dims[d].axes) * getSize(axes)) == 0;
  };
  if (step.kind == CollectiveKind::ReduceScatter) {
    std::optional<int64_t> only = getOnlyDim(step);
    if (!only)
      return "the reduce-scatter scatters along several dimensions";
    dim = *only;
    if (!fits(dim, step.dimAxes[dim]))
      return "both operands have the scattered dimension, or its blocks differ "
             "in size";
    scatter = step;
    return {};
  }
  for (dim = 0; dim < type.getRank(); ++dim) {
    // Of neighbours, the layout would be that of the larger axis.
    const AxisList &cut = in.dims[dim].axes;
    if (!fits(dim, step.axes) ||
        (!cut.empty() && cut.back().canMerge(step.axes.front())))
      continue;
    ReshardStep own;
    own.kind = CollectiveKind::ReduceScatter;
    own.axes = step.axes;
    own.dimAxes.resize(type.getRank());
    own.dimAxes[dim] = step.axes;
    own.result = in.getLayout();
    own.result.unreduced.clear();
    own.result.dims[dim].axes.append(step.axes.begin(), step.axes.end());
    scatter = own;
    return {};
  }
  return "no dimension that only one operand has can be cut into equal blocks";
}

void BlockChunker::visitSum(CollectiveOpInterface sum) {
  Value addends = sum->getOperand(0);
  SmallVector<Operation *> users(sum->getUsers());
  double slack = getSlack(addends, users);
  double exposed = getExposed(sum, slack);
  Verdict verdict;
  auto einsum = addends.getDefiningOp<EinsumOp>();
  if (!einsum || einsum->getBlock() != &block || !addends.hasOneUse()) {
    Operation *between = findAfterProduct(addends);
    if (einsum || between)
      report(sum, kScattering,
             {between ? standsBetween(between)
                      : "other ops also use the partial sums",
              0, exposed});
    return;
  }
  const ReshardStep &step = getStep(sum);
  int64_t dim = 0;
  std::optional<ReshardStep> scatter;
  std::optional<RowProduct> product;
  for (unsigned rows : {0u, 1u}) {
    product.emplace(einsum, rows);
    verdict.why = findScatter(sum, *product, dim, scatter);
    if (verdict.why.empty())
      break;
  }
  verdict.whole = exposed;
  if (verdict.why.empty()) {
    const AxisList &axes = scatter->dimAxes[dim];
    LocalTensor local{cast<RankedTensorType>(sum->getResult(0).getType()),
                      scatter->result.getLayout()};
    double bytes = local.getBytes();
    ChunkProblem problem = describe(axes, bytes);
    problem.slack = slack;
    // The sum reads one addend from each device and writes the result.
    problem.sum = getTime(machine, {0, bytes * double(problem.places + 1)});
    double behind =
        step.kind == CollectiveKind::AllReduce
            ? cost.getTransferCost(axes, bytes * double(problem.places - 1))
            : 0;
    verdict = decide(
        problem, getBlockWork(einsum, dim, axes), local.getShape()[dim], bytes,
        pricer.get(einsum).computed.cost + exposed, behind, getScatterTime);
  }
  report(sum, kScattering, verdict);
  if (verdict.pieces > 0)
    replaceSum(sum, *product, dim, *scatter, verdict.pieces);
}

void BlockChunker::replaceSum(CollectiveOpInterface sum, RowProduct &product,
                              int64_t dim, const ReshardStep &scatter,
                              int64_t pieces) {
  OpBuilder builder(sum);
  auto type = cast<RankedTensorType>(sum->getResult(0).getType());
  auto chunked = EinsumScatterOp::create(
      builder, builder.getFusedLoc({product.op.getLoc(), sum.getLoc()}), type,
      product.op.getEquation(), product.op.getLhs(), product.op.getRhs(), dim,
      pieces);
  Value result = chunked.getResult();
  table.set(result, scatter.result);
  if (getStep(sum).kind == CollectiveKind::AllReduce) {
    ReshardStep gather;
    gather.kind = CollectiveKind::AllGather;
    gather.axes = scatter.axes;
    gather.dimAxes = scatter.dimAxes;
    gather.result = getLayout(sum->getResult(0));
    result = createCollective(builder, sum.getLoc(), result, table.getMesh(),
                              scatter.result, gather);
    if (auto why = sum->getAttrOfType<WhyAttr>(kWhyAttr))
      result.getDefiningOp()->setAttr(kWhyAttr, why);
  }
  EinsumOp einsum = product.op;
  sum->getResult(0).replaceAllUsesWith(result);
  sum->erase();
  einsum->erase();
}

namespace {
struct ChunkProducts : tp::impl::ChunkProductsPassBase<ChunkProducts> {
  using ChunkProductsPassBase::ChunkProductsPassBase;

  void runOnOperation() override {
    auto device = readMachineOption(getOperation(), machine);
    if (failed(device))
      return signalPassFailure();
    if (!*device)
      return;
    for (auto function : getOperation().getOps<FunctionOpInterface>()) {
      if (function.isExternal())
        continue;
      FailureOr<MeshOp> mesh = tp::getMesh(function);
      if (failed(mesh))
        return signalPassFailure();
      ShardingTable table(&getContext(),
                          withMachineLinks(mesh->toMesh(), *device));
      CostModel cost(table.getMesh(), **device);
      SmallVector<Block *> blocks;
      function->walk([&](Block *block) {
        Operation *parent = block->getParentOp();
        if (!isa<ManualOp>(parent) && !parent->getParentOfType<ManualOp>())
          blocks.push_back(block);
      });
      for (Block *block : blocks)
        BlockChunker(*block, table, cost, **device, force).run();
    }
  }
};
} // namespace

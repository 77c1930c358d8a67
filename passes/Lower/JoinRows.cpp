// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Joins consecutive, independent row programs into one kernel: for example, the
// rotation of queries with that of keys, which is stored into the cache. They
// must share an operand that a step has computed, and at least one must store a
// part of an input, such as a cache. Other row programs stay separate: a
// training step has many of them, and joining them would keep their buffers
// live for longer.

#include "Lowering.h"

#include "passes/Schedule/Conflicts.h"

using namespace mlir;
using namespace tp;

/// LLVM's compile time is quadratic in the length of a kernel.
static constexpr size_t kMostParts = 4, kMostOps = 256;

namespace {

class RowJoiner {
public:
  void run(Block &block);

private:
  bool fits(step::RowsOp rows) const;
  void join();

  SmallVector<step::RowsOp> parts; ///< Only buffer ops are between them.
};

} // namespace

static size_t countOps(step::RowsOp rows) {
  return rows.getBody().front().getOperations().size();
}

/// Returns true if both read the same buffer, which an earlier step has
/// written.
static bool readSame(step::RowsOp a, step::RowsOp b) {
  return llvm::any_of(a.getReads(), [&](Value read) {
    Value root = step::getRoot(read);
    return root.getDefiningOp<step::AllocOp>() &&
           llvm::any_of(b.getReads(), [&](Value other) {
             return step::getRoot(other) == root;
           });
  });
}

/// Returns true if `rows` stores elements of an input at computed indices.
static bool storesPart(step::RowsOp rows) {
  auto isPart = [&](step::StoreOp store) {
    if (store.getIndices().empty())
      return false;
    auto argument = cast<BlockArgument>(store.getBuffer());
    Value operand = rows->getOperand(argument.getArgNumber());
    return isa<BlockArgument>(step::getRoot(operand));
  };
  return llvm::any_of(rows.getBody().getOps<step::StoreOp>(), isPart);
}

bool RowJoiner::fits(step::RowsOp rows) const {
  size_t ops = countOps(rows);
  for (step::RowsOp part : parts)
    ops += countOps(part);
  if (parts.empty() || parts.size() == kMostParts || ops > kMostOps ||
      (!storesPart(rows) && llvm::none_of(parts, storesPart)))
    return false;
  auto accesses = schedule::getAccesses(rows);
  bool isApart = llvm::all_of(parts, [&](step::RowsOp part) {
    return llvm::none_of(
        schedule::getAccesses(part), [&](const schedule::Access &access) {
          return llvm::any_of(accesses, [&](const schedule::Access &own) {
            return own.conflicts(access);
          });
        });
  });
  return isApart && llvm::any_of(parts, [&](step::RowsOp part) {
           return readSame(part, rows);
         });
}

/// Each buffer becomes one operand of the `step.together` op, even if several
/// parts use it.
void RowJoiner::join() {
  if (parts.size() > 1) {
    OpBuilder builder(parts.back());
    Location loc = parts.front().getLoc();
    llvm::SetVector<Value> reads, writes;
    for (step::RowsOp part : parts) {
      reads.insert_range(part.getReads());
      writes.insert_range(part.getWrites());
    }
    auto together = step::TogetherOp::create(builder, loc, reads.getArrayRef(),
                                             writes.getArrayRef());
    Block &block = together.getBody().emplaceBlock();
    llvm::DenseMap<Value, Value> arguments;
    for (Value buffer : together->getOperands())
      arguments[buffer] = block.addArgument(buffer.getType(), loc);
    for (step::RowsOp part : parts) {
      part->moveBefore(&block, block.end());
      for (OpOperand &operand : part->getOpOperands())
        operand.set(arguments.lookup(operand.get()));
    }
  }
  parts.clear();
}

void RowJoiner::run(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (step::isBufferOp(&op))
      continue;
    auto rows = dyn_cast<step::RowsOp>(op);
    bool isElementwise =
        rows && rows.getBody().getOps<step::ReduceOp>().empty();
    if (!isElementwise || !fits(rows))
      join();
    if (isElementwise)
      parts.push_back(rows);
    else if (!rows)
      for (Region &region : op.getRegions())
        RowJoiner().run(region.front());
  }
  join();
}

void tp::joinRows(step::ProgramOp program) {
  RowJoiner().run(program.getBody().front());
}

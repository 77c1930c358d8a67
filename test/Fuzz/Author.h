// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Writes random programs: well-typed, and such that a right partition of them
// gives the very results of the whole program.
//
// A program grows op by op. A generator, one for each op of the dialects, takes
// values that are there already, or asks for new arguments, and adds its op:
//
//     generators["tp.transpose"] = [](Author &author) {
//       Value x = author.pick(Elements::Any);
//       ...
//       author.add(TransposeOp::create(author.builder, author.loc, ...));
//     };
//
// Data is made of small integers, on which sums in any order agree to the bit.
// Ops that leave the integers make their results, and all that comes from them,
// *inexact*: those are compared with a tolerance, and are kept away from ops
// that jump (compare, floor, sort, ..), where a rounding error would become a
// difference.

#ifndef TPOPT_TEST_FUZZ_AUTHOR_H
#define TPOPT_TEST_FUZZ_AUTHOR_H

#include "lib/Support/Random.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

#include <functional>
#include <map>

namespace tp::fuzz {

using Shape = llvm::SmallVector<int64_t>;

/// What the elements of a value are. Indices are the integers that are not
/// booleans.
enum class Elements : uint8_t { Float, ExactFloat, Index, Number, Bool, Any };

class Author;
using Generator = std::function<void(Author &)>;
/// By the full name of the op, and what is special about it if there are
/// several. Ordered: seeds must not depend on hashes.
using Generators = std::map<std::string, Generator>;

void addElementwise(Generators &generators);
void addEinsums(Generators &generators);
void addMovements(Generators &generators);
void addIndexing(Generators &generators);
void addTransformerOps(Generators &generators);
void addControlFlow(Generators &generators);
void addAnnotations(Generators &generators);
void addManualRegions(Generators &generators);

/// All of them.
const Generators &getGenerators();

/// A module for `seed`.
mlir::OwningOpRef<mlir::ModuleOp> writeProgram(mlir::MLIRContext &context,
                                               uint64_t seed);

class Author {
public:
  Author(mlir::MLIRContext &context, uint64_t seed);

  mlir::OwningOpRef<mlir::ModuleOp> write();

  Random random;
  mlir::OpBuilder builder;
  mlir::Location loc;
  /// The mesh of the module.
  Mesh mesh;

  //===--------------------------------------------------------------------===//
  // Types
  //===--------------------------------------------------------------------===//

  /// Mostly from 1 to 9.
  int64_t size();
  Shape shape(int64_t minRank, int64_t maxRank);
  mlir::Type element(Elements elements);
  mlir::RankedTensorType type(llvm::ArrayRef<int64_t> shape,
                              mlir::Type element) {
    return mlir::RankedTensorType::get(shape, element);
  }
  static llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
    return typeOf(value).getShape();
  }
  static mlir::RankedTensorType typeOf(mlir::Value value) {
    return llvm::cast<mlir::RankedTensorType>(value.getType());
  }
  static mlir::Type elementOf(mlir::Value value) {
    return typeOf(value).getElementType();
  }

  //===--------------------------------------------------------------------===//
  // Operands
  //===--------------------------------------------------------------------===//

  /// Any value with such elements and at least `minRank` dimensions, a new
  /// argument if there is none or at times. Null if none can be had.
  mlir::Value pick(Elements elements, int64_t minRank = 0);
  /// A value of `type`, likely one that is there. Never null.
  mlir::Value get(mlir::RankedTensorType type, bool exact = false);
  mlir::Value get(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                  bool exact = false) {
    return get(type(shape, element), exact);
  }
  /// A new constant of small integers.
  mlir::Value constant(mlir::RankedTensorType type);
  /// One integer everywhere.
  mlir::Value splat(mlir::RankedTensorType type, int64_t value);

  bool isInexact(mlir::Value value) const { return inexact.contains(value); }
  void markInexact(mlir::Value value) {
    if (llvm::isa<mlir::FloatType>(elementOf(value)))
      inexact.insert(value);
  }

  //===--------------------------------------------------------------------===//
  // Results
  //===--------------------------------------------------------------------===//

  /// Offers what `op` makes to later ops. Float results are inexact if `op`
  /// leaves the integers, or if an operand is.
  void add(mlir::Operation *op, bool leavesIntegers = false);
  mlir::Operation *create(llvm::StringRef name, mlir::ValueRange operands,
                          mlir::Type result);
  void offer(mlir::Value value) { scopes.back().push_back(value); }

  /// A region that sees what is outside. `fill` works in a scope of its own.
  void inScope(mlir::Block *block, llvm::function_ref<void()> fill);
  /// A region that sees nothing from outside.
  void inIsolation(mlir::Block *block, llvm::function_ref<void()> fill);
  /// Some ops, in what region ever this is.
  void writeOps(int64_t count);
  /// How deep regions are nested here.
  unsigned depth() const { return scopes.size() - 1; }
  bool isIsolated() const { return isolated; }

  //===--------------------------------------------------------------------===//
  // Annotations
  //===--------------------------------------------------------------------===//

  /// A sharding that fits a tensor of `rank`, not unreduced.
  TensorSharding sharding(int64_t rank);
  spmd::ShardingAttr toAttr(const TensorSharding &sharding) {
    return spmd::ShardingAttr::get(builder.getContext(), mesh, sharding);
  }
  /// Takes an axis, or a part of one, that `used` leaves free.
  std::optional<AxisRef> drawAxis(llvm::ArrayRef<AxisRef> used);

private:
  void drawMesh();
  void writeFunction(llvm::StringRef name, bool isPrivate);
  void writeOp();
  void annotate(mlir::func::FuncOp function);
  bool fits(mlir::Value value, Elements elements) const;
  mlir::Value addArgument(mlir::RankedTensorType type);
  /// The calls that a program has beside its ops.
  void writeCall();

  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  llvm::SmallVector<mlir::func::FuncOp> helpers;
  /// Values that can be used, innermost region last.
  std::vector<std::vector<mlir::Value>> scopes;
  bool isolated = false;
  /// What arguments of one `tp.name` share.
  std::map<std::string, spmd::ShardingAttr> shardingOfName;
  llvm::DenseSet<mlir::Value> inexact;
};

} // namespace tp::fuzz

#endif // TPOPT_TEST_FUZZ_AUTHOR_H

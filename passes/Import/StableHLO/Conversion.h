// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file One operation on its way to `tp`.
///
/// A converter reads the operation through a Conversion, which checks what it
/// hands out, writes what the operation means, and returns its results:
///
///     static Results convertIota(Conversion &c) {
///       FailureOr<int64_t> dim = c.getInteger("iota_dimension");
///       if (failed(dim))
///         return failure();
///       return c.one(c.emit.iota(*dim, c.outShape(), c.outElement()));
///     }
///
/// Each is one line of a table, which also says how many operands, results and
/// regions the operation has. Before a converter runs, these numbers have been
/// checked, and that all types are tensors `tp` computes with; behind it, that
/// the results have the operation's types and that what was built verifies. So
/// a converter checks only what it would stumble over itself.

#ifndef TPOPT_PASSES_IMPORT_STABLEHLO_CONVERSION_H
#define TPOPT_PASSES_IMPORT_STABLEHLO_CONVERSION_H

#include "Shardings.h"

#include "dialects/TP/Emitter.h"
#include "tpopt/Support/ErrorCodes.h"

#include <optional>

namespace tp::stablehlo {

/// A number that fits into 64 bits, none else. That of an i0 is 0.
std::optional<int64_t> getInt64(const llvm::APInt &number);

using Sizes = llvm::ArrayRef<int64_t>;

/// Whether a tensor of that type has no elements.
inline bool isEmpty(mlir::Type type) {
  return llvm::is_contained(mlir::cast<mlir::ShapedType>(type).getShape(), 0);
}
using Results = mlir::FailureOr<llvm::SmallVector<mlir::Value>>;

/// Named attributes, of an operation or of a structure in one. `where` names
/// them in messages.
class Fields {
public:
  Fields(mlir::Operation *op, mlir::DictionaryAttr fields,
         llvm::StringRef where)
      : op(op), fields(fields), where(where) {}
  explicit Fields(mlir::Operation *op) : op(op) {}

  /// An integer; `otherwise` if there is none.
  mlir::FailureOr<int64_t>
  getInteger(llvm::StringRef name,
             std::optional<int64_t> otherwise = std::nullopt) const;
  /// A list of integers; empty if there is none.
  mlir::FailureOr<llvm::SmallVector<int64_t>>
  getList(llvm::StringRef name) const;
  /// A list of `count` integers, `otherwise` each if there is none.
  mlir::FailureOr<llvm::SmallVector<int64_t>>
  getList(llvm::StringRef name, size_t count,
          std::optional<int64_t> otherwise = std::nullopt) const;
  /// Distinct dimensions of a tensor of `rank`.
  mlir::FailureOr<llvm::SmallVector<int64_t>> getDims(llvm::StringRef name,
                                                      int64_t rank) const;
  /// An enumerator or string; empty if there is none.
  llvm::StringRef getWord(llvm::StringRef name) const;
  bool getFlag(llvm::StringRef name) const;
  mlir::Attribute get(llvm::StringRef name) const;

private:
  mlir::InFlightDiagnostic fail() const;

  mlir::Operation *op;
  mlir::DictionaryAttr fields;
  llvm::StringRef where;
};

class Conversion : public Fields {
public:
  Conversion(mlir::Operation *op, mlir::OpBuilder &builder,
             const ForeignShardings &shardings)
      : Fields(op), op(op), builder(builder), emit(builder, op->getLoc()),
        shardings(shardings) {}

  mlir::Value in(unsigned i = 0) const { return op->getOperand(i); }
  mlir::RankedTensorType inType(unsigned i = 0) const { return typeOf(in(i)); }
  Sizes inShape(unsigned i = 0) const { return typeOf(in(i)).getShape(); }
  mlir::RankedTensorType outType(unsigned i = 0) const {
    return typeOf(op->getResult(i));
  }
  Sizes outShape(unsigned i = 0) const {
    return typeOf(op->getResult(i)).getShape();
  }
  mlir::Type outElement(unsigned i = 0) const {
    return outType(i).getElementType();
  }

  /// A structure such as `dot_dimension_numbers`.
  mlir::FailureOr<Fields> getStructure(llvm::StringRef name) const;

  Results one(mlir::Value value) const {
    return llvm::SmallVector<mlir::Value>{value};
  }
  /// The error that the operation means something we cannot say.
  mlir::InFlightDiagnostic unsupported() const;
  /// The error that the operation is not as StableHLO has it.
  mlir::InFlightDiagnostic invalid() const;

  mlir::Operation *op;
  mlir::OpBuilder &builder;
  Emitter emit;
  const ForeignShardings &shardings;
};

/// Sizes and distances beyond which nothing is computed: the product of two is
/// in range.
constexpr int64_t kLarge = int64_t(1) << 31;

inline bool isLarge(int64_t n) { return n < -kLarge || n > kLarge; }

/// Each element of `x` along `dim` as `spread` of them: itself at place `at`,
/// and around it `value`.
mlir::Value emitSpread(Conversion &c, mlir::Value x, mlir::Value value,
                       int64_t dim, int64_t spread, int64_t at);

/// Elements of `value` between those of `x`, which are `spread` apart then
/// along `dim`, and around them what is padding, as far as blocks stay what
/// they are: little crosses their borders then. `low` and `high` are what is
/// left to pad, or to cut where they are negative.
mlir::Value emitInterior(Conversion &c, mlir::Value x, mlir::Value value,
                         int64_t dim, int64_t spread, int64_t &low,
                         int64_t &high);

/// Elements from the last to the first along `dim`.
mlir::Value emitReverse(Conversion &c, mlir::Value x, int64_t dim);

/// `lhs,rhs->result` in the element type of the operation: operands of two
/// types meet in the result's.
Results emitEinsum(Conversion &c, mlir::Value lhs, mlir::Value rhs,
                   const std::string &equation, Sizes shape);

using Converter = Results (*)(Conversion &);

/// When the regions of an operation are converted.
enum class Regions : uint8_t {
  Before, ///< The operation, which then sees ops of tp in them.
  Never,  ///< It reads them as they are.
  After   ///< They are those of what it has become.
};

/// How one operation is converted. -1 is any number.
struct Row {
  llvm::StringLiteral name;
  int numOperands, numResults, numRegions;
  Converter convert;
  Regions regions = Regions::Before;
  /// What it carries of shardings is what it means, not its results'.
  bool annotates = false;
};

// The tables, one for each family of operations.
llvm::ArrayRef<Row> getElementwiseRows();
llvm::ArrayRef<Row> getShapeRows();
llvm::ArrayRef<Row> getContractionRows();
llvm::ArrayRef<Row> getConvolutionRows();
llvm::ArrayRef<Row> getReductionRows();
llvm::ArrayRef<Row> getNormalizationRows();
llvm::ArrayRef<Row> getSelectAndScatterRows();
llvm::ArrayRef<Row> getWindowRows();
llvm::ArrayRef<Row> getIndexingRows();
llvm::ArrayRef<Row> getSortRows();
llvm::ArrayRef<Row> getControlFlowRows();
llvm::ArrayRef<Row> getCallRows();
llvm::ArrayRef<Row> getSpecialFunctionRows();
llvm::ArrayRef<Row> getRandomRows();
llvm::ArrayRef<Row> getAnnotationRows();
llvm::ArrayRef<Row> getManualRows();
llvm::ArrayRef<Row> getExchangeRows();
llvm::ArrayRef<Row> getPlaceRows();

/// The `stablehlo.return` of a region of one block; null if there is none.
mlir::Operation *getReturn(mlir::Region &region);

/// What a region on scalars does, when it is one operation on its two
/// arguments.
enum class Combiner : uint8_t { Add, Mul, Max, Min, And, Or, Second };
std::optional<Combiner> getCombiner(mlir::Region &region);
/// Whether `init` is a constant that changes nothing when combined.
bool isIdentity(Combiner combiner, mlir::Value init);
/// Such a constant of the type of `like`; null if there is none.
mlir::Value emitIdentity(Emitter &emit, Combiner combiner, mlir::Value like);

/// The region of scalars, converted already, on every element of tensors of
/// `shape`, one for each argument. Fails, with the reason emitted, if it is not
/// element-wise.
Results inlineElementwise(Conversion &c, mlir::Region &region,
                          mlir::ValueRange arguments, Sizes shape);
/// The same for a region that makes one element of two: of each tensor of the
/// first half of `pairs` and the one at its place in the second. Fails, too, if
/// it gives anything else than one of each.
Results combineElementwise(Conversion &c, mlir::Region &region,
                           mlir::ValueRange pairs, Sizes shape);

/// Values with the shardings that `attributes`, of the operation converted, say
/// for them.
Results constrain(Conversion &c, mlir::ValueRange values,
                  mlir::DictionaryAttr attributes);

/// What a manual region in another one gives if it computes no more than the
/// place of the device along the other's axes: that is how JAX asks for it.
std::optional<llvm::SmallVector<mlir::Value>> convertPlaces(Conversion &c);

/// Replaces the region's `stablehlo.return` by `tp.yield`.
void makeYield(mlir::Region &region);

} // namespace tp::stablehlo

#endif // TPOPT_PASSES_IMPORT_STABLEHLO_CONVERSION_H

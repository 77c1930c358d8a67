// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The conversion of one operation to `tp`.
///
/// A converter reads the operation through a Conversion, whose accessors check
/// the values that they return. The converter writes equivalent ops and returns
/// their results:
///
///     static Results convertIota(Conversion &c) {
///       FailureOr<int64_t> dim = c.getInteger("iota_dimension");
///       if (failed(dim))
///         return failure();
///       return c.one(c.emit.iota(*dim, c.outShape(), c.outElement()));
///     }
///
/// Each converter has one line in a table, which also gives the numbers of
/// operands, results and regions of the operation. Before a converter runs,
/// these numbers and all types are checked; `tp` must be able to compute with
/// the types. After it has run, the result types are compared with those of the
/// operation, and the new ops are verified. So a converter only has to check
/// its own further assumptions.

#ifndef TPOPT_PASSES_IMPORT_STABLEHLO_CONVERSION_H
#define TPOPT_PASSES_IMPORT_STABLEHLO_CONVERSION_H

#include "Shardings.h"

#include "dialects/TP/Emitter.h"
#include "tpopt/Support/ErrorCodes.h"

#include <optional>

namespace tp::stablehlo {

/// Returns the number if it fits into 64 bits, else nullopt. The value of an i0
/// is 0.
std::optional<int64_t> getInt64(const llvm::APInt &number);

using Sizes = llvm::ArrayRef<int64_t>;

/// Returns true if a tensor of that type has no elements.
inline bool isEmpty(mlir::Type type) {
  return llvm::is_contained(mlir::cast<mlir::ShapedType>(type).getShape(), 0);
}
using Results = mlir::FailureOr<llvm::SmallVector<mlir::Value>>;

/// Named attributes of an operation, or of a structure that is one of its
/// attributes. Error messages call the structure `where`.
class Fields {
public:
  Fields(mlir::Operation *op, mlir::DictionaryAttr fields,
         llvm::StringRef where)
      : op(op), fields(fields), where(where) {}
  explicit Fields(mlir::Operation *op) : op(op) {}

  /// Returns an integer; `otherwise` if the attribute is absent.
  mlir::FailureOr<int64_t>
  getInteger(llvm::StringRef name,
             std::optional<int64_t> otherwise = std::nullopt) const;
  /// Returns a list of integers; empty if the attribute is absent.
  mlir::FailureOr<llvm::SmallVector<int64_t>>
  getList(llvm::StringRef name) const;
  /// Returns a list of `count` integers. If the attribute is absent, all are
  /// `otherwise`.
  mlir::FailureOr<llvm::SmallVector<int64_t>>
  getList(llvm::StringRef name, size_t count,
          std::optional<int64_t> otherwise = std::nullopt) const;
  /// Returns distinct dimensions of a tensor with rank `rank`.
  mlir::FailureOr<llvm::SmallVector<int64_t>> getDims(llvm::StringRef name,
                                                      int64_t rank) const;
  /// Returns an enumerator or string; empty if the attribute is absent.
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

  /// Returns a structure such as `dot_dimension_numbers`.
  mlir::FailureOr<Fields> getStructure(llvm::StringRef name) const;

  Results one(mlir::Value value) const {
    return llvm::SmallVector<mlir::Value>{value};
  }
  /// Emits the error that `tp` cannot express the operation.
  mlir::InFlightDiagnostic unsupported() const;
  /// Emits the error that the operation is not valid StableHLO.
  mlir::InFlightDiagnostic invalid() const;

  mlir::Operation *op;
  mlir::OpBuilder &builder;
  Emitter emit;
  const ForeignShardings &shardings;
};

/// Larger sizes and distances are rejected, so that the product of two such
/// numbers does not overflow.
constexpr int64_t kLarge = int64_t(1) << 31;

inline bool isLarge(int64_t n) { return n < -kLarge || n > kLarge; }

/// Replaces each element of `x` along `dim` by `spread` elements: itself at
/// position `at`, and `value` around it.
mlir::Value emitSpread(Conversion &c, mlir::Value x, mlir::Value value,
                       int64_t dim, int64_t spread, int64_t at);

/// Inserts elements of `value` between the elements of `x` along `dim`, so that
/// the elements of `x` are `spread` apart. If the blocks of `x` then keep their
/// size, also adds padding, so that little data crosses block boundaries. `low`
/// and `high` become the padding that remains to be added; negative padding
/// removes elements.
mlir::Value emitInterior(Conversion &c, mlir::Value x, mlir::Value value,
                         int64_t dim, int64_t spread, int64_t &low,
                         int64_t &high);

/// Reverses the elements along `dim`.
mlir::Value emitReverse(Conversion &c, mlir::Value x, int64_t dim);

/// Computes `lhs,rhs->result` in the element type of the result; operands of
/// different types are converted to it.
Results emitEinsum(Conversion &c, mlir::Value lhs, mlir::Value rhs,
                   const std::string &equation, Sizes shape);

using Converter = Results (*)(Conversion &);

/// When the regions of an operation are converted, relative to the operation.
enum class Regions : uint8_t {
  Before, ///< Before the operation, which then sees tp ops.
  Never,  ///< The converter reads them as they are.
  After   ///< After it, as regions of its replacement.
};

/// How one operation is converted. If `numOperands`, `numResults` or
/// `numRegions` is -1, any number is allowed.
struct Row {
  llvm::StringLiteral name;
  int numOperands, numResults, numRegions;
  Converter convert;
  Regions regions = Regions::Before;
  /// The operation's sharding attributes define what it does; they are not the
  /// shardings of its results.
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

/// Returns the `stablehlo.return` of a region with one block; null if there is
/// none.
mlir::Operation *getReturn(mlir::Region &region);

/// The operation that a region on scalars applies to its two arguments, if the
/// region is a single operation.
enum class Combiner : uint8_t { Add, Mul, Max, Min, And, Or, Second };
std::optional<Combiner> getCombiner(mlir::Region &region);
/// Returns true if `init` is a constant and the identity of `combiner`.
bool isIdentity(Combiner combiner, mlir::Value init);
/// Creates the identity with the type of `like`; null if there is none.
mlir::Value emitIdentity(Emitter &emit, Combiner combiner, mlir::Value like);

/// Applies a region on scalars, which has already been converted, to every
/// element of `arguments`, tensors of `shape`. Emits an error and fails if the
/// region is not element-wise.
Results inlineElementwise(Conversion &c, mlir::Region &region,
                          mlir::ValueRange arguments, Sizes shape);
/// Combines tensor i of the first half of `pairs` with tensor i of the second
/// half, for every i. The region defines how elements are combined. Fails like
/// inlineElementwise, and also if the region does not return one element per
/// pair.
Results combineElementwise(Conversion &c, mlir::Region &region,
                           mlir::ValueRange pairs, Sizes shape);

/// Constrains values to the shardings in `attributes`, the attributes of the
/// converted operation.
Results constrain(Conversion &c, mlir::ValueRange values,
                  mlir::DictionaryAttr attributes);

/// JAX writes a device's position along the axes of a manual region as a manual
/// region nested in it. If the operation is such a nested region, returns
/// values for its results.
std::optional<llvm::SmallVector<mlir::Value>> convertPlaces(Conversion &c);

/// Replaces the region's `stablehlo.return` by a `tp.yield`.
void makeYield(mlir::Region &region);

} // namespace tp::stablehlo

#endif // TPOPT_PASSES_IMPORT_STABLEHLO_CONVERSION_H

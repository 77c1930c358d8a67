// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Evaluators that keep every element of a tensor in one 64-bit word.
///
/// # One base, several number systems
///
/// Most kernels only move elements, and integers mean the same in every
/// evaluator. DenseEvaluator implements all of that once. A derived class
/// implements floats by a dozen functions on single elements: DoubleEvaluator
/// computes with doubles, FieldEvaluator (FieldEvaluator.h) in a prime field.
///
/// A worked example, the sum of two vectors:
///
///     DoubleEvaluator evaluator;
///     auto type = RankedTensorType::get({2}, Float32Type::get(&context));
///     TensorValue x = makeRealTensor(type, {1.5, 2.0});
///     TensorValue y = evaluator.binary(BinaryKind::Add, x, x, type);
///     toDense(y)[0].real;  // 3.0
///
/// # Elements
///
/// Signless integers are signed: an i8 holds -128..127. Unsigned integers are
/// kept modulo 2^width; a ui64 of 2^63 or more is stored as its bit pattern. An
/// i1 is 0 or 1. Arithmetic wraps around. Divisions by zero do not trap: x / 0
/// is -1 (all bits set) and x rem 0 is x, as in XLA.
///
/// Floats are real numbers until they are rounded. Rounding::None keeps results
/// as computed in doubles, so that integer-valued data stays exact in every
/// element type and in every order of summation. Rounding::ToElementType rounds
/// the result of each kernel once to its element type, as compiled code does.
///
/// Kernels never fail on operands of valid types; only constant() may return
/// null, for a value that is not stored in the program.

#ifndef TPOPT_INTERPRETER_DENSEEVALUATOR_H
#define TPOPT_INTERPRETER_DENSEEVALUATOR_H

#include "tpopt/Dialect/TP/Evaluator.h"

#include <optional>
#include <vector>

namespace tp::interp {

/// One number. The tensor's element type and its evaluator say which member is
/// used.
union Element {
  double real;
  int64_t integer;
  uint64_t residue; ///< Used by number systems other than the reals.
};

inline Element makeReal(double value) {
  Element element;
  element.real = value;
  return element;
}
inline Element makeInteger(int64_t value) {
  Element element;
  element.integer = value;
  return element;
}

/// A tensor in row-major order.
class DenseTensor : public TensorData {
public:
  explicit DenseTensor(mlir::RankedTensorType type)
      : TensorData(type), elements(type.getNumElements(), makeInteger(0)) {}

  bool isFloat() const {
    return llvm::isa<mlir::FloatType>(getType().getElementType());
  }
  int64_t size() const { return elements.size(); }
  Element &operator[](int64_t i) { return elements[i]; }
  const Element &operator[](int64_t i) const { return elements[i]; }
  Element *data() { return elements.data(); }
  const Element *data() const { return elements.data(); }
  llvm::MutableArrayRef<Element> getElements() { return elements; }

private:
  std::vector<Element> elements;
};

/// Casts a tensor of a DenseEvaluator. All of its tensors are DenseTensors.
inline const DenseTensor &toDense(const TensorValue &value) {
  return static_cast<const DenseTensor &>(*value);
}

/// Make a tensor of reals or of integers, for tests and for external data.
TensorValue makeRealTensor(mlir::RankedTensorType type,
                           llvm::ArrayRef<double> values);
TensorValue makeIntegerTensor(mlir::RankedTensorType type,
                              llvm::ArrayRef<int64_t> values);

/// `value` modulo 2^width, in the form in which elements of `type` are stored.
int64_t wrapInteger(int64_t value, mlir::IntegerType type);

/// Row-major strides of a shape.
llvm::SmallVector<int64_t> getStrides(llvm::ArrayRef<int64_t> shape);

/// Prints the index of element number `offset` of a tensor, as "[1, 2]".
std::string printIndex(int64_t offset, llvm::ArrayRef<int64_t> shape);

/// Copies a box of `sizes` elements. All data movement consists of such copies.
void copyStrided(llvm::ArrayRef<int64_t> sizes, const Element *from,
                 llvm::ArrayRef<int64_t> fromStrides, Element *to,
                 llvm::ArrayRef<int64_t> toStrides);

class DenseEvaluator : public Evaluator {
public:
  TensorValue constant(mlir::ElementsAttr value, Type type) override;
  TensorValue iota(unsigned dim, Type type) override;
  TensorValue unary(UnaryKind kind, TensorValue x, Type type) override;
  TensorValue binary(BinaryKind kind, TensorValue a, TensorValue b,
                     Type type) override;
  TensorValue compare(ComparePredicate predicate, TensorValue a, TensorValue b,
                      Type type) override;
  TensorValue select(TensorValue condition, TensorValue a, TensorValue b,
                     Type type) override;
  TensorValue convert(TensorValue x, Type type) override;
  TensorValue bitcast(TensorValue x, Type type) override;
  TensorValue contract(llvm::StringRef equation, TensorValue a, TensorValue b,
                       Type type) override;
  TensorValue reduce(ReductionKind kind, TensorValue x,
                     llvm::ArrayRef<int64_t> dims, Type type) override;
  TensorValue broadcast(TensorValue x, llvm::ArrayRef<int64_t> dims,
                        Type type) override;
  TensorValue transpose(TensorValue x, llvm::ArrayRef<int64_t> permutation,
                        Type type) override;
  TensorValue reshape(TensorValue x, Type type) override;
  TensorValue slice(TensorValue x, llvm::ArrayRef<int64_t> starts,
                    llvm::ArrayRef<int64_t> strides, Type type) override;
  TensorValue concat(llvm::ArrayRef<TensorValue> parts, unsigned dim,
                     Type type) override;
  TensorValue pad(TensorValue x, TensorValue value, llvm::ArrayRef<int64_t> low,
                  Type type) override;
  TensorValue window(TensorValue x, llvm::ArrayRef<int64_t> dims,
                     llvm::ArrayRef<int64_t> starts,
                     llvm::ArrayRef<int64_t> strides,
                     llvm::ArrayRef<int64_t> dilations, Type type) override;
  TensorValue gather(TensorValue x, TensorValue indices, unsigned axis,
                     unsigned batchDims, Type type) override;
  TensorValue scatter(ScatterKind kind, TensorValue x, TensorValue indices,
                      TensorValue updates, unsigned axis, unsigned batchDims,
                      Type type) override;
  TensorValue dynamicSlice(TensorValue x, llvm::ArrayRef<TensorValue> starts,
                           Type type) override;
  TensorValue dynamicUpdateSlice(TensorValue x, TensorValue update,
                                 llvm::ArrayRef<TensorValue> starts,
                                 Type type) override;
  std::pair<TensorValue, TensorValue> sort(TensorValue x, unsigned dim,
                                           bool descending, Type values,
                                           Type indices) override;
  llvm::SmallVector<int64_t> getIntegers(TensorValue x) override;

  /// Converts the number in an attribute to an element of type `elementType`,
  /// for masks.
  Element makeElement(mlir::Attribute scalar, mlir::Type elementType);
  /// The identity of a reduction: 0, or the least or greatest value.
  Element getIdentity(ReduceKind kind, mlir::Type elementType);
  /// Returns an arbitrary value for padding, selected by `salt`. It has either
  /// sign, and is huge, tiny or NaN. If it is read by mistake, it is as likely
  /// to change a maximum as a minimum, and multiplying it by zero does not hide
  /// NaN.
  virtual Element getGarbage(uint64_t salt, mlir::Type elementType);
  /// Turns a random number into a float for random data.
  virtual Element drawFloat(uint64_t number) = 0;
  /// Returns a float of either sign, with a magnitude from 2^least to
  /// 2^(greatest + 1). Number systems without magnitudes ignore the bounds.
  virtual Element drawFloat(uint64_t number, int least, int greatest) {
    return drawFloat(number);
  }
  virtual bool isNaN(Element value) = 0;
  /// Returns true if two results differ by at most `tolerance` times the larger
  /// magnitude or 1, whichever is greater. NaNs are equal.
  virtual bool isClose(Element a, Element b, mlir::Type elementType,
                       double tolerance) = 0;
  /// Prints an element for messages.
  virtual std::string print(Element value, mlir::Type elementType);

protected:
  // The operations of the number system. Their results are not rounded yet.
  virtual Element fromAPFloat(const llvm::APFloat &value) = 0;
  virtual Element fromInteger(int64_t value, bool isUnsigned,
                              mlir::FloatType type) = 0;
  /// Rounds towards zero. The number system decides what numbers outside of the
  /// range of `type` become.
  virtual int64_t toInteger(Element value, mlir::IntegerType type) = 0;
  virtual bool isZero(Element value) = 0;
  /// Convert a float that is rounded to `type` to its bits, and back.
  virtual uint64_t toBits(Element value, mlir::FloatType type) = 0;
  virtual Element fromBits(uint64_t bits, mlir::FloatType type) = 0;
  virtual Element unaryFloat(UnaryKind kind, Element x) = 0;
  virtual Element binaryFloat(BinaryKind kind, Element a, Element b) = 0;
  /// Computes binaryFloat() for `count` pairs.
  virtual void binaryFloats(BinaryKind kind, const Element *a, const Element *b,
                            Element *out, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      out[i] = binaryFloat(kind, a[i], b[i]);
  }
  /// -1, 0 or 1; none if `a` or `b` is NaN.
  virtual std::optional<int> order(Element a, Element b) = 0;
  virtual Element round(Element value, mlir::FloatType type) = 0;
  /// c[m,n] += sum over k of a[m,k] b[k,n], all row-major.
  virtual void multiplyAdd(const Element *a, const Element *b, Element *c,
                           int64_t m, int64_t k, int64_t n) = 0;

private:
  /// Combines two elements of `type`. An integer result is wrapped to the width
  /// of `type`; a float result is not rounded.
  Element combine(BinaryKind kind, Element a, Element b, mlir::Type type);
  /// Rounds floats to their type.
  void finish(llvm::MutableArrayRef<Element> values, mlir::Type type);
  std::optional<int> orderOf(Element a, Element b, mlir::Type type);
};

enum class Rounding : uint8_t { None, ToElementType };

/// Computes floats as doubles.
class DoubleEvaluator : public DenseEvaluator {
public:
  explicit DoubleEvaluator(Rounding rounding = Rounding::None)
      : rounding(rounding) {}

  /// Returns true if every float so far was infinite or an integer of at most
  /// 2^53: then every order of summation gives the same result.
  bool isExact() const { return exact; }

  bool isClose(Element a, Element b, mlir::Type elementType,
               double tolerance) override;
  std::string print(Element value, mlir::Type elementType) override;
  /// An integer from -3 to 3.
  Element drawFloat(uint64_t number) override {
    return makeReal(double(number % 7) - 3);
  }
  Element drawFloat(uint64_t number, int least, int greatest) override;
  bool isNaN(Element value) override { return value.real != value.real; }

protected:
  Element fromAPFloat(const llvm::APFloat &value) override;
  Element fromInteger(int64_t value, bool isUnsigned,
                      mlir::FloatType type) override;
  int64_t toInteger(Element value, mlir::IntegerType type) override;
  bool isZero(Element value) override { return value.real == 0; }
  uint64_t toBits(Element value, mlir::FloatType type) override;
  Element fromBits(uint64_t bits, mlir::FloatType type) override;
  Element unaryFloat(UnaryKind kind, Element x) override;
  Element binaryFloat(BinaryKind kind, Element a, Element b) override;
  std::optional<int> order(Element a, Element b) override;
  Element round(Element value, mlir::FloatType type) override;
  void multiplyAdd(const Element *a, const Element *b, Element *c, int64_t m,
                   int64_t k, int64_t n) override;

private:
  Rounding rounding;
  bool exact = true;
};

/// Computes with doubles, and gives every result a relative error of up to
/// `unit`. How far these errors move a program's results shows how many digits
/// are meaningful: see passes/Verify/Conditioning.h.
///
/// The error is a random function of the value, selected by the key, so that
/// copies of a value stay equal. Floats that are integers stay exact, since
/// programs compare positions that are stored as floats. If results are rounded
/// to their element type, the error is at least that of a few roundings to this
/// type.
class NoisyEvaluator : public DoubleEvaluator {
public:
  NoisyEvaluator(uint64_t key, double unit, Rounding rounding = Rounding::None)
      : DoubleEvaluator(rounding), key(key), unit(unit),
        addsRoundings(rounding == Rounding::ToElementType) {}

protected:
  Element round(Element value, mlir::FloatType type) override;

private:
  uint64_t key;
  double unit;
  bool addsRoundings;
};

/// Rounds `value` to the nearest number of `type`, ties to even.
double roundToType(double value, mlir::FloatType type);

} // namespace tp::interp

#endif // TPOPT_INTERPRETER_DENSEEVALUATOR_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the interpreter's tests share: tensors to compute with, and programs
// from text.

#ifndef TPOPT_TEST_UNIT_INTERPRETER_HARNESS_H
#define TPOPT_TEST_UNIT_INTERPRETER_HARNESS_H

#include "lib/Interpreter/Interpreter.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>

namespace tp {

using Index = llvm::SmallVector<int64_t>;
using Types = llvm::SmallVector<mlir::Type>;

/// Calls `fn` with every index of a tensor of `shape`.
template <typename Fn> void forEachIndex(llvm::ArrayRef<int64_t> shape, Fn fn) {
  Index index(shape.size(), 0);
  if (llvm::is_contained(shape, 0))
    return;
  while (true) {
    fn(index);
    size_t dim = shape.size();
    while (dim > 0 && ++index[dim - 1] == shape[dim - 1])
      index[--dim] = 0;
    if (dim == 0)
      return;
  }
}

inline interp::Element at(const TensorValue &tensor,
                          llvm::ArrayRef<int64_t> index) {
  int64_t offset = 0;
  for (auto [i, size] : llvm::zip_equal(index, tensor->getShape()))
    offset = offset * size + i;
  return interp::toDense(tensor)[offset];
}
inline double real(const TensorValue &tensor, llvm::ArrayRef<int64_t> index) {
  return at(tensor, index).real;
}
inline int64_t integer(const TensorValue &tensor,
                       llvm::ArrayRef<int64_t> index) {
  return at(tensor, index).integer;
}

/// Loads the project's dialects and makes types and tensors.
class InterpreterFixture : public ::testing::Test {
protected:
  InterpreterFixture() {
    mlir::DialectRegistry registry;
    registry.insert<TPDialect, spmd::SPMDDialect, mlir::func::FuncDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  mlir::RankedTensorType type(llvm::ArrayRef<int64_t> shape,
                              mlir::Type element) {
    return mlir::RankedTensorType::get(shape, element);
  }
  mlir::Type parse(llvm::StringRef text) {
    return mlir::parseType(text, &context);
  }
  mlir::Type f32() { return mlir::Float32Type::get(&context); }
  mlir::Type f64() { return mlir::Float64Type::get(&context); }
  mlir::IntegerType i(unsigned width) {
    return mlir::IntegerType::get(&context, width);
  }
  Types floats() {
    Types types;
    for (llvm::StringRef name :
         {"f64", "f32", "bf16", "f16", "f8E4M3FN", "f8E5M2"})
      types.push_back(parse(name));
    return types;
  }
  Types integers() {
    Types types;
    for (llvm::StringRef name : {"i4", "i8", "i16", "i32", "i64", "ui4", "ui8",
                                 "ui16", "ui32", "ui64"})
      types.push_back(parse(name));
    return types;
  }
  Types allTypes() {
    Types types = floats();
    types.append(integers());
    types.push_back(i(1));
    return types;
  }

  /// Random numbers of the element type: integers of its range, or multiples of
  /// 1/8 from -2 to 2, which every float type but f8 holds.
  TensorValue random(mlir::RankedTensorType type) {
    auto tensor = std::make_shared<interp::DenseTensor>(type);
    for (int64_t n = 0; n < tensor->size(); ++n)
      if (auto integer =
              mlir::dyn_cast<mlir::IntegerType>(type.getElementType()))
        (*tensor)[n] = interp::makeInteger(
            interp::wrapInteger(int64_t(engine()), integer));
      else
        (*tensor)[n] = interp::makeReal((int(engine() % 33) - 16) / 8.0);
    return tensor;
  }
  /// Integers from `least` to `greatest`, of any element type.
  TensorValue draw(mlir::RankedTensorType type, int64_t least,
                   int64_t greatest) {
    auto tensor = std::make_shared<interp::DenseTensor>(type);
    for (int64_t n = 0; n < tensor->size(); ++n) {
      int64_t value = least + int64_t(engine() % (greatest - least + 1));
      (*tensor)[n] = tensor->isFloat() ? interp::makeReal(double(value))
                                       : interp::makeInteger(value);
    }
    return tensor;
  }

  /// Whether a value of f32 is what nobody has computed: not a number, or huge
  /// or tiny.
  static bool isGarbage(double value) {
    double size = std::abs(value);
    return !(size <= 1000) || (size > 0 && size < 1e-30);
  }

  /// Runs the function `@f` of a module.
  llvm::SmallVector<TensorValue>
  run(llvm::StringRef text, llvm::ArrayRef<TensorValue> arguments,
      interp::Rounding rounding = interp::Rounding::None,
      uint64_t garbage = 0) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module) {
      ADD_FAILURE() << "cannot parse " << text.str();
      return {};
    }
    auto program =
        interp::Program::analyze(module->lookupSymbol<mlir::func::FuncOp>("f"));
    interp::DoubleEvaluator evaluator(rounding);
    if (mlir::failed(program))
      return {};
    interp::InterpreterOptions options;
    options.garbage = garbage;
    auto results =
        interp::Interpreter(evaluator, options).run(*program, arguments);
    return mlir::failed(results) ? llvm::SmallVector<TensorValue>() : *results;
  }

  mlir::MLIRContext context;
  interp::DoubleEvaluator evaluator;
  std::mt19937_64 engine{1};
};

/// Every element of `tensor` is the bits that `expected(index)` gives.
template <typename Fn>
void expectElements(const TensorValue &tensor, Fn expected) {
  unsigned wrong = 0;
  forEachIndex(tensor->getShape(), [&](const Index &index) {
    wrong += at(tensor, index).residue != expected(index).residue;
  });
  EXPECT_EQ(wrong, 0u);
}

/// Every element of a float tensor is `expected(index)`, but for rounding.
template <typename Fn>
void expectReals(const TensorValue &tensor, Fn expected,
                 double tolerance = 1e-12) {
  forEachIndex(tensor->getShape(), [&](const Index &index) {
    double wanted = expected(index), got = real(tensor, index);
    if (!(std::isnan(wanted) && std::isnan(got)) && wanted != got)
      EXPECT_NEAR(got, wanted, tolerance * std::max(1.0, std::abs(wanted)));
  });
}

} // namespace tp

#endif // TPOPT_TEST_UNIT_INTERPRETER_HARNESS_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Every element type with every op that it has, and rows of every length from 1
// to 70, compiled and run, against the interpreter.

#include "CompiledProgram.h"

using namespace mlir;
using namespace tp;

namespace {

/// Writes @main with some arguments of one type and a result for each op.
class Source {
public:
  Source(ArrayRef<std::string> arguments) {
    for (auto [index, type] : llvm::enumerate(arguments))
      header += (index ? ", %" : "%") + getName(index) + ": " + type +
                " {tp.name = \"" + getName(index) + "\"}";
  }
  /// Adds an op, written up to its last type, with a result of `type`.
  void add(const std::string &op, const std::string &type) {
    std::string value = "%result" + std::to_string(count);
    body += "  " + value + " = " + op + "\n";
    results += (count ? ", " : "") + type + " {tp.name = \"" +
               op.substr(0, 24) + std::to_string(count) + "\"}";
    values += (count ? ", " : "") + value;
    types += (count ? ", " : "") + type;
    ++count;
  }
  /// Adds a line without a result.
  void define(const std::string &line) { body += "  " + line + "\n"; }
  std::string str() const {
    return "func.func @main(" + header + ") -> (" + results + ") {\n" + body +
           "  return " + values + " : " + types + "\n}\n";
  }

private:
  static std::string getName(size_t index) {
    return std::string(1, char('a' + index % 26)) + std::to_string(index);
  }
  std::string header, body, results, values, types;
  unsigned count = 0;
};

struct ElementCase {
  const char *name;
  double tolerance; ///< Of two ops: what is between them is not rounded.
};

class Elements : public CompiledProgram,
                 public ::testing::WithParamInterface<ElementCase> {};

class Rows : public CompiledProgram {};

} // namespace

static std::string tensor(const std::string &shape, const std::string &type) {
  return "tensor<" + shape + "x" + type + ">";
}

// Unary, binary, comparison, choice, conversion and reduction of each type give
// the interpreter's values: exactly for integers, rounded once for floats.
TEST_P(Elements, ComputeLikeTheInterpreter) {
  std::string name = GetParam().name, t = tensor("3x21", name);
  bool isBool = name == "i1";
  bool isFloat = name.find('f') != std::string::npos;
  bool isUnsigned = name[0] == 'u';
  Source source({t, t, tensor("3x21", "i1")});
  std::vector<std::string> unary, binary;
  if (isFloat) {
    unary = {"neg",        "abs",  "sign", "exp",          "expm1", "sin",
             "cos",        "tanh", "erf",  "logistic",     "floor", "ceil",
             "round_even", "cbrt", "tan",  "stop_gradient"};
    binary = {"add", "sub", "mul", "div", "max", "min", "rem", "atan2"};
  } else if (isBool) {
    unary = {"not"};
    binary = {"and", "or", "xor"};
  } else {
    unary = {"not", "popcount", "count_leading_zeros"};
    if (!isUnsigned)
      unary.insert(unary.end(), {"neg", "abs", "sign"});
    binary = {"add",
              "sub",
              "mul",
              "div",
              "rem",
              "max",
              "min",
              "and",
              "or",
              "xor",
              "shift_left",
              "shift_right_arithmetic",
              "shift_right_logical"};
  }
  for (const std::string &op : unary)
    source.add("tp." + op + " %a0 : " + t, t);
  for (const std::string &op : binary)
    source.add("tp." + op + " %a0, %b1 : " + t, t);
  if (isFloat) {
    // Where they are defined: of numbers above zero.
    source.define("%p = tp.exp %a0 : " + t);
    for (const char *op : {"log", "log1p", "sqrt", "rsqrt"})
      source.add(std::string("tp.") + op + " %p : " + t, t);
    source.add("tp.pow %p, %b1 : " + t, t);
    // The bits of small integers, which are the same before and after rounding.
    std::string bits = "ui" + name.substr(name.find_first_of("136"));
    source.add("tp.bitcast %b1 : " + t + " -> " + tensor("3x21", bits),
               tensor("3x21", bits));
  }
  std::string truth = tensor("3x21", "i1");
  for (const char *order : {"eq", "ne", "lt", "le", "gt", "ge"})
    source.add(std::string("tp.compare ") + order + " %a0, %b1 : (" + t + ", " +
                   t + ") -> " + truth,
               truth);
  source.add("tp.select %c2, %a0, %b1 : (" + truth + ", " + t + ", " + t +
                 ") -> " + t,
             t);
  for (const char *to : {"f64", "f32", "bf16", "f16", "i64", "i32", "i8"})
    if (to != name)
      source.add("tp.convert %a0 : " + t + " -> " + tensor("3x21", to),
                 tensor("3x21", to));
  if (name == "i32" || name == "i16" || name == "ui64") {
    // Back from bits that a float is known to have.
    std::string to = name == "i32" ? "f32" : name == "i16" ? "bf16" : "f64";
    source.define("%q = tp.convert %a0 : " + t + " -> " + tensor("3x21", to));
    source.define("%r = tp.bitcast %q : " + tensor("3x21", to) + " -> " + t);
    source.add("tp.bitcast %r : " + t + " -> " + tensor("3x21", to),
               tensor("3x21", to));
  }
  if (!isBool)
    for (const char *kind : {"max", "min", "sum", "prod"})
      source.add(std::string("tp.reduce ") + kind + " %a0 dims = [1] : " + t +
                     " -> " + tensor("3", name),
                 tensor("3", name));
  expectWholeProgram(source.str(), "x=1", 1, GetParam().tolerance);
}

// Every 8-bit float, and what lies between two of them and around the largest,
// is widened and rounded like the interpreter does; sums over devices and rows,
// the largest and what a scatter adds are rounded once.
TEST_F(Rows, OfEightBitFloats) {
  for (std::string type : {"f8E4M3FN", "f8E5M2"}) {
    auto tensor8 = [&](const std::string &shape) {
      return tensor(shape, type);
    };
    Source source(
        {tensor("256x16", "f32"), tensor("16x3", "f32"), tensor("5", "i32")});
    source.define("%i = tp.iota dim = 0 : tensor<256xi32>");
    source.define("%bits = tp.convert %i : tensor<256xi32> -> tensor<256xui8>");
    source.define("%all = tp.bitcast %bits : tensor<256xui8> -> " +
                  tensor8("256"));
    source.add("tp.convert %all : " + tensor8("256") + " -> tensor<256xf32>",
               "tensor<256xf32>");
    // v (16 + k) / 16: between two numbers, or half-way.
    source.define("%wide = tp.broadcast %result0 dims = [0] : tensor<256xf32> "
                  "-> tensor<256x16xf32>");
    source.define("%k = tp.iota dim = 1 : tensor<256x16xf32>");
    source.define("%part = tp.constant dense<0.0625> : tensor<256x16xf32>");
    source.define("%k16 = tp.mul %k, %part : tensor<256x16xf32>");
    source.define("%more = tp.mul %wide, %k16 : tensor<256x16xf32>");
    source.define("%sum = tp.add %wide, %more : tensor<256x16xf32>");
    source.define("%rounded = tp.convert %sum : tensor<256x16xf32> -> " +
                  tensor8("256x16"));
    source.add("tp.convert %rounded : " + tensor8("256x16") +
                   " -> tensor<256x16xf32>",
               "tensor<256x16xf32>");
    source.define("%x = tp.convert %a0 : tensor<256x16xf32> -> " +
                  tensor8("256x16"));
    source.define("%y = tp.convert %b1 : tensor<16x3xf32> -> " +
                  tensor8("16x3"));
    auto addWide = [&](const std::string &op, const std::string &shape) {
      std::string name = "%narrow" + std::to_string(op.size());
      source.define(name + " = " + op);
      source.add("tp.convert " + name + " : " + tensor8(shape) + " -> " +
                     tensor(shape, "f32"),
                 tensor(shape, "f32"));
    };
    addWide("tp.einsum \"ij,jk->ik\" %x, %y : (" + tensor8("256x16") + ", " +
                tensor8("16x3") + ") -> " + tensor8("256x3"),
            "256x3");
    addWide("tp.einsum \"ij,kl->ijkl\" %y, %y : (" + tensor8("16x3") + ", " +
                tensor8("16x3") + ") -> " + tensor8("16x3x16x3"),
            "16x3x16x3");
    addWide("tp.scatter add %y, %c2, %five axis = 0 batch = 0 : (" +
                tensor8("16x3") + ", tensor<5xi32>, " + tensor8("5x3") +
                ") -> " + tensor8("16x3"),
            "16x3");
    std::string text = source.str();
    std::string five = "  %five = tp.slice %y starts = [0, 0] strides = [1, 1] "
                       ": " +
                       tensor8("16x3") + " -> " + tensor8("5x3") + "\n";
    text.insert(text.find("  %narrow", text.find("tp.einsum")), five);
    expectWholeProgram(text, "x=1", 1, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Types, Elements,
    ::testing::Values(ElementCase{"f64", 1e-14}, ElementCase{"f32", 2e-6},
                      ElementCase{"bf16", 2e-2}, ElementCase{"f16", 2e-3},
                      ElementCase{"i64", 0}, ElementCase{"i32", 0},
                      ElementCase{"i16", 0}, ElementCase{"i8", 0},
                      ElementCase{"ui64", 0}, ElementCase{"ui32", 0},
                      ElementCase{"ui16", 0}, ElementCase{"ui8", 0},
                      ElementCase{"i1", 0}),
    [](const ::testing::TestParamInfo<ElementCase> &info) {
      return info.param.name;
    });

// Rows of every length up to 70, some around the lengths at which rows leave
// registers and loops begin, end as they should: softmax has two reductions,
// the second of what enters after the first, and the sum of the row before.
TEST_F(Rows, OfEveryLength) {
  std::vector<int> lengths;
  for (int length = 1; length <= 70; ++length)
    lengths.push_back(length);
  lengths.insert(lengths.end(), {127, 128, 129, 143, 144, 191, 192, 193, 255});
  std::vector<std::string> types;
  for (int length : lengths)
    types.push_back(tensor("3x" + std::to_string(length), "f32"));
  Source source(types);
  for (size_t i = 0; i < types.size(); ++i)
    source.add("tp.softmax %" + std::string(1, char('a' + i % 26)) +
                   std::to_string(i) + " dim = 1 : " + types[i],
               types[i]);
  expectWholeProgram(source.str(), "x=1", 1, 1e-6);
}

// Bytes of narrow types have ends of their own: nothing beyond a row is
// written.
TEST_F(Rows, OfNarrowElements) {
  std::vector<std::string> types;
  for (int length : {1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 63, 65, 130, 200})
    for (const char *name : {"bf16", "i8", "i1"})
      types.push_back(tensor("3x" + std::to_string(length), name));
  Source source(types);
  for (size_t i = 0; i < types.size(); ++i) {
    std::string value =
        "%" + std::string(1, char('a' + i % 26)) + std::to_string(i);
    source.add((i % 3 == 2 ? "tp.not " : "tp.abs ") + value + " : " + types[i],
               types[i]);
  }
  expectWholeProgram(source.str(), "x=1", 1, 1e-6);
}

// Scalars, dimensions of 1, strides, transposes, and several reductions one
// after the other, of rows and of whole tensors.
TEST_F(Rows, OfEveryLayout) {
  expectWholeProgram(R"(
func.func @main(%s: tensor<f32>, %one: tensor<1x1x1xf32>, %x: tensor<4x6x10xf32>)
    -> (tensor<f32>, tensor<1x1x1xf32>, tensor<10x4x6xf32>, tensor<2x3x4xf32>, tensor<4x6x10xf32>, tensor<6xf32>, tensor<f32>) {
  %0 = tp.exp %s : tensor<f32>
  %1 = tp.softmax %one dim = 1 : tensor<1x1x1xf32>
  %t = tp.transpose %x [2, 0, 1] : tensor<4x6x10xf32> -> tensor<10x4x6xf32>
  %2 = tp.softmax %t dim = 2 : tensor<10x4x6xf32>
  %v = tp.slice %x starts = [1, 0, 1] strides = [2, 2, 2] : tensor<4x6x10xf32> -> tensor<2x3x4xf32>
  %3 = tp.tanh %v : tensor<2x3x4xf32>
  %a = tp.softmax %x dim = 2 : tensor<4x6x10xf32>
  %b = tp.mul %a, %x : tensor<4x6x10xf32>
  %4 = tp.softmax %b dim = 2 : tensor<4x6x10xf32>
  %5 = tp.reduce max %x dims = [0, 2] : tensor<4x6x10xf32> -> tensor<6xf32>
  %6 = tp.reduce sum %x dims = [0, 1, 2] : tensor<4x6x10xf32> -> tensor<f32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<f32>, tensor<1x1x1xf32>, tensor<10x4x6xf32>, tensor<2x3x4xf32>, tensor<4x6x10xf32>, tensor<6xf32>, tensor<f32>
})",
                     "x=1", 1, 3e-6);
}

// Elements read and written where integers say: lookups along every dimension,
// slices whose place is clamped, and updates of a part.
TEST_F(Rows, AtComputedPlaces) {
  expectWholeProgram(R"(
func.func @main(%x: tensor<5x7x4xf32>, %i: tensor<3xi32>, %j: tensor<i64>, %u: tensor<2x7x2xf32>, %n: tensor<5x7x4xi8>)
    -> (tensor<3x7x4xf32>, tensor<5x3x4xf32>, tensor<5x7x3xf32>, tensor<2x7x2xf32>, tensor<5x7x4xf32>, tensor<5x7x3xi8>) {
  %0 = tp.gather %x, %i axis = 0 batch = 0 : (tensor<5x7x4xf32>, tensor<3xi32>) -> tensor<3x7x4xf32>
  %1 = tp.gather %x, %i axis = 1 batch = 0 : (tensor<5x7x4xf32>, tensor<3xi32>) -> tensor<5x3x4xf32>
  %2 = tp.gather %x, %i axis = 2 batch = 0 : (tensor<5x7x4xf32>, tensor<3xi32>) -> tensor<5x7x3xf32>
  %3 = tp.dynamic_slice %x [%j, %j, %j] : (tensor<5x7x4xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2x7x2xf32>
  %4 = tp.dynamic_update_slice %x, %u [%j, %j, %j] : (tensor<5x7x4xf32>, tensor<2x7x2xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<5x7x4xf32>
  %5 = tp.gather %n, %i axis = 2 batch = 0 : (tensor<5x7x4xi8>, tensor<3xi32>) -> tensor<5x7x3xi8>
  return %0, %1, %2, %3, %4, %5 : tensor<3x7x4xf32>, tensor<5x3x4xf32>, tensor<5x7x3xf32>, tensor<2x7x2xf32>, tensor<5x7x4xf32>, tensor<5x7x3xi8>
})",
                     "x=1", 1, 0);
}

// Angles of rotary tables are large: sine and cosine keep their digits.
TEST_F(Rows, OfLargeAngles) {
  expectWholeProgram(R"(
func.func @main(%x: tensor<3x40xf32>) -> (tensor<3x40xf32>, tensor<3x40xf32>) {
  %k = tp.constant dense<123457.0> : tensor<3x40xf32>
  %y = tp.mul %x, %k : tensor<3x40xf32>
  %s = tp.sin %y : tensor<3x40xf32>
  %c = tp.cos %y : tensor<3x40xf32>
  return %s, %c : tensor<3x40xf32>, tensor<3x40xf32>
})",
                     "x=1", 1, 3e-7);
}

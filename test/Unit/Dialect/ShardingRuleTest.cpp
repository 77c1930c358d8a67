// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Every op of the tp dialect that has a sharding rule, on random small shapes:
// the rule names each dimension of each tensor by factors whose sizes multiply
// to its own. An op without a generator below fails the test.

#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "gtest/gtest.h"

#include <functional>
#include <numeric>
#include <random>

using namespace mlir;
using namespace tp;

namespace {

using Shape = SmallVector<int64_t>;

/// Writes one op as text: `in` declares an operand and returns its type.
class Program {
public:
  explicit Program(unsigned seed) : random(seed) {}

  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }
  /// Also empty dimensions and sizes of 1.
  int64_t size() { return pick(0, 6); }
  Shape shape(int64_t low, int64_t high) {
    Shape shape(pick(low, high));
    for (int64_t &s : shape)
      s = size();
    return shape;
  }
  /// The numbers from 0 to n - 1 in random order.
  Shape permutation(int64_t n) {
    Shape order(n);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    return order;
  }

  static std::string type(ArrayRef<int64_t> shape, StringRef element = "f32") {
    std::string text = "tensor<";
    for (int64_t size : shape)
      text += std::to_string(size) + "x";
    return text + element.str() + ">";
  }
  std::string in(ArrayRef<int64_t> shape, StringRef element = "f32") {
    operands.push_back(type(shape, element));
    return "%" + std::to_string(operands.size() - 1);
  }
  /// `op <body> : (operand types) -> result`.
  void emit(const Twine &body, const Twine &results) {
    text =
        (body + " : (" + llvm::join(operands, ", ") + ") -> " + results).str();
  }
  void emitPlain(const Twine &body) { text = body.str(); }

  std::string str(unsigned numResults) const {
    std::string arguments, results;
    for (auto [index, type] : llvm::enumerate(operands))
      arguments += (index ? ", %" : "%") + std::to_string(index) + ": " + type;
    for (unsigned i = 0; i < numResults; ++i)
      results += (i ? ", %r" : "%r") + std::to_string(i);
    return "func.func @f(" + arguments + ") {\n  " + results + " = " + text +
           "\n  return\n}";
  }

private:
  std::mt19937 random;
  SmallVector<std::string> operands;
  std::string text;
};

std::string list(ArrayRef<int64_t> numbers) {
  std::string text = "[";
  for (auto [index, number] : llvm::enumerate(numbers))
    text += (index ? ", " : "") + std::to_string(number);
  return text + "]";
}

using Generator = std::function<void(Program &)>;

Generator elementwise(const std::string &op, unsigned operands,
                      StringRef element = "f32") {
  return [=](Program &p) {
    Shape shape = p.shape(0, 4);
    std::string text = op;
    for (unsigned i = 0; i < operands; ++i)
      text += (i ? ", " : " ") + p.in(shape, element);
    p.emitPlain(text + " : " + Program::type(shape, element));
  };
}

void reduceOrPart(Program &p, const char *op) {
  Shape shape = p.shape(0, 4), dims, kept;
  for (auto [dim, size] : llvm::enumerate(shape))
    p.pick(0, 1) ? dims.push_back(dim) : kept.push_back(size);
  std::string x = p.in(shape);
  p.emitPlain(Twine(op) + " " + x + " dims = " + list(dims) + " : " +
              Program::type(shape) + " -> " + Program::type(kept));
}

void einsum(Program &p) {
  // Each letter is in one or both operands, and perhaps in the result.
  std::string terms[3];
  Shape shapes[3];
  for (char letter = 'a'; letter < char('a' + p.pick(0, 5)); ++letter) {
    int64_t size = p.size(), where = p.pick(0, 2);
    for (int64_t t : {0, 1})
      if (where == 2 || where == t) {
        terms[t] += letter;
        shapes[t].push_back(size);
      }
    if (p.pick(0, 1)) {
      terms[2] += letter;
      shapes[2].push_back(size);
    }
  }
  std::string a = p.in(shapes[0]), b = p.in(shapes[1]);
  p.emit("tp.einsum \"" + terms[0] + "," + terms[1] + "->" + terms[2] + "\" " +
             a + ", " + b,
         Program::type(shapes[2]));
}

/// A product whose rows are gathered, or scattered: a dimension of the first
/// operand and of the result.
void chunkedProduct(Program &p, bool scatters) {
  bool hasBatch = p.pick(0, 1);
  int64_t batch = p.size(), rows = p.size(), summed = p.size(), own = p.size();
  Shape left{rows, summed}, right{summed, own}, result{rows, own};
  std::string equation = "rk,kn->rn";
  if (hasBatch) {
    for (Shape *shape : {&left, &right, &result})
      shape->insert(shape->begin(), batch);
    equation = "brk,bkn->brn";
  }
  bool isRight = !scatters && p.pick(0, 1);
  if (isRight)
    equation = hasBatch ? "bkn,brk->brn" : "kn,rk->rn";
  std::string a = p.in(left), b = p.in(right);
  std::string dim = " dim " + std::to_string(int(hasBatch)) + " pieces " +
                    std::to_string(p.pick(1, 3));
  if (scatters)
    p.emit("tp.einsum_scatter \"" + equation + "\" " + a + ", " + b + dim,
           Program::type(result));
  else
    p.emit("tp.gather_einsum " + a + ", " + b + " by [\"" + equation +
               "\"] sides [" + (isRight ? "1" : "0") + "]" + dim,
           "(" + Program::type(result) + ", " + Program::type(left) + ")");
}

void broadcast(Program &p) {
  Shape result = p.shape(0, 4), dims, input;
  for (auto [dim, size] : llvm::enumerate(result))
    if (p.pick(0, 1)) {
      dims.push_back(dim);
      input.push_back(size);
    }
  std::string x = p.in(input);
  p.emitPlain("tp.broadcast " + x + " dims = " + list(dims) + " : " +
              Program::type(input) + " -> " + Program::type(result));
}

void transpose(Program &p) {
  Shape input = p.shape(0, 4), order = p.permutation(input.size()), result;
  for (int64_t dim : order)
    result.push_back(input[dim]);
  std::string x = p.in(input);
  p.emitPlain("tp.transpose " + x + " " + list(order) + " : " +
              Program::type(input) + " -> " + Program::type(result));
}

void reshape(Program &p) {
  // Two random groupings of the same prime factors.
  Shape input{1}, result{1};
  for (int64_t i = p.pick(0, 5); i > 0; --i) {
    int64_t factor = p.pick(1, 3);
    for (Shape *shape : {&input, &result}) {
      if (p.pick(0, 1))
        shape->push_back(1);
      shape->back() *= factor;
    }
  }
  std::string x = p.in(input);
  p.emitPlain("tp.reshape " + x + " : " + Program::type(input) + " -> " +
              Program::type(result));
}

void slice(Program &p) {
  Shape input = p.shape(0, 4), starts, strides, result;
  for (int64_t size : input) {
    bool whole = p.pick(0, 1) || size == 0;
    starts.push_back(whole ? 0 : p.pick(0, size - 1));
    strides.push_back(whole ? 1 : p.pick(1, 3));
    result.push_back(whole ? size
                           : (size - 1 - starts.back()) / strides.back() + 1);
  }
  std::string x = p.in(input);
  p.emitPlain("tp.slice " + x + " starts = " + list(starts) +
              " strides = " + list(strides) + " : " + Program::type(input) +
              " -> " + Program::type(result));
}

void concat(Program &p) {
  Shape result = p.shape(1, 4);
  int64_t dim = p.pick(0, result.size() - 1);
  std::string text;
  result[dim] = 0;
  for (int64_t i = 0, e = p.pick(1, 3); i < e; ++i) {
    Shape part = result;
    part[dim] = p.size();
    text += (i ? ", " : "") + p.in(part);
    result[dim] += part[dim];
    // The next part starts from the other dimensions only.
    for (int64_t d = 0; d < int64_t(result.size()); ++d)
      EXPECT_TRUE(d == dim || part[d] == result[d]);
  }
  p.emit("tp.concat " + text + " dim = " + Twine(dim), Program::type(result));
}

void splice(Program &p) {
  Shape result = p.shape(1, 4), starts, sizes, strides;
  int64_t dim = p.pick(0, result.size() - 1);
  std::string text;
  result[dim] = 0;
  for (int64_t i = 0, e = p.pick(1, 3); i < e; ++i) {
    starts.push_back(p.pick(0, 3));
    sizes.push_back(p.pick(1, 4));
    strides.push_back(p.pick(1, 3));
    result[dim] += sizes.back();
    Shape part = result;
    int64_t reach = (sizes.back() - 1) * strides.back();
    part[dim] = starts.back() + reach + 1 + p.pick(0, 3);
    // The same elements, backwards.
    if (p.pick(0, 1)) {
      starts.back() += reach;
      strides.back() = -strides.back();
    }
    text += (i ? ", " : "") + p.in(part);
  }
  p.emit("tp.splice " + text + " dim = " + Twine(dim) +
             " starts = " + list(starts) + " sizes = " + list(sizes) +
             " strides = " + list(strides),
         Program::type(result));
}

void window(Program &p) {
  Shape input = p.shape(1, 3), dims, low, strides, dilations, result;
  for (auto [dim, size] : llvm::enumerate(input)) {
    result.push_back(size);
    if (p.pick(0, 1) && !(dims.empty() && dim + 1 == input.size()))
      continue;
    size = std::max<int64_t>(size, 1);
    dims.push_back(dim);
    low.push_back(p.pick(0, 2));
    strides.push_back(p.pick(1, 2));
    dilations.push_back(p.pick(1, 2));
    result.back() = p.pick(1, 5);
    result.push_back(p.pick(1, 3));
  }
  p.emit("tp.window " + p.in(input) + ", " + p.in({}) +
             " dims = " + list(dims) + " low = " + list(low) +
             " strides = " + list(strides) + " dilations = " + list(dilations),
         Program::type(result));
}

void dilate(Program &p) {
  Shape input = p.shape(1, 4), result = input;
  int64_t dim = p.pick(0, input.size() - 1), spacing = p.pick(1, 3),
          low = p.pick(0, 2);
  input[dim] = std::max<int64_t>(input[dim], 1);
  result[dim] = low + (input[dim] - 1) * spacing + 1 + p.pick(0, 3);
  p.emit("tp.dilate " + p.in(input) + ", " + p.in({}) + " dim = " + Twine(dim) +
             " low = " + Twine(low) + " spacing = " + Twine(spacing),
         Program::type(result));
}

void pad(Program &p) {
  Shape input = p.shape(0, 4), low, result;
  for (int64_t size : input) {
    low.push_back(p.pick(0, 2));
    result.push_back(size + low.back() + p.pick(0, 2));
  }
  std::string x = p.in(input), value = p.in({});
  p.emit("tp.pad " + x + ", " + value + " low = " + list(low),
         Program::type(result));
}

/// tp.gather, or tp.scatter with its updates shaped like what gather gives.
void gather(Program &p, bool isScatter) {
  Shape input = p.shape(1, 4);
  int64_t axis = p.pick(0, input.size() - 1), batch = p.pick(0, axis);
  Shape indices(input.begin(), input.begin() + batch);
  llvm::append_range(indices, p.shape(0, 2));
  Shape gathered(input.begin(), input.begin() + axis);
  gathered.append(indices.begin() + batch, indices.end());
  gathered.append(input.begin() + axis + 1, input.end());
  std::string text = p.in(input) + ", " + p.in(indices, "i32");
  if (isScatter)
    text += ", " + p.in(gathered);
  p.emit(Twine(isScatter ? "tp.scatter add " : "tp.gather ") + text +
             " axis = " + Twine(axis) + " batch = " + Twine(batch),
         Program::type(isScatter ? input : gathered));
}

void dynamicSlice(Program &p, bool isUpdate) {
  Shape whole = p.shape(0, 3), part;
  for (int64_t size : whole)
    part.push_back(p.pick(0, 1) ? size : p.pick(0, size));
  std::string text = p.in(whole);
  if (isUpdate)
    text += ", " + p.in(part);
  text += " [";
  for (size_t i = 0; i < whole.size(); ++i)
    text += (i ? ", " : "") + p.in({}, "i32");
  p.emit(Twine(isUpdate ? "tp.dynamic_update_slice " : "tp.dynamic_slice ") +
             text + "]",
         Program::type(isUpdate ? whole : part));
}

void sort(Program &p) {
  Shape shape = p.shape(1, 4);
  int64_t dim = p.pick(0, shape.size() - 1);
  std::string x = p.in(shape);
  p.emitPlain("tp.sort " + x + " dim = " + Twine(dim) + " : " +
              Program::type(shape) + " -> " + Program::type(shape) + ", " +
              Program::type(shape, "i32"));
}

void topK(Program &p) {
  Shape shape = p.shape(1, 4), result = shape;
  result.back() = p.pick(0, shape.back());
  std::string x = p.in(shape);
  p.emitPlain("tp.top_k " + x + " : " + Program::type(shape) + " -> " +
              Program::type(result) + ", " + Program::type(result, "i32"));
}

void norm(Program &p, const char *op, unsigned parameters) {
  Shape shape = p.shape(1, 4);
  std::string text = p.in(shape);
  for (unsigned i = 0; i < parameters; ++i)
    text += ", " + p.in(shape.back());
  p.emit(Twine(op) + " " + text + " epsilon = 1.0e-5", Program::type(shape));
}

void alongDim(Program &p, const char *op, bool hasOperand) {
  Shape shape = p.shape(1, 4);
  std::string x = hasOperand ? " " + p.in(shape) : "";
  p.emitPlain(Twine(op) + x + " dim = " + Twine(p.pick(0, shape.size() - 1)) +
              " : " + Program::type(shape));
}

void cumulative(Program &p) {
  Shape shape = p.shape(1, 4);
  std::string x = p.in(shape);
  p.emitPlain("tp.cumulative sum " + x +
              " dim = " + Twine(p.pick(0, shape.size() - 1)) + " : " +
              Program::type(shape) + " -> " + Program::type(shape));
}

void embedding(Program &p) {
  Shape table{p.size(), p.size()}, ids = p.shape(0, 3), result = ids;
  result.push_back(table[1]);
  std::string text = p.in(table) + ", " + p.in(ids, "i32");
  p.emit("tp.embedding " + text, Program::type(result));
}

void rotary(Program &p) {
  Shape input = p.shape(3, 5);
  Shape angles{input[1], p.pick(0, input.back() / 2)};
  if (p.pick(0, 1))
    angles.insert(angles.begin(), input[0]);
  std::string text = p.in(input);
  for (int i = 0; i < 2; ++i)
    text += ", " + p.in(angles);
  p.emit("tp.rotary " + text, Program::type(input));
}

void attention(Program &p) {
  Shape d = p.shape(7, 7); // b s k g d t e
  Shape query{d[0], d[1], d[2], d[3], d[4]}, key{d[0], d[5], d[2], d[4]},
      value{d[0], d[5], d[2], d[6]}, result{d[0], d[1], d[2], d[3], d[6]};
  std::string text = p.in(query) + ", " + p.in(key) + ", " + p.in(value);
  auto optional = [&](const char *word, const Shape &shape, const char *type) {
    if (p.pick(0, 1))
      text += std::string(" ") + word + "(" + p.in(shape, type) + " : " +
              Program::type(shape, type) + ")";
  };
  optional("offset", p.pick(0, 1) ? Shape{} : Shape{d[0]}, "i32");
  optional("lengths", {d[0]}, "i32");
  optional("mask", {d[0], d[1], d[5]}, "i1");
  p.emitPlain("tp.attention " + text + " {causal, scale = 1.0 : f64} : (" +
              Program::type(query) + ", " + Program::type(key) + ", " +
              Program::type(value) + ") -> " + Program::type(result));
}

/// `isOfKeys`: by the key and the value, else by the query.
void attentionGradient(Program &p, const char *op, bool isOfKeys) {
  Shape d = p.shape(7, 7); // b s k g d t e
  Shape rows{d[0], d[1], d[2], d[3]}, query(rows), gradient(rows),
      key{d[0], d[5], d[2], d[4]}, value{d[0], d[5], d[2], d[6]};
  query.push_back(d[4]);
  gradient.push_back(d[6]);
  std::string text, types;
  for (const Shape &shape : {query, key, value, gradient, rows, rows}) {
    text += (text.empty() ? "" : ", ") + p.in(shape);
    types += (types.empty() ? "" : ", ") + Program::type(shape);
  }
  if (p.pick(0, 1)) {
    Shape mask{d[0], d[1], d[5]};
    text +=
        " mask(" + p.in(mask, "i1") + " : " + Program::type(mask, "i1") + ")";
  }
  std::string results =
      isOfKeys ? "(" + Program::type(key) + ", " + Program::type(value) + ")"
               : Program::type(query);
  p.emitPlain(op + (" " + text) + " {causal, scale = 1.0 : f64} : (" + types +
              ") -> " + results);
}

void crossEntropy(Program &p) {
  Shape logits = p.shape(1, 4), rows(logits.begin(), logits.end() - 1);
  std::string text = p.in(logits) + ", " + p.in(rows, "i32");
  p.emit("tp.cross_entropy " + text, Program::type(rows));
}

llvm::StringMap<Generator> getGenerators() {
  llvm::StringMap<Generator> map;
  for (const char *op :
       {"neg",   "abs",      "sign",  "exp",  "expm1",        "log",
        "log1p", "sqrt",     "rsqrt", "sin",  "cos",          "tanh",
        "erf",   "logistic", "floor", "ceil", "round_even",   "gelu",
        "silu",  "relu",     "tan",   "cbrt", "stop_gradient"})
    map[op] = elementwise("tp." + std::string(op), 1);
  for (const char *op :
       {"add", "sub", "mul", "div", "max", "min", "pow", "rem", "atan2"})
    map[op] = elementwise("tp." + std::string(op), 2);
  for (const char *op : {"not", "popcount", "count_leading_zeros"})
    map[op] = elementwise("tp." + std::string(op), 1, "i32");
  for (const char *op : {"and", "or", "xor", "shift_left",
                         "shift_right_arithmetic", "shift_right_logical"})
    map[op] = elementwise("tp." + std::string(op), 2, "i32");
  map["gated"] = elementwise("tp.gated silu", 2);
  map["compare"] = [](Program &p) {
    Shape shape = p.shape(0, 4);
    std::string a = p.in(shape), b = p.in(shape);
    p.emit("tp.compare lt " + a + ", " + b, Program::type(shape, "i1"));
  };
  map["select"] = [](Program &p) {
    Shape shape = p.shape(0, 4);
    std::string text = p.in(shape, "i1");
    for (int i = 0; i < 2; ++i)
      text += ", " + p.in(shape);
    p.emit("tp.select " + text, Program::type(shape));
  };
  map["convert"] = [](Program &p) {
    Shape shape = p.shape(0, 4);
    std::string x = p.in(shape);
    p.emitPlain("tp.convert " + x + " : " + Program::type(shape) + " -> " +
                Program::type(shape, "bf16"));
  };
  map["bitcast"] = [](Program &p) {
    Shape shape = p.shape(0, 4);
    std::string x = p.in(shape);
    p.emitPlain("tp.bitcast " + x + " : " + Program::type(shape) + " -> " +
                Program::type(shape, "ui32"));
  };
  map["constant"] = [](Program &p) {
    p.emitPlain("tp.constant dense<1.0> : " + Program::type(p.shape(0, 4)));
  };
  map["reduce"] = [](Program &p) {
    reduceOrPart(p, p.pick(0, 1) ? "tp.reduce sum" : "tp.reduce prod");
  };
  map["einsum"] = einsum;
  map["gather_einsum"] = [](Program &p) { chunkedProduct(p, false); };
  map["einsum_scatter"] = [](Program &p) { chunkedProduct(p, true); };
  map["iota"] = [](Program &p) { alongDim(p, "tp.iota", false); };
  map["broadcast"] = broadcast;
  map["transpose"] = transpose;
  map["reshape"] = reshape;
  map["slice"] = slice;
  map["concat"] = concat;
  map["splice"] = splice;
  map["dilate"] = dilate;
  map["window"] = window;
  map["pad"] = pad;
  map["gather"] = [](Program &p) { gather(p, false); };
  map["scatter"] = [](Program &p) { gather(p, true); };
  map["dynamic_slice"] = [](Program &p) { dynamicSlice(p, false); };
  map["dynamic_update_slice"] = [](Program &p) { dynamicSlice(p, true); };
  map["sort"] = sort;
  map["top_k"] = topK;
  map["cumulative"] = cumulative;
  map["embedding"] = embedding;
  map["layer_norm"] = [](Program &p) { norm(p, "tp.layer_norm", 2); };
  map["rms_norm"] = [](Program &p) { norm(p, "tp.rms_norm", 1); };
  map["softmax"] = [](Program &p) { alongDim(p, "tp.softmax", true); };
  map["rotary"] = rotary;
  map["attention"] = attention;
  map["attention_query_gradient"] = [](Program &p) {
    attentionGradient(p, "tp.attention_query_gradient", /*isOfKeys=*/false);
  };
  map["attention_key_value_gradient"] = [](Program &p) {
    attentionGradient(p, "tp.attention_key_value_gradient", /*isOfKeys=*/true);
  };
  map["cross_entropy"] = crossEntropy;
  return map;
}

/// Checks the rule against the shapes of `op`.
void checkRule(Operation *op, const ShardingRule &rule) {
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  ASSERT_EQ(rule.operands.size(), op->getNumOperands());
  ASSERT_EQ(rule.results.size(), op->getNumResults());
  SmallVector<bool> used(rule.factors.size()), inResult(rule.factors.size());
  for (auto [index, type] : llvm::enumerate(types)) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
    const TensorFactors &tensor = rule.getTensor(index);
    ASSERT_EQ(tensor.size(), shape.size()) << "tensor " << index;
    for (auto [dim, factors] : llvm::enumerate(tensor)) {
      int64_t product = 1;
      bool isExchanged = false; // which have other sizes elsewhere
      for (unsigned f : factors) {
        ASSERT_LT(f, rule.factors.size());
        isExchanged |= rule.factors[f].kind == FactorKind::Exchanged;
        product *= rule.factors[f].size;
        used[f] = true;
        inResult[f] = inResult[f] || index >= rule.operands.size();
      }
      if (!isExchanged) {
        EXPECT_EQ(product, shape[dim]) << "tensor " << index << " dim " << dim;
      }
    }
  }
  for (auto [f, factor] : llvm::enumerate(rule.factors)) {
    EXPECT_TRUE(used[f]) << "factor " << f << " is nowhere";
    // Kinds say where a factor is; Whole and Exchanged may be anywhere, and who
    // exchanges may sum by itself.
    if (factor.kind != FactorKind::Whole &&
        factor.kind != FactorKind::Exchanged && !isa<EinsumScatterOp>(op)) {
      EXPECT_EQ(factor.kind == FactorKind::PassThrough, inResult[f])
          << "factor " << f;
    }
  }
}

TEST(ShardingRule, EveryOpNamesEveryDimension) {
  DialectRegistry registry;
  registry.insert<TPDialect, spmd::SPMDDialect, func::FuncDialect>();
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  llvm::StringMap<Generator> generators = getGenerators();
  unsigned checked = 0;
  for (RegisteredOperationName name :
       context.getRegisteredOperationsByDialect("tp")) {
    if (!name.hasInterface<spmd::ShardingRuleOpInterface>())
      continue;
    StringRef mnemonic = name.stripDialect();
    SCOPED_TRACE(mnemonic.str());
    auto generator = generators.find(mnemonic);
    if (generator == generators.end()) {
      ADD_FAILURE() << "has a sharding rule and no generator in this test";
      continue;
    }
    for (unsigned seed = 0; seed < 40; ++seed) {
      Program program(seed);
      generator->second(program);
      bool two = mnemonic == "gather_einsum" || mnemonic == "sort" ||
                 mnemonic == "top_k" ||
                 mnemonic == "attention_key_value_gradient";
      std::string text = program.str(two ? 2 : 1);
      SCOPED_TRACE(text);
      auto module = parseSourceString<ModuleOp>(text, &context);
      ASSERT_TRUE(module);
      module->walk([&](spmd::ShardingRuleOpInterface op) {
        checkRule(op, op.getShardingRule());
        ++checked;
      });
    }
  }
  EXPECT_EQ(checked, 40 * generators.size());
}

} // namespace

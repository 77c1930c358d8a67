// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Small programs to propagate through, annotated in the notation of the
/// exam: `[(a,b),x:(1)2?,-,?,a p1]` has axes, `?` for open, `-` for closed and
/// empty, priorities. Meshes and axes are as in Notation.h.

#ifndef TPOPT_TEST_UNIT_SHARDING_PROGRAMNOTATION_H
#define TPOPT_TEST_UNIT_SHARDING_PROGRAMNOTATION_H

#include "Notation.h"

#include "tpopt/Sharding/Propagation.h"

#include <deque>

namespace tp::test {

inline DimSharding parseDim(const Mesh &mesh, llvm::StringRef text) {
  DimSharding dim;
  auto [axes, priority] = text.trim().split(' ');
  if (priority.trim().consume_front("p")) {
    int64_t value = 0;
    EXPECT_FALSE(priority.trim().drop_front().getAsInteger(10, value));
    dim.priority = value;
  }
  dim.open = axes.consume_back("?");
  if (axes == "-" || axes.empty())
    return dim;
  if (axes.consume_front("("))
    axes.consume_back(")");
  dim.axes = test::axes(mesh, axes);
  return dim;
}

inline TensorSharding parseSharding(const Mesh &mesh, llvm::StringRef text) {
  TensorSharding sharding;
  EXPECT_TRUE(text.consume_front("["));
  EXPECT_TRUE(text.consume_back("]"));
  std::string current;
  int depth = 0;
  auto flush = [&] {
    if (!current.empty())
      sharding.dims.push_back(parseDim(mesh, current));
    current.clear();
  };
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0)
      flush();
    else
      current += c;
  }
  flush();
  return sharding;
}

inline std::string show(const Mesh &mesh, const AxisRef &axis) {
  std::string text;
  llvm::raw_string_ostream os(text);
  axis.print(os, mesh, /*quoted=*/false);
  return text;
}

inline std::string show(const Mesh &mesh, llvm::ArrayRef<AxisRef> axes) {
  std::string text;
  for (const AxisRef &axis : axes)
    text += (text.empty() ? "" : ",") + show(mesh, axis);
  return text;
}

inline std::string show(const Mesh &mesh, const TensorSharding &sharding) {
  std::string text = "[";
  for (const DimSharding &dim : sharding.dims) {
    text += text.size() > 1 ? "," : "";
    std::string axes = show(mesh, dim.axes);
    if (dim.axes.size() > 1)
      text += '(' + axes + ')';
    else
      text += axes.empty() && !dim.open ? "-" : axes;
    text += dim.open ? "?" : "";
    if (dim.priority)
      text += " p" + std::to_string(*dim.priority);
  }
  return text + "]";
}

using Shape = llvm::SmallVector<int64_t, 4>;

inline llvm::Expected<ShardingRule> parseRule(llvm::StringRef equation,
                                              llvm::ArrayRef<Shape> operands,
                                              llvm::ArrayRef<Shape> results) {
  llvm::SmallVector<llvm::ArrayRef<int64_t>> in(operands.begin(),
                                                operands.end());
  llvm::SmallVector<llvm::ArrayRef<int64_t>> out(results.begin(),
                                                 results.end());
  return ShardingRule::parse(equation, in, out);
}

inline std::string show(const ShardingRule &rule) {
  std::string text;
  llvm::raw_string_ostream os(text);
  rule.print(os);
  return text;
}

/// A program under construction. Shardings are texts; an empty text is a value
/// without annotation.
struct Program {
  explicit Program(llvm::StringRef meshText) : mesh(test::mesh(meshText)) {}

  Mesh mesh;
  PropagationGraph graph;
  Provenance provenance;
  std::deque<ShardingRule> rules;

  ValueId value(const Shape &shape, llvm::StringRef text = "") {
    return graph.addValue(shape, 32,
                          text.empty()
                              ? TensorSharding::replicate(shape.size(), true)
                              : parseSharding(mesh, text));
  }

  ValueId op(ShardingRule rule, llvm::ArrayRef<ValueId> operands,
             const Shape &shape, OpClass opClass, llvm::StringRef text = "",
             Direction allowed = Direction::Both) {
    rules.push_back(std::move(rule));
    ValueId result = value(shape, text);
    graph.addOp(&rules.back(), operands, result, opClass, allowed);
    return result;
  }

  ValueId op(llvm::StringRef equation, llvm::ArrayRef<ValueId> operands,
             const Shape &shape, OpClass opClass = OpClass::Other,
             llvm::StringRef text = "") {
    llvm::SmallVector<Shape> shapes;
    for (ValueId operand : operands)
      shapes.emplace_back(graph.getShape(operand));
    llvm::Expected<ShardingRule> rule = parseRule(equation, shapes, shape);
    if (!rule) {
      ADD_FAILURE() << llvm::toString(rule.takeError());
      return value(shape, text);
    }
    return op(std::move(*rule), operands, shape, opClass, text);
  }

  /// Element-wise over operands of one shape.
  ValueId map(llvm::ArrayRef<ValueId> operands, llvm::StringRef text = "",
              Direction allowed = Direction::Both) {
    Shape shape(graph.getShape(operands[0]));
    RuleBuilder builder(operands.size(), 1);
    for (int64_t size : shape) {
      unsigned factor = builder.addFactor(size);
      for (unsigned t = 0; t <= operands.size(); ++t)
        builder.addDim(t, factor);
    }
    return op(builder.build(), operands, shape, OpClass::Elementwise, text,
              allowed);
  }

  ValueId dot(ValueId lhs, ValueId rhs, llvm::StringRef text = "") {
    Shape shape = {graph.getShape(lhs)[0], graph.getShape(rhs)[1]};
    return op("ik,kj->ij", {lhs, rhs}, shape, OpClass::Other, text);
  }

  ValueId reshape(ValueId from, const Shape &shape, llvm::StringRef text = "") {
    return op(makeReshapeRule(graph.getShape(from), shape), from, shape,
              OpClass::DataMovement, text);
  }

  /// A return, with the sharding of the function's result.
  ValueId ret(ValueId from, llvm::StringRef text) { return map(from, text); }

  void run() {
    auto error = propagate(graph, mesh, provenance);
    ASSERT_FALSE(error) << error->message;
  }

  std::string operator[](ValueId value) const {
    return show(mesh, graph.getSharding(value));
  }

  /// The losses at a value as `dim axis < winner rule`, in order.
  std::string losses(ValueId value) const {
    std::string text;
    for (const Loss &loss : provenance.getLosses()) {
      if (loss.value != value)
        continue;
      text += text.empty() ? "" : "; ";
      text += std::to_string(loss.dim) + " " + show(mesh, loss.loser);
      if (loss.winner)
        text += " < " + show(mesh, *loss.winner);
      text += " " + stringify(loss.rule).str();
    }
    return text;
  }
};

} // namespace tp::test

#endif // TPOPT_TEST_UNIT_SHARDING_PROGRAMNOTATION_H

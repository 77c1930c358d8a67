// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Short text for meshes and shardings in unit tests: `x4,y2` is a mesh
/// of axes x and y, `[(x,y),-] +y:(1)2` cuts dimension 0 along x and y and is
/// unreduced along a half of y. `max+` and `min+` write other reductions.

#ifndef TPOPT_TEST_UNIT_SHARDING_NOTATION_H
#define TPOPT_TEST_UNIT_SHARDING_NOTATION_H

#include "tpopt/Sharding/Sharding.h"

#include "llvm/ADT/StringExtras.h"

#include "gtest/gtest.h"

namespace tp::test {

inline Mesh mesh(llvm::StringRef text) {
  Mesh mesh;
  mesh.name = "mesh";
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  for (llvm::StringRef part : parts) {
    Axis axis;
    axis.name = part.take_while([](char c) { return llvm::isAlpha(c); }).str();
    EXPECT_FALSE(part.drop_front(axis.name.size()).getAsInteger(10, axis.size))
        << text.str();
    mesh.axes.push_back(axis);
  }
  return mesh;
}

inline AxisRef axis(const Mesh &mesh, llvm::StringRef text) {
  auto [name, part] = text.trim().split(":(");
  std::optional<unsigned> index = mesh.find(name);
  EXPECT_TRUE(index.has_value()) << text.str();
  AxisRef ref = AxisRef::full(mesh, index.value_or(0));
  if (!part.empty()) {
    auto [pre, size] = part.split(')');
    EXPECT_FALSE(pre.getAsInteger(10, ref.pre)) << text.str();
    EXPECT_FALSE(size.getAsInteger(10, ref.size)) << text.str();
  }
  return ref;
}

/// Axes separated by commas, which sub-axes do not contain.
inline AxisList axes(const Mesh &mesh, llvm::StringRef text) {
  AxisList list;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts)
    list.push_back(axis(mesh, part));
  return list;
}

inline TensorSharding sharding(const Mesh &mesh, llvm::StringRef text) {
  TensorSharding sharding;
  auto [left, unreduced] = text.split('+');
  llvm::StringRef rest = left.trim();
  if (rest.consume_back("max"))
    sharding.kind = ReduceKind::Max;
  if (rest.consume_back("min"))
    sharding.kind = ReduceKind::Min;
  rest = rest.trim();
  EXPECT_TRUE(rest.consume_front("[") && rest.consume_back("]")) << text.str();
  while (!rest.empty()) {
    DimSharding dim;
    if (rest.consume_front("(")) {
      // The closing one is behind the last sub-axis, if there are any.
      size_t end = 0;
      for (int depth = 1; depth > 0; ++end)
        depth += (rest[end] == '(') - (rest[end] == ')');
      dim.axes = axes(mesh, rest.take_front(end - 1));
      rest = rest.drop_front(end);
    } else {
      llvm::StringRef item = rest.take_until([](char c) { return c == ','; });
      if (item != "-")
        dim.axes = axes(mesh, item);
      rest = rest.drop_front(item.size());
    }
    rest.consume_front(",");
    sharding.dims.push_back(dim);
  }
  sharding.unreduced = axes(mesh, unreduced);
  EXPECT_EQ(verify(sharding, mesh, sharding.getRank()), std::nullopt)
      << text.str();
  return sharding;
}

} // namespace tp::test

namespace tp {
/// For GoogleTest's messages.
inline bool operator==(const ShardingError &a, const ShardingError &b) {
  return a.code == b.code && a.message == b.message;
}
inline void PrintTo(const ShardingError &error, std::ostream *os) {
  *os << error.message;
}
} // namespace tp

#endif // TPOPT_TEST_UNIT_SHARDING_NOTATION_H

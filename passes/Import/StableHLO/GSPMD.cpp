// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GSPMD.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <numeric>

using namespace tp;
using namespace tp::stablehlo;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

using Numbers = SmallVector<int64_t>;

std::optional<int64_t> stablehlo::getNumDevices(ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) {
    if (size < 1 || size > kMaxDevices / product)
      return std::nullopt;
    product *= size;
  }
  return product;
}

//===----------------------------------------------------------------------===//
// Digits
//===----------------------------------------------------------------------===//

/// Returns the digits of a dimension of size `size`. If all other indices are
/// 0, index i of this dimension selects `numbers[i * step]`.
static std::optional<SmallVector<Digit>>
findDimDigits(ArrayRef<int64_t> numbers, int64_t size, int64_t step) {
  SmallVector<Digit> digits;
  // At this point `size` elements are left, each `step` apart.
  while (size > 1) {
    int64_t stride = numbers[step] - numbers[0];
    int64_t run = 2;
    while (run < size && numbers[run * step] - numbers[0] == run * stride)
      ++run;
    if (stride < 1 || size % run)
      return std::nullopt;
    digits.insert(digits.begin(), {run, stride});
    size /= run;
    step *= run;
  }
  return digits;
}

std::optional<SmallVector<SmallVector<Digit>>>
stablehlo::findDigits(ArrayRef<int64_t> numbers, ArrayRef<int64_t> shape) {
  // Device numbers are below kMaxDevices. Sums of other numbers could overflow.
  if (llvm::any_of(numbers, [](int64_t number) {
        return number < 0 || number >= kMaxDevices;
      }))
    return std::nullopt;
  SmallVector<SmallVector<Digit>> dims(shape.size());
  int64_t step = numbers.size();
  for (auto [size, digits] : llvm::zip_equal(shape, dims)) {
    step /= size;
    auto found = findDimDigits(numbers, size, step);
    if (!found)
      return std::nullopt;
    digits = *found;
  }
  // Checks that each number is numbers[0] plus the sum of digits * strides.
  for (auto [offset, number] : llvm::enumerate(numbers)) {
    int64_t sum = numbers[0], rest = offset;
    for (const SmallVector<Digit> &digits : llvm::reverse(dims))
      for (const Digit &digit : llvm::reverse(digits)) {
        sum += rest % digit.size * digit.stride;
        rest /= digit.size;
      }
    if (sum != number)
      return std::nullopt;
  }
  return dims;
}

void AxisFactors::add(const Digit &digit) {
  for (int64_t bound : {digit.stride, digit.stride * digit.size}) {
    auto at = llvm::lower_bound(bounds, bound);
    if (at == bounds.end() || *at != bound)
      bounds.insert(at, bound);
  }
}

std::optional<SmallVector<int64_t>> AxisFactors::getSizes() const {
  Numbers sizes;
  for (size_t i = bounds.size(); i-- > 1;) {
    if (bounds[i] % bounds[i - 1])
      return std::nullopt;
    sizes.push_back(bounds[i] / bounds[i - 1]);
  }
  return sizes;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

namespace {
class TileReader {
public:
  explicit TileReader(StringRef text) : rest(text) {}

  std::optional<SmallVector<TileSharding>> readAll() {
    SmallVector<TileSharding> shardings;
    if (!consume("{"))
      return std::nullopt;
    bool isTuple = peek("{");
    do {
      if (isTuple && !consume("{"))
        return std::nullopt;
      auto sharding = readOne();
      if (!sharding)
        return std::nullopt;
      shardings.push_back(*sharding);
    } while (isTuple && consume(","));
    if (isTuple && !consume("}"))
      return std::nullopt;
    skipSpace();
    if (!rest.empty())
      return std::nullopt;
    return shardings;
  }

private:
  bool peek(StringRef token) {
    skipSpace();
    return rest.starts_with(token);
  }
  bool consume(StringRef token) {
    skipSpace();
    return rest.consume_front(token);
  }
  /// Lists of more than five elements have comments: `/*index=5*/`.
  void skipSpace() {
    rest = rest.ltrim();
    while (rest.starts_with("/*") && rest.drop_front(2).contains("*/"))
      rest = rest.drop_front(2).split("*/").second.ltrim();
  }
  bool readNumber(int64_t &number) {
    skipSpace();
    return !rest.consumeInteger(10, number) && number >= 0;
  }
  bool readNumbers(Numbers &numbers, StringRef end) {
    do {
      if (!readNumber(numbers.emplace_back()))
        return false;
    } while (consume(","));
    return end.empty() || consume(end);
  }

  /// Reads the text between `{` and `}`.
  std::optional<TileSharding> readOne() {
    TileSharding sharding;
    int64_t device;
    if (consume("replicated")) {
      sharding.kind = TileSharding::Replicated;
    } else if (consume("maximal device=")) {
      sharding.kind = TileSharding::Maximal;
      if (!readNumber(device))
        return std::nullopt;
    } else if (consume("manual")) {
      sharding.kind = TileSharding::Manual;
    } else if (consume("unknown")) {
      sharding.kind = TileSharding::Unknown;
    } else if (!consume("devices=[") || !readTiles(sharding)) {
      return std::nullopt;
    }
    if (consume("metadata=") && !skipBraces())
      return std::nullopt;
    if (!consume("}"))
      return std::nullopt;
    return sharding;
  }

  bool skipBraces() {
    int depth = 0;
    do {
      size_t at = rest.find_first_of("{}");
      if (at == StringRef::npos)
        return false;
      depth += rest[at] == '{' ? 1 : -1;
      rest = rest.drop_front(at + 1);
    } while (depth > 0);
    return depth == 0;
  }

  bool readTiles(TileSharding &sharding) {
    Numbers tiles, devices;
    if (!readNumbers(tiles, "]"))
      return false;
    std::optional<int64_t> count = getNumDevices(tiles);
    if (!count)
      return false;
    if (consume("<=[") ? !readIota(devices, *count) : !readNumbers(devices, ""))
      return false;
    if (int64_t(devices.size()) != *count)
      return false;
    if (consume("last_tile_dim_replicate"))
      sharding.subgroups.push_back(Subgroup::Replicated);
    else if (consume("last_tile_dims={") && !readSubgroups(sharding))
      return false;
    if (sharding.subgroups.size() > tiles.size())
      return false;
    auto dims = findDigits(devices, tiles);
    if (!dims || devices[0] != 0)
      return false;
    sharding.kind = TileSharding::Tiled;
    sharding.dims = *dims;
    sharding.numDevices = *count;
    return true;
  }

  /// Reads the `[2,4]T(1,0)` of `<=[2,4]T(1,0)`: the device numbers as a
  /// row-major tensor of shape [2,4], transposed by the permutation (1,0).
  bool readIota(Numbers &devices, int64_t count) {
    Numbers shape, permutation;
    if (!readNumbers(shape, "]") || getNumDevices(shape) != count)
      return false;
    if (consume("T(")) {
      if (!readNumbers(permutation, ")"))
        return false;
    } else {
      permutation.resize(shape.size());
      std::iota(permutation.begin(), permutation.end(), 0);
    }
    Numbers sorted(permutation), strides(shape.size(), 1), sizes;
    llvm::sort(sorted);
    for (size_t i = 0; i < sorted.size(); ++i)
      if (sorted[i] != int64_t(i))
        return false;
    if (permutation.size() != shape.size())
      return false;
    for (size_t i = shape.size(); i-- > 1;)
      strides[i - 1] = strides[i] * shape[i];
    for (int64_t position = 0; position < count; ++position) {
      int64_t rest = position, device = 0;
      for (int64_t dim : llvm::reverse(permutation)) {
        device += rest % shape[dim] * strides[dim];
        rest /= shape[dim];
      }
      devices.push_back(device);
    }
    return true;
  }

  bool readSubgroups(TileSharding &sharding) {
    do {
      if (consume("replicated"))
        sharding.subgroups.push_back(Subgroup::Replicated);
      else if (consume("manual"))
        sharding.subgroups.push_back(Subgroup::Manual);
      else if (consume("unreduced"))
        sharding.subgroups.push_back(Subgroup::Unreduced);
      else
        return false;
    } while (consume(","));
    return consume("}");
  }

  StringRef rest;
};
} // namespace

std::optional<SmallVector<TileSharding>>
stablehlo::parseTileShardings(StringRef text) {
  return TileReader(text).readAll();
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Numbers.h"

#include "runtime/Core/StridedCopy.h"

using namespace tprt;

/// Whether the doubles are converted by copyStrided; other types are integers.
static bool convertsFromDouble(DType dtype) {
  return canConvert(DType::F64, dtype);
}

std::string tprun::encode(DType dtype, absl::Span<const double> values) {
  int64_t size = tprt::getSize(dtype);
  std::string bytes(values.size() * size, '\0');
  if (convertsFromDouble(dtype)) {
    copyStrided(dtype, &bytes[0], {1}, DType::F64,
                reinterpret_cast<const char *>(values.data()), {1},
                {static_cast<int64_t>(values.size())});
    return bytes;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    auto integer = static_cast<int64_t>(values[i]);
    std::memcpy(&bytes[i * size], &integer, size); // the low bytes
  }
  return bytes;
}

std::vector<double> tprun::decode(DType dtype, absl::string_view bytes) {
  int64_t size = tprt::getSize(dtype);
  std::vector<double> values(bytes.size() / size);
  if (convertsFromDouble(dtype)) {
    copyStrided(DType::F64, reinterpret_cast<char *>(values.data()), {1}, dtype,
                bytes.data(), {1}, {static_cast<int64_t>(values.size())});
    return values;
  }
  bool isSigned = dtype >= DType::I64 && dtype <= DType::I8;
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * size, size);
    uint64_t sign = uint64_t{1} << (8 * size - 1);
    values[i] =
        isSigned
            ? static_cast<double>(static_cast<int64_t>((bits ^ sign) - sign))
            : static_cast<double>(bits);
  }
  return values;
}

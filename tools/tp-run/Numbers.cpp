// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Numbers.h"

#include "runtime/Core/StridedCopy.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

using namespace tprt;

/// Returns true if copyStrided converts doubles to this type; other types are
/// integers.
static bool convertsFromDouble(DType dtype) {
  return canConvert(DType::F64, dtype);
}

static bool isSigned(DType dtype) {
  return dtype >= DType::I64 && dtype <= DType::I8;
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

/// Returns the bits of the integer at `from`, sign-extended if the type is
/// signed.
static uint64_t decodeInteger(DType dtype, const char *from) {
  int64_t size = tprt::getSize(dtype);
  uint64_t bits = 0;
  std::memcpy(&bits, from, size);
  if (!isSigned(dtype))
    return bits;
  uint64_t sign = uint64_t{1} << (8 * size - 1);
  return (bits ^ sign) - sign;
}

std::vector<std::string> tprun::format(DType dtype, absl::string_view bytes) {
  std::vector<std::string> texts;
  if (isFloat(dtype)) {
    for (double value : decode(dtype, bytes))
      texts.push_back(absl::StrFormat("%.9g", value));
    return texts;
  }
  int64_t size = tprt::getSize(dtype);
  for (size_t at = 0; at < bytes.size(); at += size) {
    uint64_t integer = decodeInteger(dtype, bytes.data() + at);
    texts.push_back(isSigned(dtype)
                        ? absl::StrCat(static_cast<int64_t>(integer))
                        : absl::StrCat(integer));
  }
  return texts;
}

std::vector<double> tprun::decode(DType dtype, absl::string_view bytes) {
  int64_t size = tprt::getSize(dtype);
  std::vector<double> values(bytes.size() / size);
  if (convertsFromDouble(dtype)) {
    copyStrided(DType::F64, reinterpret_cast<char *>(values.data()), {1}, dtype,
                bytes.data(), {1}, {static_cast<int64_t>(values.size())});
    return values;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t integer = decodeInteger(dtype, bytes.data() + i * size);
    values[i] = isSigned(dtype)
                    ? static_cast<double>(static_cast<int64_t>(integer))
                    : static_cast<double>(integer);
  }
  return values;
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Names that differ only in a number, such as those of equal layers.

#ifndef TPOPT_LIB_REPORT_REPEATS_H
#define TPOPT_LIB_REPORT_REPEATS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace tp {

/// A name such as `layers.3.up`, or a group of names that differ only in the
/// number: `layers.0..29.up`.
class RepeatedName {
public:
  explicit RepeatedName(llvm::StringRef name);

  /// Adds another name to the group if it differs only in the number.
  bool add(const RepeatedName &other);
  size_t getCount() const { return count; }
  std::string str() const;

private:
  std::string before, after;      ///< The text around the number.
  std::optional<int> first, last; ///< None if the name has no number.
  size_t count = 1;
};

/// A group of equal entries: the first one, and all names.
template <typename T> struct Repeated {
  const T *value;
  RepeatedName name;
};

/// Groups `values` in order. Each group has a value and all later values that
/// differ from it only in the number in their names: `areAlike` compares
/// everything else.
template <typename T>
std::vector<Repeated<T>>
groupRepeated(llvm::ArrayRef<const T *> values,
              llvm::function_ref<std::string(const T &)> getName,
              llvm::function_ref<bool(const T &, const T &)> areAlike) {
  std::vector<Repeated<T>> groups;
  for (const T *value : values) {
    RepeatedName name(getName(*value));
    bool isKnown = false;
    for (Repeated<T> &group : groups)
      if ((isKnown = areAlike(*group.value, *value) && group.name.add(name)))
        break;
    if (!isKnown)
      groups.push_back({value, name});
  }
  return groups;
}

} // namespace tp

#endif // TPOPT_LIB_REPORT_REPEATS_H

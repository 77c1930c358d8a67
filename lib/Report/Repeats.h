// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Names that differ in a number alone, as those of equal layers do.

#ifndef TPOPT_LIB_REPORT_REPEATS_H
#define TPOPT_LIB_REPORT_REPEATS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace tp {

/// `layers.3.up`, or many of its kind as one: `layers.0..29.up`.
class RepeatedName {
public:
  explicit RepeatedName(llvm::StringRef name);

  /// Counts another name, if it differs in the number alone.
  bool add(const RepeatedName &other);
  size_t getCount() const { return count; }
  std::string str() const;

private:
  std::string before, after;      ///< Of the number.
  std::optional<int> first, last; ///< None: the name has no number.
  size_t count = 1;
};

/// What is alike, as one: the first of it, and all names.
template <typename T> struct Repeated {
  const T *value;
  RepeatedName name;
};

/// `values` in order, each with all later ones that `areAlike` says are equal
/// to it but for their names.
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

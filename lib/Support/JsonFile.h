// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file A JSON file that remembers the positions of its keys.
///
/// LLVM's parser returns values without positions, does not keep the order of
/// keys, and drops duplicate keys. Configurations and plans are written by
/// hand, so this reader adds the information that good messages need. For
///
///     {"rope_scaling": {"type": "yarn"},
///      "vocab_size": 49152}
///
/// `find({"rope_scaling", "type"})` is line 1, column 19, and getKeys() lists
/// `rope_scaling`, `vocab_size` in this order. Text is an error if it is nested
/// deeper than kMaxDepth (a recursive parser would run out of stack), is larger
/// than the caller allows, or repeats a key in one object.

#ifndef TPOPT_SUPPORT_JSONFILE_H
#define TPOPT_SUPPORT_JSONFILE_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

#include <string>
#include <variant>
#include <vector>

namespace tp {

class JsonFile {
public:
  static constexpr unsigned kMaxDepth = 64;

  /// Line and column, both counted from 1; both 0 if the file is not text, so
  /// that no line of it is printed.
  struct Position {
    unsigned line = 1, column = 1;
  };
  struct Error {
    Position position;
    std::string message;
    std::error_code why = {}; ///< Why the file cannot be opened.
  };

  static std::variant<JsonFile, Error> parse(llvm::StringRef text);
  /// Reads and parses `path`, which has at most `maxBytes`.
  static std::variant<JsonFile, Error> read(llvm::StringRef path,
                                            uint64_t maxBytes);

  const llvm::json::Value &getRoot() const { return root; }
  /// The keys of the outermost object in the order of the text.
  llvm::ArrayRef<std::string> getKeys() const { return keys; }
  /// The position of the key at the end of `path`, which gives elements of
  /// arrays by their numbers. If there is no such key, the position of the
  /// longest part of the path that exists.
  Position find(llvm::ArrayRef<llvm::StringRef> path) const;

private:
  /// The errors that the scan for keys finds. Depth is reported before the
  /// parser runs, since deep text would crash it. Duplicates are reported after
  /// it, since the parser explains malformed text better.
  struct Scan {
    std::optional<Error> depth, duplicate;
  };

  JsonFile() : root(nullptr) {}
  Scan scan(llvm::StringRef text);

  llvm::json::Value root;
  std::vector<std::string> keys;
  /// The position of a key, or of an array element that is an object or an
  /// array. `number` identifies it as the parent of other keys and elements.
  struct Place {
    Position position;
    unsigned number;
  };
  static std::string getPlaceKey(unsigned parent, llvm::StringRef part);

  /// Keyed by the number of the parent and the name of the key; the outermost
  /// object has number 0. If whole paths were used as keys, a malicious text
  /// could take memory quadratic in its size.
  llvm::StringMap<Place> places;
};

} // namespace tp

#endif // TPOPT_SUPPORT_JSONFILE_H

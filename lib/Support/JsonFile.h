// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file A JSON file that remembers where its keys stand.
///
/// LLVM's parser gives values without positions, forgets the order of keys and
/// keeps one of two equal ones. People write configurations and plans by hand,
/// so this reader adds what a good message needs: of
///
///     {"rope_scaling": {"type": "yarn"},
///      "vocab_size": 49152}
///
/// `find({"rope_scaling", "type"})` is line 1, column 19, and getKeys() lists
/// `rope_scaling`, `vocab_size` in this order. Text that is nested deeper than
/// kMaxDepth (a recursive parser would run out of stack), larger than the
/// caller allows, or has a key twice in one object is an error, never a crash.

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

  /// Line and column, both from 1, or 0 if the file is none.
  struct Position {
    unsigned line = 1, column = 1;
  };
  struct Error {
    Position position;
    std::string message;
    std::error_code why = {}; ///< Of a file that cannot be opened.
  };

  static std::variant<JsonFile, Error> parse(llvm::StringRef text);
  /// Reads and parses `path`, which has at most `maxBytes`.
  static std::variant<JsonFile, Error> read(llvm::StringRef path,
                                            uint64_t maxBytes);

  const llvm::json::Value &getRoot() const { return root; }
  /// The keys of the outermost object in the order of the text.
  llvm::ArrayRef<std::string> getKeys() const { return keys; }
  /// Where the key at the end of `path` stands, an element of an array by its
  /// number. The position of the longest known part if there is no such key.
  Position find(llvm::ArrayRef<llvm::StringRef> path) const;

private:
  /// What a scan for keys may find wrong. The parser runs between the two: it
  /// must not see deep text, and says better why malformed text is wrong.
  struct Scan {
    std::optional<Error> depth, duplicate;
  };

  JsonFile() : root(nullptr) {}
  Scan scan(llvm::StringRef text);

  llvm::json::Value root;
  std::vector<std::string> keys;
  /// A key, or a container in an array, and the number it has as a parent.
  struct Place {
    Position position;
    unsigned number;
  };
  static std::string getPlaceKey(unsigned parent, llvm::StringRef part);

  /// By the parent's number and the own name; the root has number 0. Whole
  /// paths would take the square of a hostile text's size.
  llvm::StringMap<Place> places;
};

} // namespace tp

#endif // TPOPT_SUPPORT_JSONFILE_H

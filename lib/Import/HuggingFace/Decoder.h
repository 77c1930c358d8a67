// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The parts that decoders share: entries, positions, caches, and the head.

#ifndef TPOPT_LIB_IMPORT_HUGGINGFACE_DECODER_H
#define TPOPT_LIB_IMPORT_HUGGINGFACE_DECODER_H

#include "Config.h"
#include "ModelBuilder.h"

#include "tpopt/Import/Import.h"

namespace tp::hf {

struct DecoderSizes {
  int64_t layers, hidden, vocab;
  int64_t kv;    ///< Key-value heads.
  int64_t group; ///< Query heads per key-value head.
  int64_t head;  ///< Features per head.
  /// The padding token: where it occurs in the input, its embedding gets no
  /// gradient.
  std::optional<int64_t> padding;
};

/// One function of the module.
struct Entry {
  std::string name;
  int64_t tokens = 1;           ///< Per sequence.
  bool hasPosition = false;     ///< Tokens begin at a given position.
  bool hasLength = false;       ///< Only the first `length` tokens are real.
  std::optional<int64_t> cache; ///< Positions of the cache, if there is one.
  bool lastOnly = false;        ///< Logits are [b, v], not [b, s, v].
  bool hasLoss = false;         ///< Takes labels; returns a loss, not logits.
};

/// Returns the entries that `options` request; failure after an error. The
/// model supports `positions` positions, a number that the config gives as
/// `field`.
mlir::FailureOr<llvm::SmallVector<Entry>>
getEntries(const ImportOptions &options, Config &config, llvm::StringRef field,
           int64_t positions);

/// Builds one entry of a decoder. The importer of a model family takes the
/// tokens and positions, calls attend() in every layer and select() before the
/// last norm, and ends with finish().
class Decoder {
public:
  Decoder(ModelBuilder &builder, const DecoderSizes &sizes, const Entry &entry,
          int64_t batch);

  mlir::Value getTokens() const { return tokens; }
  mlir::Value embedTokens(mlir::Value table) {
    return b.embedding(table, tokens,
                       entry.hasLoss ? sizes.padding : std::nullopt);
  }
  /// Returns the position of every token, as i32 [s].
  mlir::Value getPositions();
  /// Writes key and value into the layer's cache, and attends to all keys known
  /// so far.
  mlir::Value attend(int64_t layer, mlir::Value query, mlir::Value key,
                     mlir::Value value, double scale,
                     std::optional<int64_t> window = std::nullopt);
  /// Returns the rows whose logits are wanted: all, or [b, hidden] of the last
  /// token.
  mlir::Value select(mlir::Value x);
  /// Computes the logits as the product of `rows` and `table` [vocab, hidden],
  /// and ends the entry. An entry for training returns the loss and the label
  /// count. Other entries return the logits and the caches.
  void finish(mlir::Value rows, mlir::Value table);

private:
  mlir::Value update(mlir::Value cache, mlir::Value rows);

  ModelBuilder &b;
  const DecoderSizes &sizes;
  Entry entry;
  int64_t batch;
  mlir::Value tokens, labels, position, length, zero;
  /// Key and value of every layer: first the caches as passed in, later the
  /// updated ones.
  llvm::SmallVector<std::pair<std::string, mlir::Value>> caches;
};

} // namespace tp::hf

#endif // TPOPT_LIB_IMPORT_HUGGINGFACE_DECODER_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Builds the entries, positions, caches and the head of a decoder.

#include "Decoder.h"

#include "Loss.h"

using namespace mlir;
using namespace tp;
using namespace tp::hf;

FailureOr<SmallVector<Entry>> hf::getEntries(const ImportOptions &options,
                                             Config &config, StringRef field,
                                             int64_t positions) {
  using Phase = ImportOptions::Phase;
  // Default lengths are at most the number of positions that the model
  // supports.
  int64_t sequence = options.sequence.value_or(
      std::min({int64_t(512), positions, options.cache.value_or(positions)}));
  int64_t cache = options.cache.value_or(
      std::min(positions, std::max(int64_t(2048), sequence)));
  bool generates =
      options.phase == Phase::Decode || options.phase == Phase::Generate;
  bool hasCache = generates || options.cache;
  bool hasPrompt = options.phase != Phase::Decode;
  auto contradict = [&](StringRef option, int64_t value) {
    config.error(ErrorCode::BadImportOption, field,
                 "is " + llvm::Twine(positions) + ", less than " + option +
                     "=" + llvm::Twine(value),
                 "import with at most " + option + "=" +
                     llvm::Twine(positions));
  };
  if (hasPrompt && sequence > positions)
    contradict("sequence", sequence);
  if (hasCache && cache > positions)
    contradict("cache", cache);
  if (config.failed())
    return failure();
  if (hasPrompt && hasCache && sequence > cache)
    return emitError(config.getLoc(field))
           << prefix(ErrorCode::BadImportOption) << "sequence=" << sequence
           << " is larger than cache=" << cache
           << "; import with cache=" << sequence << " or more";

  Entry prompt, step;
  prompt.name = step.name = "main";
  prompt.tokens = sequence;
  prompt.lastOnly = options.logits == ImportOptions::Logits::Last;
  step.lastOnly = prompt.lastOnly;
  step.hasPosition = true;
  step.cache = cache;
  if (hasCache)
    prompt.cache = cache;
  prompt.hasLoss = options.phase == Phase::Train;
  if (!generates)
    return SmallVector<Entry>{prompt};
  if (options.phase == Phase::Decode)
    return SmallVector<Entry>{step};
  prompt.name = "prefill";
  prompt.hasLength = true;
  step.name = "decode";
  prompt.lastOnly = step.lastOnly = true;
  return SmallVector<Entry>{prompt, step};
}

Decoder::Decoder(ModelBuilder &builder, const DecoderSizes &sizes,
                 const Entry &entry, int64_t batch)
    : b(builder), sizes(sizes), entry(entry), batch(batch) {
  b.beginEntry(entry.name);
  RankedTensorType scalar = b.tensor({}, b.i32());
  tokens = b.input(entry.hasPosition ? "token" : "tokens",
                   b.tensor({batch, entry.tokens}, b.i32()));
  if (entry.hasLoss)
    labels = b.input("labels", b.tensor({batch, entry.tokens}, b.i32()));
  if (entry.hasPosition)
    position = b.input("position", scalar);
  if (entry.hasLength)
    length = b.input("length", scalar);
  if (entry.cache) {
    RankedTensorType type =
        b.tensor({batch, *entry.cache, sizes.kv, sizes.head});
    for (int64_t layer = 0; layer < sizes.layers; ++layer)
      for (StringRef kind : {"k", "v"}) {
        std::string name = ("cache." + kind + "." + llvm::Twine(layer)).str();
        // Result 0 is the logits; caches follow.
        Value cache = b.cache(name, type, caches.size() + 1);
        caches.push_back({name, cache});
      }
  }
  if (entry.cache || entry.hasLength)
    zero = b.integer(0);
}

Value Decoder::getPositions() {
  RankedTensorType type = b.tensor({entry.tokens}, b.i32());
  // An entry with one token: the token's position is the entry's `position`.
  if (position && entry.tokens == 1)
    return b.broadcast(position, type.getShape(), {});
  return b.op<IotaOp>(type, 0);
}

Value Decoder::update(Value cache, Value rows) {
  return b.op<DynamicUpdateSliceOp>(
      cache.getType(), cache, rows,
      ValueRange{zero, position ? position : zero, zero, zero});
}

Value Decoder::attend(int64_t layer, Value query, Value key, Value value,
                      double scale, std::optional<int64_t> window) {
  if (entry.cache) {
    Value &keys = caches[2 * layer].second,
          &values = caches[2 * layer + 1].second;
    keys = update(keys, key);
    values = update(values, value);
    // A prompt attends to itself only. A later token attends to the whole
    // cache; `causal` hides the positions after the token's own.
    if (position) {
      key = keys;
      value = values;
    }
  }
  // A window at least as long as the keys hides nothing.
  int64_t reach = getShape(key)[1];
  if (window && *window >= reach)
    window.reset();
  return b.causalAttention(query, key, value, position, scale, window);
}

Value Decoder::select(Value x) {
  if (!entry.lastOnly)
    return x;
  int64_t hidden = getShape(x).back();
  SmallVector<int64_t> row{batch, 1, hidden};
  if (length) {
    Value last = b.op<SubOp>(length.getType(), length, b.integer(1));
    x = b.op<DynamicSliceOp>(b.tensor(row), x, ValueRange{zero, last, zero});
  } else if (entry.tokens > 1) {
    x = b.op<SliceOp>(b.tensor(row), x,
                      ArrayRef<int64_t>{0, entry.tokens - 1, 0},
                      ArrayRef<int64_t>{1, 1, 1});
  }
  return b.op<ReshapeOp>(b.tensor({batch, hidden}), x);
}

void Decoder::finish(Value rows, Value table) {
  Value logits = b.einsum(entry.lastOnly ? "bh,vh->bv" : "bsh,vh->bsv", rows,
                          table, b.wide());
  if (entry.hasLoss)
    return b.endEntry(buildLoss(b, logits, shiftLabels(b, labels)));
  SmallVector<std::pair<std::string, Value>> results{{"logits", logits}};
  results.append(caches.begin(), caches.end());
  b.endEntry(results);
}

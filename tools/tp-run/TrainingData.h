// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The data set of --train, and the rows of it that a step takes.
///
/// A token file is a sequence of little-endian numbers: either 16 bits each and
/// nothing else, as nanoGPT writes them, or 16 or 32 bits each after the header
/// of llm.c. A sample has as many tokens as a row of the input; samples do not
/// overlap. The name of an input determines what it gets:
///
///     tokens    the tokens of the sample
///     labels    the same: models imported with phase=train shift them
///     targets   the tokens shifted by one, for programs that do not shift
///
/// If only one input takes its value from the file, it gets the tokens of the
/// sample, whatever its name.
///
/// Safetensors files have a tensor for each input, with the name of the input.
/// Its first dimension counts samples.
///
/// The first dimension of an input (the first two with micro-batches) counts
/// the samples of a step. SampleOrder determines the order. Each rank reads
/// only its rows.

#ifndef TPRUN_TRAININGDATA_H
#define TPRUN_TRAININGDATA_H

#include "Options.h"
#include "SampleOrder.h"
#include "runtime/Core/Session.h"

#include "absl/types/optional.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tprun {

class TrainingData {
public:
  /// Opens the data set `options.train` for those inputs of the entry that no
  /// --input option sets.
  static absl::StatusOr<TrainingData>
  open(const tprt::Artifact &artifact, uint32_t entry, const Options &options);

  /// Binds each input to the rows of the data set that this training step
  /// takes. Steps are counted from 0.
  absl::Status bind(tprt::Session &session, uint64_t step) const;

  /// Notes a digest of the data, which must be the same on all ranks.
  absl::Status agree(tprt::Session &session) const;

  uint64_t getSamplesPerStep() const { return samplesPerStep; }
  /// Returns the number of tokens that a training step takes; 0 if samples are
  /// not tokens.
  uint64_t getTokensPerStep() const { return samplesPerStep * sequence; }

private:
  /// The part of each sample that goes to one input.
  struct Column {
    std::string input;
    tprt::DType dtype;
    std::vector<int64_t> shape;
    uint64_t sampleBytes;
    /// Reads some bytes of a sample, in the type of the input.
    std::function<absl::Status(uint64_t sample, uint64_t begin, uint64_t size,
                               char *to)>
        read;
    tprt::TensorReader stored; ///< The whole tensor in the file.
  };

  TrainingData() = default;
  absl::Status openTokens(const tprt::Artifact &artifact,
                          absl::Span<const tprt::InputRow *const> inputs,
                          const std::string &path);
  absl::Status openTensors(const tprt::Artifact &artifact,
                           absl::Span<const tprt::InputRow *const> inputs,
                           const std::string &path);
  absl::Status addColumn(Column column, size_t sampleDims, uint64_t count);
  absl::Status readRows(const Column &column, uint64_t step, uint64_t begin,
                        uint64_t size, char *to) const;

  std::shared_ptr<tprt::SafetensorsFolder> folder; ///< Outlives the readers.
  std::vector<Column> columns;
  uint64_t samples = 0, samplesPerStep = 0, sequence = 0;
  absl::optional<SampleOrder> order;
};

} // namespace tprun

#endif // TPRUN_TRAININGDATA_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Reads safetensors files (huggingface/safetensors): a length of 8
/// bytes, a JSON header of name -> {dtype, shape, data_offsets}, then the data.
///
///     auto weights = SafetensorsFolder::open("llama-3.2-1b");
///     auto tensor = weights->find("model.norm.weight");
///     tensor->dtype, tensor->shape, tensor->read(0, size, to)
///
/// A folder holds `model.safetensors`, or several files that
/// `model.safetensors.index.json` lists, or any `*.safetensors`. A file is
/// opened when one of its tensors is first asked for. Everything that the
/// header says is checked before it is used: each kind of damage has its error
/// code (Weights* in Errors.def).
///
/// Everything that the reference implementation refuses is refused here. The
/// reference implementation accepts a little more: a name that occurs twice,
/// JSON that nests between 64 and 128 deep, sizes of more than 63 bits in a
/// shape that contains 0, entries written as arrays, and types that no program
/// here has (F4, F6, F8_E8M0, C64).

#ifndef TPRT_CORE_SAFETENSORS_H
#define TPRT_CORE_SAFETENSORS_H

#include "runtime/Core/DType.h"
#include "runtime/Core/File.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tprt {

struct StoredTensor {
  DType dtype;
  std::vector<int64_t> shape;
  absl::string_view data; ///< getSize(dtype) * elements bytes, row-major.
};

/// A tensor whose bytes are read on demand.
struct TensorReader {
  DType dtype;
  std::vector<int64_t> shape;
  /// Reads bytes [begin, begin + size) of the tensor; any thread may call it.
  std::function<absl::Status(uint64_t begin, uint64_t size, char *to)> read;

  absl::StatusOr<std::string> readAll() const;
};

/// The place of a tensor in the data of its file.
struct TensorPlace {
  DType dtype;
  std::vector<int64_t> shape;
  uint64_t begin, size;
};

/// Returns the tensors in the bytes of one file. The bytes must outlive them.
absl::StatusOr<absl::flat_hash_map<std::string, StoredTensor>>
parseSafetensors(absl::string_view bytes);

class SafetensorsFolder {
public:
  /// `path` is a folder or a single file.
  static absl::StatusOr<std::unique_ptr<SafetensorsFolder>>
  open(const std::string &path);

  /// Returns the tensor of this name. Thread-safe; the result is valid while
  /// the folder lives.
  absl::StatusOr<TensorReader> find(const std::string &name);

private:
  struct Part {
    absl::optional<File> file; ///< None until it is needed.
    uint64_t data = 0;         ///< Where the data starts.
    absl::flat_hash_map<std::string, TensorPlace> tensors;
  };

  absl::Status readIndex(const std::string &path);
  /// Returns text to append to a message about a missing tensor: the tensors
  /// that do exist.
  std::string listOthers() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  absl::Status load(const std::string &path, Part &part)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  std::string folder;
  absl::Mutex mutex;
  absl::btree_map<std::string, Part> files ABSL_GUARDED_BY(mutex);
  /// Maps the name of a tensor to the path of its file. Empty if there is no
  /// index file.
  absl::flat_hash_map<std::string, std::string> index;
  bool hasIndex = false;
};

/// Returns the bytes of a file with these tensors.
std::string
writeSafetensors(const absl::btree_map<std::string, StoredTensor> &tensors);

} // namespace tprt

#endif // TPRT_CORE_SAFETENSORS_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/Safetensors.h"

#include "runtime/Core/Errors.h"
#include "runtime/Core/Shapes.h"

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <dirent.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <tuple>

using namespace tprt;
using nlohmann::json;

static constexpr uint64_t kMaxHeader = 100'000'000;

/// The maximum depth of nested brackets, far more than the format needs. There
/// is a limit because the parser needs 80 bytes for each open bracket, which is
/// one byte in the file.
static constexpr size_t kMaxDepth = 64;

static absl::optional<DType> parseDType(absl::string_view name) {
  static const auto *names = new absl::flat_hash_map<absl::string_view, DType>{
      {"F64", DType::F64},        {"F32", DType::F32},
      {"BF16", DType::BF16},      {"F16", DType::F16},
      {"I64", DType::I64},        {"I32", DType::I32},
      {"I16", DType::I16},        {"I8", DType::I8},
      {"U64", DType::U64},        {"U32", DType::U32},
      {"U16", DType::U16},        {"U8", DType::U8},
      {"BOOL", DType::Bool},      {"F8_E4M3", DType::F8E4M3FN},
      {"F8_E5M2", DType::F8E5M2},
  };
  auto found = names->find(name);
  if (found == names->end())
    return absl::nullopt;
  return found->second;
}

/// Returns true if brackets nest deeper than kMaxDepth. If the text is not
/// JSON, the parser reports that.
static bool isDeep(absl::string_view text) {
  size_t depth = 0;
  bool isInString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (isInString && c == '\\')
      ++i;
    else if (c == '"')
      isInString = !isInString;
    else if (isInString)
      continue;
    else if ((c == '{' || c == '[') && ++depth > kMaxDepth)
      return true;
    else if ((c == '}' || c == ']') && depth > 0)
      --depth;
  }
  return false;
}

/// Parses JSON and notes a key that an object repeats, since the parser itself
/// would silently keep the last value. Returns a discarded value if the text is
/// not JSON or nests too deeply.
static json parseJson(absl::string_view text, std::string &duplicate) {
  // The parser would skip a byte order mark, and anything after a zero byte.
  constexpr absl::string_view kMark = "\xef\xbb\xbf";
  if (isDeep(text) || text.find('\0') != text.npos ||
      text.substr(0, kMark.size()) == kMark)
    return json(json::value_t::discarded);
  std::vector<absl::flat_hash_set<std::string>> open;
  auto callback = [&](int, json::parse_event_t event, json &parsed) {
    if (event == json::parse_event_t::object_start)
      open.emplace_back();
    else if (event == json::parse_event_t::object_end)
      open.pop_back();
    else if (event == json::parse_event_t::key &&
             !open.back().insert(parsed.get<std::string>()).second)
      duplicate = parsed.get<std::string>();
    return true;
  };
  return json::parse(text.begin(), text.end(), callback,
                     /*allow_exceptions=*/false);
}

/// Parses a list of integers >= 0 that fit int64_t.
static absl::optional<std::vector<int64_t>> parseList(const json &object,
                                                      const char *key) {
  auto found = object.find(key);
  if (found == object.end() || !found->is_array())
    return absl::nullopt;
  std::vector<int64_t> list;
  for (const json &item : *found) {
    if (!item.is_number_unsigned() || item.get<uint64_t>() > INT64_MAX)
      return absl::nullopt;
    list.push_back(item.get<int64_t>());
  }
  return list;
}

static absl::StatusOr<TensorPlace>
parseTensor(const std::string &name, const json &entry, uint64_t dataSize) {
  auto dtype = entry.is_object() ? entry.find("dtype") : entry.end();
  if (!entry.is_object() || dtype == entry.end() || !dtype->is_string())
    return makeError(ErrorCode::WeightsHeader, "tensor '", name,
                     "' has no dtype");
  absl::optional<DType> type = parseDType(dtype->get<std::string>());
  if (!type)
    return makeError(ErrorCode::WeightsDType, "tensor '", name,
                     "' has the unknown type ", dtype->get<std::string>());
  absl::optional<std::vector<int64_t>> shape = parseList(entry, "shape");
  if (!shape)
    return makeError(
        ErrorCode::WeightsHeader, "tensor '", name,
        "' has no valid shape: expects a list of non-negative integers");
  absl::optional<std::vector<int64_t>> range = parseList(entry, "data_offsets");
  if (!range || range->size() != 2)
    return makeError(ErrorCode::WeightsRange, "tensor '", name,
                     "' has no valid data_offsets: expects two non-negative "
                     "integers less than 2^63");
  int64_t begin = (*range)[0], end = (*range)[1];
  if (begin > end)
    return makeError(ErrorCode::WeightsRange, "tensor '", name,
                     "' ends at byte ", end, ", before its start at byte ",
                     begin);
  if (static_cast<uint64_t>(end) > dataSize)
    return makeError(ErrorCode::WeightsTruncated, "tensor '", name,
                     "' ends at byte ", end, ", but the file has only ",
                     dataSize, " bytes of data; copy or write it again");
  std::vector<int64_t> sizes = *shape;
  sizes.push_back(getSize(*type));
  absl::optional<int64_t> bytes = getNumElements(sizes);
  if (!bytes)
    return makeError(ErrorCode::WeightsRange, "tensor '", name, "' of shape [",
                     absl::StrJoin(*shape, ", "), "] takes 2^63 bytes or more");
  if (*bytes != end - begin)
    return makeError(ErrorCode::WeightsShape, "tensor '", name, "' of shape [",
                     absl::StrJoin(*shape, ", "), "] takes ", *bytes,
                     " bytes, but its data_offsets give ", end - begin);
  return TensorPlace{*type, *std::move(shape), static_cast<uint64_t>(begin),
                     static_cast<uint64_t>(*bytes)};
}

static bool isMetadata(const json &value) {
  return value.is_null() ||
         (value.is_object() &&
          std::all_of(value.begin(), value.end(),
                      [](const json &item) { return item.is_string(); }));
}

/// A range of the data, and the tensor that it belongs to.
struct NamedRange {
  uint64_t begin, size;
  const std::string *name;
};

/// Checks that every byte of the data belongs to exactly one tensor. If not,
/// the header is damaged: with a wrong header length, for example, all tensors
/// would be read from the wrong place.
static absl::Status checkCover(std::vector<NamedRange> ranges,
                               uint64_t dataSize) {
  std::sort(ranges.begin(), ranges.end(),
            [](const NamedRange &a, const NamedRange &b) {
              return std::tie(a.begin, a.size) < std::tie(b.begin, b.size);
            });
  auto uncovered = [](uint64_t begin, uint64_t end) {
    return makeError(
        ErrorCode::WeightsUncovered, "bytes ", begin, " to ", end,
        " of the data do not belong to a tensor; copy or write the file again");
  };
  uint64_t place = 0;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const NamedRange &range = ranges[i];
    if (range.begin < place)
      return makeError(ErrorCode::WeightsOverlap, "tensors '",
                       *ranges[i - 1].name, "' and '", *range.name,
                       "' share bytes");
    if (range.begin > place)
      return uncovered(place, range.begin);
    place = range.begin + range.size;
  }
  return place == dataSize ? absl::OkStatus() : uncovered(place, dataSize);
}

/// Parses the length of the header, which comes first in the file.
static absl::StatusOr<uint64_t> parseLength(absl::string_view start,
                                            uint64_t fileSize) {
  uint64_t length;
  if (start.size() < sizeof(length))
    return makeError(ErrorCode::WeightsTruncated, "the file has ", fileSize,
                     " bytes, too few for a safetensors header");
  std::memcpy(&length, start.data(), sizeof(length));
  if (length > kMaxHeader)
    return makeError(ErrorCode::WeightsHeaderTooLarge,
                     "the header claims to have ", length,
                     " bytes, more than is possible: the file is damaged or is "
                     "not a safetensors file");
  if (length > fileSize - sizeof(length))
    return makeError(ErrorCode::WeightsTruncated,
                     "the file ends inside its header");
  return length;
}

/// Parses the tensors that a header describes, with `dataSize` bytes of data
/// after it.
static absl::StatusOr<absl::flat_hash_map<std::string, TensorPlace>>
parseHeader(absl::string_view text, uint64_t dataSize) {
  std::string duplicate;
  json header = parseJson(text, duplicate);
  if (!header.is_object())
    return makeError(
        ErrorCode::WeightsHeader,
        "the header is not a JSON object, or is nested deeper than ",
        kMaxDepth);
  if (!duplicate.empty())
    return makeError(ErrorCode::WeightsDuplicate, "the header has the key '",
                     duplicate, "' twice");

  absl::flat_hash_map<std::string, TensorPlace> tensors;
  std::vector<NamedRange> ranges;
  for (auto item = header.begin(); item != header.end(); ++item) {
    if (item.key() == "__metadata__") {
      if (!isMetadata(item.value()))
        return makeError(ErrorCode::WeightsHeader,
                         "the header's __metadata__ is not an object of "
                         "strings");
      continue;
    }
    TPRT_ASSIGN_OR_RETURN(TensorPlace tensor,
                          parseTensor(item.key(), item.value(), dataSize));
    ranges.push_back({tensor.begin, tensor.size, &item.key()});
    tensors.emplace(item.key(), std::move(tensor));
  }
  TPRT_RETURN_IF_ERROR(checkCover(std::move(ranges), dataSize));
  return tensors;
}

absl::StatusOr<absl::flat_hash_map<std::string, StoredTensor>>
tprt::parseSafetensors(absl::string_view bytes) {
  TPRT_ASSIGN_OR_RETURN(uint64_t length, parseLength(bytes, bytes.size()));
  absl::string_view text = bytes.substr(sizeof(length), length);
  absl::string_view data = bytes.substr(sizeof(length) + length);
  TPRT_ASSIGN_OR_RETURN(auto places, parseHeader(text, data.size()));
  absl::flat_hash_map<std::string, StoredTensor> tensors;
  for (auto &[name, place] : places)
    tensors.emplace(name, StoredTensor{place.dtype, std::move(place.shape),
                                       data.substr(place.begin, place.size)});
  return tensors;
}

absl::StatusOr<std::string> TensorReader::readAll() const {
  std::string bytes(*getNumElements(shape) * getSize(dtype), '\0');
  TPRT_RETURN_IF_ERROR(read(0, bytes.size(), &bytes[0]));
  return bytes;
}

static absl::StatusOr<std::vector<std::string>>
listSafetensors(const std::string &folder) {
  DIR *handle = ::opendir(folder.c_str());
  if (!handle)
    return makeError(getFileError(errno, ErrorCode::WeightsNotFound),
                     "cannot read the folder '", folder,
                     "': ", std::strerror(errno));
  std::vector<std::string> files;
  while (const dirent *entry = ::readdir(handle)) {
    absl::string_view name = entry->d_name;
    absl::string_view suffix = ".safetensors";
    if (name.size() > suffix.size() &&
        name.substr(name.size() - suffix.size()) == suffix)
      files.push_back(absl::StrCat(folder, "/", name));
  }
  ::closedir(handle);
  std::sort(files.begin(), files.end());
  return files;
}

absl::StatusOr<std::unique_ptr<SafetensorsFolder>>
SafetensorsFolder::open(const std::string &path) {
  auto result = std::make_unique<SafetensorsFolder>();
  struct stat info;
  if (::stat(path.c_str(), &info) != 0)
    return makeError(ErrorCode::WeightsNotFound, "cannot find '", path,
                     "': ", std::strerror(errno),
                     "; name a .safetensors file or a folder of such files");
  absl::MutexLock lock(&result->mutex);
  if (!S_ISDIR(info.st_mode)) {
    result->folder = path;
    result->files.try_emplace(path);
    return result;
  }
  result->folder = path;
  std::string indexPath = path + "/model.safetensors.index.json";
  std::string single = path + "/model.safetensors";
  if (::stat(indexPath.c_str(), &info) == 0) {
    TPRT_RETURN_IF_ERROR(result->readIndex(indexPath));
    for (const auto &[tensor, file] : result->index)
      result->files.try_emplace(file);
    return result;
  }
  std::vector<std::string> paths = {single};
  if (::stat(single.c_str(), &info) != 0) {
    TPRT_ASSIGN_OR_RETURN(paths, listSafetensors(path));
    if (paths.empty())
      return makeError(ErrorCode::WeightsNotFound, "the folder '", path,
                       "' holds no .safetensors file");
  }
  for (const std::string &file : paths)
    result->files.try_emplace(file);
  return result;
}

absl::Status SafetensorsFolder::readIndex(const std::string &path) {
  TPRT_ASSIGN_OR_RETURN(File file, File::open(path));
  TPRT_ASSIGN_OR_RETURN(AlignedBuffer text, file.readAll());
  std::string duplicate;
  json parsed = parseJson(text.view(), duplicate);
  auto map = parsed.is_object() ? parsed.find("weight_map") : parsed.end();
  if (!parsed.is_object() || map == parsed.end() || !map->is_object())
    return makeError(
        ErrorCode::WeightsHeader, path,
        ": expects a JSON object with a weight_map, nested at most to depth ",
        kMaxDepth);
  if (!duplicate.empty())
    return makeError(ErrorCode::WeightsDuplicate, path, ": key '", duplicate,
                     "' occurs twice");
  for (auto item = map->begin(); item != map->end(); ++item) {
    // The value must name a file in the same folder: an index must not refer to
    // other places.
    if (!item.value().is_string() ||
        item.value().get<std::string>().find('/') != std::string::npos)
      return makeError(ErrorCode::WeightsHeader, path, ": tensor '", item.key(),
                       "' is not in the file that the index names");
    index[item.key()] =
        absl::StrCat(folder, "/", item.value().get<std::string>());
  }
  hasIndex = true;
  return absl::OkStatus();
}

absl::Status SafetensorsFolder::load(const std::string &path, Part &part) {
  if (part.file)
    return absl::OkStatus();
  TPRT_ASSIGN_OR_RETURN(File file, File::open(path));
  std::string start(std::min<uint64_t>(file.size(), sizeof(uint64_t)), '\0');
  TPRT_RETURN_IF_ERROR(file.read(0, start.size(), &start[0]));
  auto length = parseLength(start, file.size());
  if (!length.ok())
    return addContext(length.status(), path);
  std::string text(*length, '\0');
  TPRT_RETURN_IF_ERROR(file.read(start.size(), text.size(), &text[0]));
  part.data = start.size() + text.size();
  auto tensors = parseHeader(text, file.size() - part.data);
  if (!tensors.ok())
    return addContext(tensors.status(), path);
  part.tensors = *std::move(tensors);
  part.file.emplace(std::move(file));
  return absl::OkStatus();
}

absl::StatusOr<TensorReader> SafetensorsFolder::find(const std::string &name) {
  absl::MutexLock lock(&mutex);
  const TensorPlace *found = nullptr;
  const Part *holder = nullptr;
  std::string where;
  for (auto &[path, part] : files) {
    if (hasIndex) {
      auto place = index.find(name);
      if (place == index.end() || place->second != path)
        continue;
    }
    TPRT_RETURN_IF_ERROR(load(path, part));
    auto tensor = part.tensors.find(name);
    if (tensor == part.tensors.end())
      continue;
    if (found)
      return makeError(ErrorCode::WeightsDuplicate, "tensor '", name,
                       "' is in '", where, "' and in '", path, "'");
    found = &tensor->second;
    holder = &part;
    where = path;
  }
  if (!found)
    return makeError(ErrorCode::WeightsMissing, "there is no tensor '", name,
                     "' in '", folder, "'", listOthers());
  return TensorReader{found->dtype, found->shape,
                      [file = &*holder->file, at = holder->data + found->begin](
                          uint64_t begin, uint64_t size, char *to) {
                        return file->read(at + begin, size, to);
                      }};
}

std::string SafetensorsFolder::listOthers() const {
  absl::btree_set<absl::string_view> names;
  for (const auto &[path, part] : files)
    for (const auto &[name, tensor] : part.tensors)
      names.insert(name);
  // With an index file, the tensors of files not opened yet are unknown.
  if (hasIndex || names.empty())
    return "";
  constexpr size_t most = 4;
  size_t shown = std::min(names.size(), most);
  return absl::StrCat(
      ", which has ",
      absl::StrJoin(names.begin(), std::next(names.begin(), shown), ", "),
      shown < names.size()
          ? absl::StrCat(" and ", names.size() - shown, " more")
          : "");
}

std::string tprt::writeSafetensors(
    const absl::btree_map<std::string, StoredTensor> &tensors) {
  constexpr const char *names[kNumDTypes] = {
#define TPRT_DTYPE(enumerator, number, bytes, mlir, safetensors, c) safetensors,
#include "runtime/Core/ArtifactEnums.def"
  };
  json header = json::object();
  std::string data;
  for (const auto &[name, tensor] : tensors) {
    size_t begin = data.size();
    data.append(tensor.data.data(), tensor.data.size());
    header[name] = {{"dtype", names[static_cast<uint32_t>(tensor.dtype)]},
                    {"shape", tensor.shape},
                    {"data_offsets", {begin, data.size()}}};
  }
  // A name that is not UTF-8 cannot be in JSON: its invalid bytes are replaced.
  std::string text =
      header.dump(-1, ' ', false, json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' '); // the format aligns the data
  uint64_t length = text.size();
  std::string bytes(reinterpret_cast<const char *>(&length), sizeof(length));
  return absl::StrCat(bytes, text, data);
}

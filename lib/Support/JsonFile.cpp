// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Finds the keys of a JSON text, then leaves the values to LLVM's parser.

#include "lib/Support/JsonFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace tp;

/// The end of the string literal that begins at `begin`: one past its quote.
static size_t skipString(StringRef text, size_t begin) {
  size_t i = begin + 1;
  while (i < text.size() && text[i] != '"' && text[i] != '\n')
    i += text[i] == '\\' ? 2 : 1;
  return std::min(i + 1, text.size());
}

/// The value of a string literal; the literal itself if it is malformed, since
/// the parser then reports an error.
static std::string unescape(StringRef literal) {
  Expected<json::Value> value = json::parse(literal);
  if (!value) {
    consumeError(value.takeError());
    return literal.str();
  }
  return value->getAsString().value_or(literal).str();
}

std::string JsonFile::getPlaceKey(unsigned parent, StringRef part) {
  return (Twine(parent) + ":" + part).str();
}

/// Records every key. The text may be malformed: only brackets, commas and
/// strings are scanned here, and the parser checks the rest.
JsonFile::Scan JsonFile::scan(StringRef text) {
  struct Level {
    unsigned number;
    bool isObject;
    bool expectsKey;
    unsigned index = 0;
  };
  std::vector<Level> levels;
  unsigned member = 0; // The number of the value that comes next.
  Scan result;
  unsigned line = 1;
  size_t lineBegin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    Position here{line, unsigned(i - lineBegin) + 1};
    Level *level = levels.empty() ? nullptr : &levels.back();
    auto addMember = [&](StringRef part) {
      auto [place, isNew] =
          places.try_emplace(getPlaceKey(level->number, part),
                             Place{here, unsigned(places.size()) + 1});
      member = place->second.number;
      return isNew;
    };
    switch (text[i]) {
    case '\n':
      ++line;
      lineBegin = i + 1;
      break;
    case '"': {
      size_t end = skipString(text, i);
      if (level && level->expectsKey) {
        std::string key = unescape(text.slice(i, end));
        level->expectsKey = false;
        if (!addMember(key) && !result.duplicate)
          result.duplicate =
              Error{here, "the key \"" + key + "\" is given twice"};
        if (levels.size() == 1)
          keys.push_back(key);
      }
      i = end - 1;
      break;
    }
    case '{':
    case '[':
      if (levels.size() == kMaxDepth) {
        result.depth = Error{here, "nested deeper than " +
                                       std::to_string(kMaxDepth) + " levels"};
        return result;
      }
      if (level && !level->isObject)
        addMember(std::to_string(level->index));
      levels.push_back({member, text[i] == '{', text[i] == '{'});
      break;
    case '}':
    case ']':
      if (level)
        levels.pop_back();
      break;
    case ',':
      if (level) {
        level->expectsKey = level->isObject;
        ++level->index;
      }
      break;
    default:
      break;
    }
  }
  return result;
}

/// Splits LLVM's message "[2:5, byte=7]: Expected .." into position and text.
static JsonFile::Error toError(llvm::Error error) {
  std::string text = toString(std::move(error));
  JsonFile::Error result;
  StringRef rest = text;
  unsigned line, column;
  if (rest.consume_front("[") && !rest.consumeInteger(10, line) &&
      rest.consume_front(":") && !rest.consumeInteger(10, column)) {
    result.position = {line, column + 1};
    rest = rest.split("]: ").second;
  } else {
    rest = text;
  }
  result.message = "not JSON: " + rest.str();
  return result;
}

std::variant<JsonFile, JsonFile::Error> JsonFile::parse(StringRef text) {
  // JSON has no control characters. A text that has some is another kind of
  // file, and its lines should not be printed to a terminal.
  if (llvm::any_of(text, [](char c) {
        return (uint8_t(c) < ' ' && !isSpace(c)) || c == '\x7f';
      }))
    return Error{
        {0, 0}, "not JSON: the file has control characters, so it is not text"};
  size_t bad;
  if (!json::isUTF8(text, &bad))
    return Error{{0, 0},
                 "not JSON: byte " + std::to_string(bad) + " is not UTF-8"};
  JsonFile file;
  Scan scanned = file.scan(text);
  if (scanned.depth)
    return *scanned.depth;
  Expected<json::Value> value = json::parse(text);
  if (!value)
    return toError(value.takeError());
  if (scanned.duplicate)
    return *scanned.duplicate;
  file.root = std::move(*value);
  return file;
}

std::variant<JsonFile, JsonFile::Error> JsonFile::read(StringRef path,
                                                       uint64_t maxBytes) {
  sys::fs::file_status status;
  if (std::error_code error = sys::fs::status(path, status))
    return Error{{}, "cannot be read: " + error.message(), error};
  // Give no line number: to print the line, the caller would open the file, and
  // would hang if the file is a pipe.
  if (!sys::fs::is_regular_file(status))
    return Error{{0, 0}, "is not a file"};
  if (status.getSize() > maxBytes)
    return Error{{},
                 "has " + std::to_string(status.getSize()) +
                     " bytes; at most " + std::to_string(maxBytes) +
                     " are supported"};
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return Error{{},
                 "cannot be read: " + buffer.getError().message(),
                 buffer.getError()};
  return parse((*buffer)->getBuffer());
}

JsonFile::Position JsonFile::find(ArrayRef<StringRef> path) const {
  Place place = {{}, 0};
  for (StringRef part : path) {
    auto found = places.find(getPlaceKey(place.number, part));
    if (found == places.end())
      break;
    place = found->second;
  }
  return place.position;
}

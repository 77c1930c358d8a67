// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Draws shardings.

#include "lib/Report/Picture.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace tp;

std::string tp::formatDevices(llvm::ArrayRef<int64_t> devices) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (size_t i = 0; i < devices.size();) {
    size_t last = i;
    while (last + 1 < devices.size() && devices[last + 1] == devices[last] + 1)
      ++last;
    os << (i == 0 ? "" : ",") << devices[i];
    if (last > i)
      os << '-' << devices[last];
    i = last + 1;
  }
  return text;
}

/// The range of elements in block `index`.
static std::string labelBlock(BlockLayout layout, int64_t index) {
  int64_t first = layout.begin(index), count = layout.valid(index);
  if (count == 0)
    return "none";
  std::string text = std::to_string(first);
  return count == 1 ? text : text + "-" + std::to_string(first + count - 1);
}

Picture tp::makePicture(const Mesh &mesh, const TensorSharding &sharding,
                        llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<unsigned> cut;
  for (auto [dim, entry] : llvm::enumerate(sharding.dims))
    if (getSize(entry.axes) > 1)
      cut.push_back(dim);

  // If only one dimension is sharded, it is drawn across if it is the tensor's
  // last dimension (the columns of a matrix), and down otherwise.
  std::optional<unsigned> rowDim, columnDim;
  if (cut.size() >= 2) {
    rowDim = cut[0];
    columnDim = cut[1];
  } else if (cut.size() == 1) {
    (cut[0] + 1 == shape.size() ? columnDim : rowDim) = cut[0];
  }

  Picture picture;
  auto label = [&](std::optional<unsigned> dim, const char *where,
                   std::vector<std::string> &labels) {
    if (!dim) {
      labels.emplace_back();
      return;
    }
    picture.caption += (picture.caption.empty() ? "dim " : ", dim ") +
                       std::to_string(*dim) + where;
    BlockLayout layout{shape[*dim], getSize(sharding.dims[*dim].axes)};
    for (int64_t i = 0; i < layout.k; ++i)
      labels.push_back(labelBlock(layout, i));
  };
  label(rowDim, " down", picture.rowLabels);
  label(columnDim, " across", picture.columnLabels);

  std::vector<llvm::SmallVector<int64_t>> devices(picture.rowLabels.size() *
                                                  picture.columnLabels.size());
  for (int64_t number = 0; number < mesh.getNumDevices(); ++number) {
    auto position = [&](std::optional<unsigned> dim) -> int64_t {
      return dim ? getPosition(mesh, sharding.dims[*dim].axes, number) : 0;
    };
    devices[position(rowDim) * picture.columnLabels.size() +
            position(columnDim)]
        .push_back(mesh.getDevice(number));
  }
  for (auto &list : devices) {
    llvm::sort(list);
    picture.boxes.push_back(formatDevices(list));
  }

  llvm::SmallVector<std::string> hidden;
  for (unsigned dim : llvm::drop_begin(cut, std::min<size_t>(cut.size(), 2)))
    hidden.push_back(std::to_string(dim));
  if (!hidden.empty())
    picture.notes.push_back("also cut, but not drawn: dim " +
                            llvm::join(hidden, ", dim ") +
                            "; the devices in a box hold different parts");
  if (!sharding.unreduced.empty()) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << "devices along ";
    printAxes(os, mesh, sharding.unreduced, /*quoted=*/false);
    os << " hold partial values, whose " << stringify(sharding.kind)
       << " is not computed yet";
    picture.notes.push_back(text);
  }
  return picture;
}

/// The indices of `count` entries to show in `room` places: all of them, or the
/// first and the last ones with a nullopt for the gap between them.
static llvm::SmallVector<std::optional<unsigned>> select(size_t count,
                                                         size_t room) {
  llvm::SmallVector<std::optional<unsigned>> shown;
  for (size_t i = 0; i < count; ++i) {
    if (count <= room || i < room / 2 || i + (room - 1) / 2 >= count)
      shown.push_back(i);
    else if (shown.back())
      shown.push_back(std::nullopt);
  }
  return shown;
}

void tp::printPicture(const Picture &picture, llvm::raw_ostream &os) {
  constexpr size_t kWidth = 80, kHeight = 16, kBox = 22, kFewest = 2;
  auto cutOff = [&](llvm::StringRef text) {
    return text.size() <= kBox ? text.str()
                               : (text.take_front(kBox - 2) + "..").str();
  };
  size_t box = 2, margin = 2;
  for (const auto *list : {&picture.columnLabels, &picture.boxes})
    for (const std::string &text : *list)
      box = std::max(box, cutOff(text).size());
  for (const std::string &text : picture.rowLabels)
    if (!text.empty())
      margin = std::max(margin, text.size() + 3);

  // A column takes a `|`, a blank, a box and a blank. A final `|` ends the row.
  size_t room = kWidth > margin + 1 ? (kWidth - margin - 1) / (box + 3) : 0;
  auto columns = select(picture.columnLabels.size(), std::max(room, kFewest));
  auto rows = select(picture.rowLabels.size(), kHeight);

  auto print = [&](const std::string &line) {
    os << llvm::StringRef(line).rtrim() << '\n';
  };
  std::string ruler(margin, ' '), head(margin, ' ');
  for (auto column : columns) {
    ruler += "+" + std::string(box + 2, '-');
    std::string label = column ? cutOff(picture.columnLabels[*column]) : "..";
    head += "  " + label + std::string(box + 1 - label.size(), ' ');
  }
  ruler += '+';

  if (!picture.caption.empty())
    print("  " + picture.caption);
  print(head);
  print(ruler);
  for (auto row : rows) {
    std::string line = "  " + (row ? picture.rowLabels[*row] : "..");
    line.resize(margin, ' ');
    for (auto column : columns) {
      std::string text =
          row && column ? cutOff(picture.getBox(*row, *column)) : "..";
      line += "| " + text + std::string(box + 1 - text.size(), ' ');
    }
    print(line + "|");
    print(ruler);
  }
  for (const std::string &note : picture.notes)
    os << "  (" << note << ")\n";
}

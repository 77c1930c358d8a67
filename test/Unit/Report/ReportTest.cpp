// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reports written from plain data.

#include "lib/Report/Report.h"

#include "llvm/Support/JSON.h"
#include "gtest/gtest.h"

using namespace tp;

namespace {

/// Names as long and as odd as users make them.
Report makeReport() {
  Report report;
  report.machine = "h200";
  MeshEntry mesh{"mesh", {{"data", 2}, {"model", 4}}, {}};
  report.meshes.push_back(mesh);
  FunctionReport function;
  function.name = "main";
  function.mesh = mesh;
  function.timed = true;
  function.compute = 10;
  function.communication = 25;
  for (int i = 0; i < 7; ++i) {
    CollectiveEntry entry;
    entry.kind = i % 2 ? "all_gather" : "all_reduce";
    entry.axes = {"data", "model:(1)2", std::string(40, 'a')};
    entry.op = i % 2 ? "none" : "sum";
    entry.groupSize = 4;
    entry.bytes = 1024 << i;
    entry.wireBytes = 1536 << i;
    entry.times = i;
    entry.microseconds = i;
    entry.value = "<b>&\"" + std::string(200, 'v') + "\xff";
    entry.reason = std::string(150, 'r') + " because " + std::string(30, 's');
    entry.loc = "model.mlir:1:2";
    function.collectives.push_back(entry);
  }
  TensorEntry tensor;
  tensor.name = "x";
  tensor.role = "input";
  tensor.global = "f32[8]";
  tensor.local = "f32[4]";
  tensor.sharding = "[{\"data\"}]";
  tensor.picture.rowLabels = {""};
  tensor.picture.columnLabels = {"0-3", "4-7"};
  tensor.picture.boxes = {"0-3", "4-7"};
  function.inputs.push_back(tensor);
  function.layers.push_back({"layers.0", 25, 10, {}});
  function.memory.parameters = 3 << 20;
  function.memory.activations = 1 << 20;
  function.memory.capacity = 2 << 20;
  function.memory.padding = 1 << 10;
  function.memory.peakOp = std::string(300, 'p');
  report.functions.push_back(function);
  return report;
}

std::string write(void (*writer)(const Report &, llvm::raw_ostream &),
                  const Report &report) {
  std::string text;
  llvm::raw_string_ostream os(text);
  writer(report, os);
  return text;
}

TEST(ReportTest, FormatsBytesAndTimes) {
  EXPECT_EQ(formatBytes(0), "0 B");
  EXPECT_EQ(formatBytes(1023), "1023 B");
  EXPECT_EQ(formatBytes(1024), "1.0 KiB");
  EXPECT_EQ(formatBytes(1024 * 1024 - 1), "1.0 MiB");
  EXPECT_EQ(formatBytes(int64_t(3) << 40), "3.0 TiB");
  EXPECT_EQ(formatTime(0), "0.0 us");
  EXPECT_EQ(formatTime(31.46), "31.5 us");
  EXPECT_EQ(formatTime(999.96), "1.00 ms");
  EXPECT_EQ(formatTime(2500), "2.50 ms");
  EXPECT_EQ(formatTime(1e6), "1.00 s");
  EXPECT_EQ(formatAxes({"data", "model:(1)2"}), "{data, model:(1)2}");
}

TEST(ReportTest, MemoryFitsWhereNothingIsKnown) {
  MemoryEntry memory;
  memory.parameters = 100;
  EXPECT_TRUE(memory.fits());
  memory.capacity = 100;
  EXPECT_TRUE(memory.fits());
  memory.activations = 1;
  EXPECT_FALSE(memory.fits());
}

TEST(ReportTest, JSONIsReadBack) {
  auto json = llvm::json::parse(write(writeJSON, makeReport()));
  ASSERT_TRUE(bool(json)) << llvm::toString(json.takeError());
  const llvm::json::Object &function =
      *json->getAsObject()->getArray("functions")->front().getAsObject();
  EXPECT_EQ(function.getArray("collectives")->size(), 7u);
  EXPECT_EQ(function.getNumber("comm_compute_ratio"), 2.5);
  const llvm::json::Object &memory = *function.getObject("memory");
  EXPECT_EQ(memory.getInteger("parameters"), 3 << 20);
  EXPECT_EQ(memory.getBoolean("fits"), false);
  EXPECT_EQ(function.getInteger("peak_bytes_per_device"), 4 << 20);
  // Bytes that are no text become a mark.
  llvm::StringRef name =
      *(*function.getArray("collectives"))[0].getAsObject()->getString("value");
  EXPECT_TRUE(name.starts_with("<b>&\"v"));
  EXPECT_TRUE(name.ends_with("\xef\xbf\xbd"));
}

TEST(ReportTest, TheTableFitsItsWidth) {
  std::string text = write(writeTable, makeReport());
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(text).split(lines, '\n');
  for (llvm::StringRef line : lines)
    EXPECT_LE(line.size(), 100u) << line.str();
  // 0 + 2 + 4 + 6 and 1 + 3 + 5 launches.
  EXPECT_NE(text.find("@main: 12 all_reduce, 9 all_gather; "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("DOES NOT FIT: 200.0 % of 2.0 MiB"), std::string::npos);
  EXPECT_NE(text.find("ratio 2.50, the links are the bottleneck"),
            std::string::npos);
}

TEST(ReportTest, TimesAreADashWhereTheyAreUnknown) {
  Report report = makeReport();
  report.machine.clear();
  report.functions[0].timed = false;
  std::string text = write(writeTable, report);
  EXPECT_EQ(text.find(" us"), std::string::npos);
  EXPECT_EQ(text.find("ratio"), std::string::npos);
  std::string json = write(writeJSON, report);
  EXPECT_NE(json.find("\"machine\": null"), std::string::npos);
  EXPECT_NE(json.find("\"timed\": false"), std::string::npos);
}

TEST(ReportTest, TheHTMLPageFetchesNothingAndEscapesEverything) {
  std::string text = write(writeHTML, makeReport());
  for (const char *word : {"http:", "https:", "src=", "@import", "url(", "<b>"})
    EXPECT_EQ(text.find(word), std::string::npos) << word;
  EXPECT_NE(text.find("&lt;b&gt;&amp;&quot;v"), std::string::npos);
}

TEST(ReportTest, AnEmptyReport) {
  EXPECT_EQ(write(writeTable, {}), "");
  EXPECT_TRUE(bool(llvm::json::parse(write(writeJSON, {}))));
}

} // namespace

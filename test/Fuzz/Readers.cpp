// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What reads files that others wrote.

#include "Readers.h"

#include "Author.h"
#include "Check.h"

#include "tpopt/Codegen/Artifact.h"
#include "tpopt/Codegen/ObjectCode.h"
#include "tpopt/Cost/Machine.h"
#include "tpopt/Import/Import.h"
#include "tpopt/InitAll.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "runtime/Core/Artifact.h"
#include "runtime/Core/Hash.h"
#include "runtime/Core/Safetensors.h"

using namespace mlir;
using namespace tp;
using namespace tp::fuzz;

namespace {

void writeFile(const std::string &path, StringRef bytes) {
  std::error_code error;
  llvm::raw_fd_ostream(path, error) << bytes;
}

/// A context that keeps its errors to itself.
class QuietContext {
public:
  QuietContext()
      : context(makeContext()),
        handler(context.get(), [](Diagnostic &) { return success(); }) {}
  MLIRContext *get() { return context.get(); }

private:
  std::unique_ptr<MLIRContext> context;
  ScopedDiagnosticHandler handler;
};

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

std::vector<std::string> makeSafetensors() {
  std::string data(64, '\3');
  absl::btree_map<std::string, tprt::StoredTensor> tensors;
  tensors["embed.weight"] = {tprt::DType::F32, {4, 4}, data};
  tensors["bias"] = {
      tprt::DType::BF16, {3}, absl::string_view(data).substr(6, 6)};
  tensors["scalar"] = {
      tprt::DType::I64, {}, absl::string_view(data).substr(0, 8)};
  return {tprt::writeSafetensors(tensors)};
}

bool readSafetensors(StringRef bytes, const std::string &folder) {
  writeFile(folder + "/model.safetensors", bytes);
  auto file = tprt::SafetensorsFolder::open(folder + "/model.safetensors");
  if (!file.ok())
    return false;
  bool found = false;
  for (const char *name : {"embed.weight", "bias", "scalar", "nothing"}) {
    auto tensor = (*file)->find(name);
    // Every byte that is promised is there.
    volatile unsigned char sum = 0;
    if (tensor.ok())
      for (char byte : tensor->data)
        sum = sum + byte;
    found |= tensor.ok();
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Models, plans, machines
//===----------------------------------------------------------------------===//

std::vector<std::string> makeConfigs() {
  return {R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
 "attention_bias": false, "hidden_act": "silu", "hidden_size": 36,
 "intermediate_size": 48, "max_position_embeddings": 128, "mlp_bias": false,
 "num_attention_heads": 9, "num_hidden_layers": 2, "num_key_value_heads": 3,
 "rms_norm_eps": 1e-05, "rope_theta": 100000, "rope_scaling": {"factor": 32.0,
 "high_freq_factor": 4.0, "low_freq_factor": 1.0, "rope_type": "llama3",
 "original_max_position_embeddings": 64}, "tie_word_embeddings": true,
 "torch_dtype": "bfloat16", "vocab_size": 64, "head_dim": 4})",
          R"({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2",
 "activation_function": "gelu_new", "layer_norm_epsilon": 1e-05, "n_ctx": 64,
 "n_embd": 24, "n_head": 3, "n_layer": 2, "n_positions": 64,
 "vocab_size": 50})",
          R"({"architectures": ["BertModel"], "model_type": "bert",
 "hidden_act": "gelu", "hidden_size": 24, "intermediate_size": 48,
 "layer_norm_eps": 1e-12, "max_position_embeddings": 64,
 "num_attention_heads": 3, "num_hidden_layers": 1, "type_vocab_size": 2,
 "vocab_size": 50})"};
}

bool readConfig(StringRef bytes, const std::string &folder) {
  writeFile(folder + "/config.json", bytes);
  QuietContext context;
  ImportOptions options;
  options.sequence = 4;
  return bool(importModel("hf:" + folder, options, context.get()));
}

std::vector<std::string> makePlans() {
  return {R"({"layers.*.q.weight": "colwise", "x": [["data"], []],
 "layers.0.o.weight": "rowwise", "*": "replicate"})",
          R"({"x": [["data", "model"], []], "layers.*": [[], ["model"]]})"};
}

bool readPlan(StringRef bytes, const std::string &folder) {
  writeFile(folder + "/plan.json", bytes);
  QuietContext context;
  auto module = parseSourceString<ModuleOp>(R"(
    spmd.mesh @mesh <["data"=2, "model"=4]>
    func.func @main(%x: tensor<8x6xf32> {tp.name = "x"},
        %q: tensor<6x8xf32> {tp.name = "layers.0.q.weight"},
        %o: tensor<8x6xf32> {tp.name = "layers.0.o.weight"}) -> tensor<8x6xf32> {
      %0 = tp.einsum "ab,bc->ac" %x, %q : (tensor<8x6xf32>, tensor<6x8xf32>) -> tensor<8x8xf32>
      %1 = tp.einsum "ab,bc->ac" %0, %o : (tensor<8x8xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
      return %1 : tensor<8x6xf32>
    })",
                                            context.get());
  PassManager manager(context.get());
  ShardOptions options;
  options.plan = folder + "/plan.json";
  buildShardPipeline(manager, options);
  return succeeded(manager.run(*module));
}

std::vector<std::string> makeMachines() {
  return {R"({"name": "a100", "flops": 250e12, "memory_bandwidth": 1.8e12,
 "memory_bytes": 80e9, "link": {"us": 2.0, "gbps": 370.0}})"};
}

bool readMachine(StringRef bytes, const std::string &) {
  llvm::Expected<Machine> machine = parseMachine(bytes, "machine.json");
  if (machine)
    return true;
  llvm::consumeError(machine.takeError());
  return false;
}

//===----------------------------------------------------------------------===//
// Programs and artifacts
//===----------------------------------------------------------------------===//

std::vector<std::string> makeArtifacts() {
  QuietContext context;
  DialectRegistry registry;
  registerKernelDialects(registry);
  MLIRContext &plain = *context.get();
  plain.appendDialectRegistry(registry);
  plain.loadAllAvailableDialects();
  auto module = parseSourceString<ModuleOp>(R"(
    spmd.mesh @mesh <["x"=2]>
    func.func @main(%x: tensor<5x6xf32> {tp.name = "x"},
        %w: tensor<6x4xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>})
        -> tensor<5x4xf32> {
      %0 = tp.einsum "ab,bc->ac" %x, %w : (tensor<5x6xf32>, tensor<6x4xf32>) -> tensor<5x4xf32>
      %1 = tp.softmax %0 dim = 1 : tensor<5x4xf32>
      return %1 : tensor<5x4xf32>
    })",
                                            &plain);
  PassManager manager(&plain);
  buildCompilePipeline(manager, CompileOptions());
  if (failed(manager.run(*module)))
    return {};
  FailureOr<std::string> bytes = buildCPUArtifact(*module);
  return failed(bytes) ? std::vector<std::string>()
                       : std::vector<std::string>{*bytes};
}

/// Makes checksums right, as somebody would who means harm, so that what lies
/// behind them is reached.
std::string mendChecksums(StringRef bytes) {
  std::string file = bytes.str();
  auto *header = reinterpret_cast<tprt::FileHeader *>(file.data());
  if (file.size() < sizeof(*header) ||
      header->sectionCount >
          (file.size() - sizeof(*header)) / sizeof(tprt::SectionRow))
    return file;
  absl::string_view table(file.data() + sizeof(*header),
                          header->sectionCount * sizeof(tprt::SectionRow));
  auto *rows = reinterpret_cast<tprt::SectionRow *>(header + 1);
  for (uint32_t i = 0; i < header->sectionCount; ++i)
    if (rows[i].offset <= file.size() &&
        rows[i].size <= file.size() - rows[i].offset)
      rows[i].checksum = tprt::hashBytes(
          absl::string_view(file.data() + rows[i].offset, rows[i].size));
  header->checksum = tprt::hashBytes(table);
  return file;
}

bool readArtifact(StringRef bytes, const std::string &) {
  bool accepted = false;
  for (const std::string &file : {bytes.str(), mendChecksums(bytes)}) {
    auto artifact = tprt::Artifact::fromBytes(file);
    if (!artifact.ok())
      continue;
    accepted = true;
    // What tp-run asks of one before it runs.
    for (const tprt::InputRow &input : (*artifact)->rows<tprt::InputRow>())
      (void)(*artifact)->getLocalBytes(input);
    for (const tprt::OutputRow &output : (*artifact)->rows<tprt::OutputRow>())
      (void)(*artifact)->getLocalBytes(output);
    for (const auto &group : (*artifact)->rows<tprt::CommunicatorRow>())
      (void)(*artifact)->getGroup(group, /*rank=*/0);
    (void)(*artifact)->findEntry("main");
  }
  return accepted;
}

std::vector<std::string> makePrograms() {
  std::vector<std::string> programs;
  QuietContext context;
  for (uint64_t seed = 1; seed <= 40; ++seed)
    programs.push_back(print(*writeProgram(*context.get(), seed)));
  return programs;
}

/// A program that the verifier accepts must come through all stages, or be
/// refused by one.
bool readProgram(StringRef bytes, const std::string &) {
  QuietContext context;
  auto module = parseSourceString<ModuleOp>(bytes, context.get());
  if (!module)
    return false;
  PassManager manager(context.get());
  buildShardPipeline(manager, ShardOptions());
  (void)manager.run(*module);
  return true;
}

} // namespace

const std::vector<Reader> &tp::fuzz::getReaders() {
  static const std::vector<Reader> readers = {
      {"safetensors", makeSafetensors, readSafetensors},
      {"config", makeConfigs, readConfig},
      {"plan", makePlans, readPlan},
      {"machine", makeMachines, readMachine},
      {"artifact", makeArtifacts, readArtifact},
      {"program", makePrograms, readProgram},
  };
  return readers;
}

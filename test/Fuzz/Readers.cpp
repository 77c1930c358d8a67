// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What reads files that others wrote.

#include "Readers.h"

#include "ArtifactFiles.h"
#include "Author.h"
#include "Check.h"

#include "lib/Cost/Machine.h"
#include "lib/Import/ReadProgram.h"
#include "tpopt/Dialect/Sdy/Sdy.h"
#include "tpopt/Dialect/StableHLO/StableHLO.h"
#include "tpopt/Import/Import.h"
#include "tpopt/InitAll.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"

#include "runtime/Core/Safetensors.h"

using namespace mlir;
using namespace tp;
using namespace tp::cost;
using namespace tp::fuzz;

namespace {

void writeFile(const std::string &path, StringRef bytes) {
  std::error_code error;
  llvm::raw_fd_ostream(path, error) << bytes;
}

/// A context that keeps its errors to itself.
class QuietContext {
public:
  explicit QuietContext(
      llvm::function_ref<void(DialectRegistry &)> registerMore = nullptr)
      : context(makeContext()),
        handler(context.get(), [](Diagnostic &) { return success(); }) {
    DialectRegistry registry;
    if (registerMore)
      registerMore(registry);
    context->appendDialectRegistry(registry);
  }
  MLIRContext *get() { return context.get(); }

private:
  std::unique_ptr<MLIRContext> context;
  ScopedDiagnosticHandler handler;
};

/// One for all files that a process reads: making one takes longer than reading
/// a file.
MLIRContext *getContext() {
  static QuietContext context;
  return context.get();
}

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
    if (!tensor.ok())
      continue;
    absl::StatusOr<std::string> bytes = tensor->readAll();
    for (char byte : bytes.value_or(""))
      sum = sum + byte;
    found = true;
  }
  return found;
}

std::vector<std::string> makeIndices() {
  return {R"({"metadata": {"total_size": 78}, "weight_map": {
 "embed.weight": "one.safetensors", "bias": "one.safetensors",
 "scalar": "one.safetensors", "far": "two.safetensors"}})"};
}

/// Read by the runtime.
bool readIndex(StringRef bytes, const std::string &folder) {
  writeFile(folder + "/one.safetensors", makeSafetensors().front());
  writeFile(folder + "/model.safetensors.index.json", bytes);
  auto files = tprt::SafetensorsFolder::open(folder);
  if (!files.ok())
    return false;
  for (const char *name : {"embed.weight", "bias", "scalar", "far", "nothing"})
    (void)(*files)->find(name);
  return true;
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

/// For each phase: a program to generate with has two entries.
bool readConfig(StringRef bytes, const std::string &folder) {
  writeFile(folder + "/config.json", bytes);
  ImportOptions options;
  options.sequence = 4;
  bool isFine = bool(importModel("hf:" + folder, options, getContext()));
  options.phase = ImportOptions::Phase::Generate;
  options.cache = 8;
  (void)importModel("hf:" + folder, options, getContext());
  return isFine;
}

constexpr const char *kTinyConfig =
    R"({"architectures": ["GPT2LMHeadModel"], "n_embd": 4, "n_head": 2,
 "n_layer": 1, "n_positions": 8, "vocab_size": 10, "layer_norm_epsilon": 1e-5,
 "activation_function": "gelu_new"})";

/// All weights of kTinyConfig.
std::vector<std::string> makeCheckpoints() {
  const std::pair<const char *, std::vector<int64_t>> shapes[] = {
      {"wte.weight", {10, 4}},
      {"wpe.weight", {8, 4}},
      {"ln_f.weight", {4}},
      {"ln_f.bias", {4}},
      {"h.0.ln_1.weight", {4}},
      {"h.0.ln_1.bias", {4}},
      {"h.0.ln_2.weight", {4}},
      {"h.0.ln_2.bias", {4}},
      {"h.0.attn.c_attn.weight", {4, 12}},
      {"h.0.attn.c_attn.bias", {12}},
      {"h.0.attn.c_proj.weight", {4, 4}},
      {"h.0.attn.c_proj.bias", {4}},
      {"h.0.mlp.c_fc.weight", {4, 16}},
      {"h.0.mlp.c_fc.bias", {16}},
      {"h.0.mlp.c_proj.weight", {16, 4}},
      {"h.0.mlp.c_proj.bias", {4}}};
  std::string zeros(1024, '\0');
  absl::btree_map<std::string, tprt::StoredTensor> tensors;
  for (const auto &[name, shape] : shapes) {
    int64_t bytes = 4;
    for (int64_t size : shape)
      bytes *= size;
    tensors[name] = {tprt::DType::F32, shape,
                     absl::string_view(zeros).substr(0, bytes)};
  }
  return {tprt::writeSafetensors(tensors)};
}

/// Read by the compiler.
bool readCheckpoint(StringRef bytes, const std::string &folder) {
  writeFile(folder + "/model.safetensors", bytes);
  return readConfig(kTinyConfig, folder);
}

bool readCheckpointIndex(StringRef bytes, const std::string &folder) {
  writeFile(folder + "/one.safetensors", makeCheckpoints().front());
  writeFile(folder + "/model.safetensors.index.json", bytes);
  return readConfig(kTinyConfig, folder);
}

std::vector<std::string> makeCheckpointIndices() {
  return {R"({"metadata": {}, "weight_map": {"wte.weight": "one.safetensors",
 "wpe.weight": "one.safetensors", "ln_f.bias": "one.safetensors"}})"};
}

std::vector<std::string> makePlans() {
  return {R"({"layers.*.q.weight": "colwise", "x": [["data"], []],
 "layers.0.o.weight": "rowwise", "*": "replicate"})",
          R"({"x": [["data", "model"], []], "layers.*": [[], ["model"]]})",
          R"({"base_model_tp_plan": {"layers.*.q": "colwise_gather_output",
 "layers.*": "moe_tp_experts"}, "tp_plan": {"layers.*.k": "packed_rowwise"}})"};
}

bool readPlan(StringRef bytes, const std::string &folder) {
  writeFile(folder + "/plan.json", bytes);
  auto module = parseSourceString<ModuleOp>(R"(
    spmd.mesh @mesh <["data"=2, "model"=4]>
    func.func @main(%x: tensor<8x6xf32> {tp.name = "x"},
        %q: tensor<6x8xf32> {tp.name = "layers.0.q.weight"},
        %o: tensor<8x6xf32> {tp.name = "layers.0.o.weight"}) -> tensor<8x6xf32> {
      %0 = tp.einsum "ab,bc->ac" %x, %q : (tensor<8x6xf32>, tensor<6x8xf32>) -> tensor<8x8xf32>
      %1 = tp.einsum "ab,bc->ac" %0, %o : (tensor<8x8xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
      return %1 : tensor<8x6xf32>
    })",
                                            getContext());
  PassManager manager(getContext());
  ShardOptions options;
  options.plan = folder + "/plan.json";
  buildShardPipeline(manager, options);
  return succeeded(manager.run(*module));
}

std::vector<std::string> makeMachines() {
  return {R"({"name": "a100", "flops": 250e12, "memory_bandwidth": 1.8e12,
 "memory_bytes": 80e9, "link": {"us": 2.0, "gbps": 370.0},
 "host": {"devices": 8, "link": {"us": 20.0, "gbps": 45.0}}})"};
}

bool readMachine(StringRef bytes, const std::string &) {
  llvm::Expected<Machine> machine = parseMachine(bytes, "machine.json");
  if (machine)
    return true;
  llvm::consumeError(machine.takeError());
  return false;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

std::vector<std::string> makePrograms() {
  std::vector<std::string> programs;
  for (uint64_t seed = 1; seed <= 40; ++seed)
    programs.push_back(print(*writeProgram(*getContext(), seed)));
  // And one to generate with.
  std::string folder = makeFolder();
  writeFile(folder + "/config.json", kTinyConfig);
  ImportOptions options;
  options.phase = ImportOptions::Phase::Generate;
  options.cache = 8;
  if (auto module = importModel("hf:" + folder, options, getContext()))
    programs.push_back(print(*module));
  llvm::sys::fs::remove_directories(folder);
  return programs;
}

/// A program that the verifier accepts must come through all stages, or be
/// refused by one.
bool readProgramText(StringRef bytes, const std::string &) {
  OwningOpRef<ModuleOp> module = parseProgram(bytes, "fuzzed", getContext());
  if (!module)
    return false;
  PassManager manager(getContext());
  buildShardPipeline(manager, ShardOptions());
  (void)manager.run(*module);
  return true;
}

//===----------------------------------------------------------------------===//
// StableHLO
//===----------------------------------------------------------------------===//

std::vector<std::string> makeStableHLO() {
  return {R"(
sdy.mesh @mesh = <["data"=2, "model"=4]>
func.func public @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {?}]>} loc("x"),
    %arg1: tensor<16x32xbf16> {tf.aliasing_output = 0 : i32}) -> (tensor<8x32xf32> {jax.result_info = "out['y']"}) {
  %0 = stablehlo.convert %arg1 : (tensor<16x32xbf16>) -> tensor<16x32xf32>
  %1 = stablehlo.dot_general %arg0, %0, contracting_dims = [1] x [0], precision = [DEFAULT, HIGH] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %2 = sdy.sharding_constraint %1 <@mesh, [{"data"}, {"model":(1)2, ?}p1]> : tensor<8x32xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.add across dimensions = [1] : (tensor<8x32xf32>, tensor<f32>) -> tensor<8xf32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<8xf32>) -> tensor<8x32xf32>
  %5 = stablehlo.compare LT, %1, %4, FLOAT : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xi1>
  %6 = stablehlo.select %5, %1, %4 : tensor<8x32xi1>, tensor<8x32xf32>
  %7 = stablehlo.pad %6, %c, low = [0, -1], high = [1, 2], interior = [0, 1] : (tensor<8x32xf32>, tensor<f32>) -> tensor<9x64xf32>
  %8 = stablehlo.slice %7 [0:8, 0:64:2] : (tensor<9x64xf32>) -> tensor<8x32xf32>
  return %8 : tensor<8x32xf32>
})",
          R"(
module attributes {mhlo.num_partitions = 8 : i32} {
func.func @main(%x: tensor<4x8xf32> {mhlo.sharding = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"}, %i: tensor<4x1xi32>) -> (tensor<4x8xf32>, tensor<4xi32>) {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<4x1xi32>) -> tensor<4x8xf32>
  %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{devices=[2,4]<=[4,2]T(1,0)}", backend_config = "unspecified_dims=[1]"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = "stablehlo.scatter"(%x, %i, %1) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<4x1xi32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %n = stablehlo.iota dim = 1 : tensor<4x8xi32>
  %3:2 = "stablehlo.sort"(%2, %n) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %s = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)
  %z = stablehlo.constant dense<0> : tensor<i32>
  %4 = stablehlo.reduce(%3#1 init: %z) across dimensions = [1] : (tensor<4x8xi32>, tensor<i32>) -> tensor<4xi32>
   reducer(%a: tensor<i32>, %b: tensor<i32>)  {
    %s = stablehlo.xor %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }
  return %3#0, %4 : tensor<4x8xf32>, tensor<4xi32>
}})",
          R"(
func.func @main(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x5xf32>) -> (tensor<1x4x4x5xf32>, tensor<1x8x8x3xf32>) {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [0, 1]], rhs_dilate = [1, 1], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<3x3x3x5xf32>) -> tensor<1x4x4x5xf32>
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %1 = "stablehlo.reduce_window"(%x, %c) <{padding = dense<[[0, 0], [1, 1], [2, 0], [0, 0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 3, 3, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<1x8x8x3xf32>, tensor<f32>) -> tensor<1x8x8x3xf32>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %2:2 = stablehlo.while(%it = %i, %acc = %1) : tensor<i32>, tensor<1x8x8x3xf32> cond {
    %p = stablehlo.compare LT, %it, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %next = stablehlo.add %it, %one : tensor<i32>
    %q = func.call @f(%acc) : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
    %r = "stablehlo.case"(%it) ({
      stablehlo.return %q : tensor<1x8x8x3xf32>
    }, {
      %t = stablehlo.tanh %q : tensor<1x8x8x3xf32>
      stablehlo.return %t : tensor<1x8x8x3xf32>
    }) : (tensor<i32>) -> tensor<1x8x8x3xf32>
    stablehlo.return %next, %r : tensor<i32>, tensor<1x8x8x3xf32>
  }
  return %0, %2#1 : tensor<1x4x4x5xf32>, tensor<1x8x8x3xf32>
}
func.func private @f(%x: tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32> {
  %0 = stablehlo.composite "chlo.erf" %x {decomposition = @g, version = 1 : i32} : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
  return %0 : tensor<1x8x8x3xf32>
}
func.func private @g(%x: tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32> {
  %0 = chlo.erf %x : tensor<1x8x8x3xf32> -> tensor<1x8x8x3xf32>
  return %0 : tensor<1x8x8x3xf32>
})",
          R"(
sdy.mesh @mesh = <["model"=4]>
sdy.mesh @alone = <[], device_ids=[2]>
func.func @main(%x: tensor<2x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}) -> (tensor<2x8xf32>, tensor<2x2xf32>) {
  %0 = stablehlo.reshape %x : (tensor<2x8xf32>) -> tensor<2x4x2xf32>
  %1 = stablehlo.slice %0 [0:2, 0:4, 0:1] : (tensor<2x4x2xf32>) -> tensor<2x4x1xf32>
  %2 = stablehlo.complex %1, %1 {sdy.sharding = #sdy.sharding_per_value<[<@alone, []>]>} : tensor<2x4x1xcomplex<f32>>
  %c = stablehlo.constant dense<[(0.0, 1.0), (1.0, 0.5), (2.0, -1.0), (3.0, 2.0)]> : tensor<4xcomplex<f32>>
  %3 = stablehlo.exponential %c : tensor<4xcomplex<f32>>
  %4 = stablehlo.broadcast_in_dim %3, dims = [1] : (tensor<4xcomplex<f32>>) -> tensor<2x4x1xcomplex<f32>>
  %5 = stablehlo.multiply %2, %4 : tensor<2x4x1xcomplex<f32>>
  %6 = stablehlo.real %5 : (tensor<2x4x1xcomplex<f32>>) -> tensor<2x4x1xf32>
  %7 = stablehlo.imag %5 : (tensor<2x4x1xcomplex<f32>>) -> tensor<2x4x1xf32>
  %8 = stablehlo.concatenate %6, %7, dim = 2 : (tensor<2x4x1xf32>, tensor<2x4x1xf32>) -> tensor<2x4x2xf32>
  %9 = stablehlo.reshape %8 : (tensor<2x4x2xf32>) -> tensor<2x8xf32>
  %10 = stablehlo.convert %1 : (tensor<2x4x1xf32>) -> tensor<2x4x1xcomplex<f32>>
  %11 = stablehlo.subtract %10, %5 : tensor<2x4x1xcomplex<f32>>
  %12 = stablehlo.dot_general %11, %4, contracting_dims = [1, 2] x [1, 2] : (tensor<2x4x1xcomplex<f32>>, tensor<2x4x1xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
  %13 = stablehlo.imag %12 : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
  return %9, %13 : tensor<2x8xf32>, tensor<2x2xf32>
})",
          R"(
sdy.mesh @mesh = <["data"=2, "model"=4], device_ids=[0, 1, 2, 3, 4, 5, 7, 6]>
func.func @main(%arg0: tensor<8x16xf32>) -> tensor<8x4xf32> {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"data"}, {"model"}]>] out_shardings=[<@mesh, [{"data"}, {}]>] manual_axes={"data", "model"} (%arg1: tensor<4x4xf32>) {
    %1 = "stablehlo.all_reduce"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 7, 6]]> : tensor<2x4xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "stablehlo.collective_permute"(%1) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0], [4, 5], [5, 7], [7, 6], [6, 4]]> : tensor<8x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    sdy.return %2 : tensor<4x4xf32>
  } : (tensor<8x16xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
})",
          R"(
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 2 : i32, mhlo.spmd_output_sharding = "{devices=[2,4]<=[2,2,2]T(1,0,2) last_tile_dim_replicate}", mhlo.spmd_parameters_shardings = ["{devices=[4,1,2]<=[8] last_tile_dim_replicate}"]} {
  sdy.mesh @groups = <["axis_0"=2, "axis_1"=4]>
  func.func @main(%x: tensor<2x4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @groups, axes = [#stablehlo.axis_ref<name = "axis_1", sub_axis_info = (1)2>]>, use_global_device_ids}> : (tensor<2x4xf32>) -> tensor<4x4xf32>
    %1 = "stablehlo.all_to_all"(%0) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = "[1,2]<=[2]"}> : (tensor<4x4xf32>) -> tensor<8x2xf32>
    %2 = "stablehlo.collective_permute"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>, source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> : (tensor<8x2xf32>) -> tensor<8x2xf32>
    %3 = call @sum(%2) : (tensor<8x2xf32>) -> tensor<4x2xf32>
    %4 = stablehlo.partition_id : tensor<ui32>
    %5 = stablehlo.convert %4 : (tensor<ui32>) -> tensor<f32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %7 = stablehlo.slice %3 [0:4, 0:1] : (tensor<4x2xf32>) -> tensor<4x1xf32>
    %8 = stablehlo.reshape %7 : (tensor<4x1xf32>) -> tensor<4xf32>
    %9 = stablehlo.add %6, %8 : tensor<4xf32>
    return %9 : tensor<4xf32>
  }
  func.func private @sum(%x: tensor<8x2xf32>) -> tensor<4x2xf32> {
    %0 = "stablehlo.reduce_scatter"(%x) <{scatter_dimension = 0 : i64, replica_groups = "{{0,1}}"}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<8x2xf32>) -> tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
})"};
}

/// Whatever can be read must be imported, or be refused.
bool readStableHLO(StringRef bytes, const std::string &) {
  static QuietContext context([](DialectRegistry &registry) {
    stablehlo::registerReaders(registry);
    sdy::registerReader(registry);
  });
  OwningOpRef<ModuleOp> module = parseProgram(bytes, "fuzzed", context.get());
  if (!module)
    return false;
  PassManager manager(context.get());
  ShardOptions options;
  options.stopAfter = Stage::Import;
  buildShardPipeline(manager, options);
  return succeeded(manager.run(*module));
}

} // namespace

std::string tp::fuzz::makeFolder() {
  llvm::SmallString<128> path;
  llvm::sys::fs::createUniqueDirectory("tp-fuzz", path);
  return path.str().str();
}

const std::vector<Reader> &tp::fuzz::getReaders() {
  static const std::vector<Reader> readers = {
      {"safetensors", makeSafetensors, readSafetensors},
      {"index", makeIndices, readIndex},
      {"checkpoint", makeCheckpoints, readCheckpoint},
      {"checkpoint-index", makeCheckpointIndices, readCheckpointIndex},
      {"config", makeConfigs, readConfig},
      {"plan", makePlans, readPlan},
      {"machine", makeMachines, readMachine},
      {"artifact", makeArtifacts, readArtifact, damageArtifact},
      {"program", makePrograms, readProgramText},
      {"stablehlo", makeStableHLO, readStableHLO},
  };
  return readers;
}

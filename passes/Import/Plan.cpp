// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reads plans and matches names against them.

#include "Plan.h"

#include "lib/Support/JsonFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tp;
namespace json = llvm::json;

using Action = PlanWord::Action;

static constexpr uint64_t kMaxBytes = 1 << 20;

/// The words of transformers 5 (distributed/tensor_parallel.py and
/// expert_parallel.py). In transformers, words also differ in their effect on
/// activations. In tp-opt, the shardings of activations follow from
/// propagation, so `colwise_gather_output` and `colwise`, for example, mean the
/// same.
static std::optional<PlanWord> parseWord(StringRef word) {
  return llvm::StringSwitch<std::optional<PlanWord>>(word)
      .Cases({"colwise", "colwise_rep", "colwise_gather_output"},
             PlanWord{Action::Colwise})
      .Cases({"rowwise", "rowwise_rep", "rowwise_split_input"},
             PlanWord{Action::Rowwise})
      .Case("embedding_colwise",
            PlanWord{Action::Colwise, /*isPacked=*/false, /*isEmbedding=*/true})
      .Case("embedding_rowwise",
            PlanWord{Action::Rowwise, /*isPacked=*/false, /*isEmbedding=*/true})
      .Case("packed_colwise", PlanWord{Action::Colwise, /*isPacked=*/true})
      .Case("packed_rowwise", PlanWord{Action::Rowwise, /*isPacked=*/true})
      // In transformers, `replicated_with_grad_allreduce` and `mla_kv_a_proj`
      // also sum gradients. In tp-opt, differentiation already does this.
      .Cases({"replicate", "replicated_with_grad_allreduce", "mla_kv_a_proj"},
             PlanWord{Action::Replicate})
      .Case("grouped_gemm", PlanWord{Action::Experts})
      .Cases({"all_reduce", "moe_tp_experts", "moe_identity_expert",
              "ep_dispatch_experts", "local_params"},
             PlanWord{Action::Activations})
      .Default(std::nullopt);
}

/// Returns true for the keys under which a plan file holds plans in the format
/// of transformers.
static bool isShippedKey(StringRef key) {
  return llvm::is_contained({"base_model_tp_plan", "_tp_plan", "tp_plan",
                             "base_model_ep_plan", "_ep_plan", "ep_plan"},
                            key);
}

/// Reads `model` or `model:(1)2`.
static std::optional<AxisRef> parseAxis(StringRef text, const Mesh &mesh) {
  auto [name, part] = text.split(':');
  std::optional<unsigned> axis = mesh.find(name);
  if (!axis)
    return std::nullopt;
  if (name == text)
    return AxisRef::full(mesh, *axis);
  AxisRef ref{*axis, 0, 0};
  if (!part.consume_front("(") || part.consumeInteger(10, ref.pre) ||
      !part.consume_front(")") || part.getAsInteger(10, ref.size))
    return std::nullopt;
  return ref;
}

/// Reads [["data"], []]. Returns the part of the text that is wrong, if any.
static std::optional<std::string> parseAxes(const json::Array &dims,
                                            const Mesh &mesh,
                                            SmallVectorImpl<AxisList> &axes) {
  for (const json::Value &dim : dims) {
    const json::Array *list = dim.getAsArray();
    if (!list)
      return llvm::formatv("{0}", dim).str();
    axes.emplace_back();
    for (const json::Value &entry : *list) {
      std::optional<StringRef> text = entry.getAsString();
      std::optional<AxisRef> axis =
          text ? parseAxis(*text, mesh) : std::nullopt;
      if (!axis)
        return llvm::formatv("{0}", entry).str();
      axes.back().push_back(*axis);
    }
  }
  return std::nullopt;
}

LogicalResult Plan::add(StringRef text, std::optional<PlanWord> word,
                        ArrayRef<AxisList> axes, bool isShipped, Location loc) {
  llvm::Expected<NamePattern> pattern =
      NamePattern::create(loc.getContext(), text);
  if (!pattern)
    return emitError(loc) << prefix(ErrorCode::BadPlanEntry) << "\"" << text
                          << "\" is not a valid pattern: "
                          << llvm::toString(pattern.takeError());
  rules.push_back(
      {std::move(*pattern), word, SmallVector<AxisList>(axes), isShipped, loc});
  return success();
}

FailureOr<Plan> Plan::read(MLIRContext *context, StringRef path,
                           const Mesh &mesh) {
  auto getLoc = [&](JsonFile::Position position) -> Location {
    return FileLineColLoc::get(context, path, position.line, position.column);
  };
  auto parsed = JsonFile::read(path, kMaxBytes);
  if (auto *error = std::get_if<JsonFile::Error>(&parsed))
    return emitError(getLoc(error->position))
           << prefix(getFileError(error->why, ErrorCode::UnreadablePlan))
           << error->message
           << "; a plan is either one or more of the words megatron, sp, ddp "
              "and fsdp, joined with +, or a JSON file of name patterns";
  const JsonFile &file = std::get<JsonFile>(parsed);
  const json::Object *entries = file.getRoot().getAsObject();
  if (!entries)
    return emitError(getLoc({}))
           << prefix(ErrorCode::UnreadablePlan)
           << "expects a plan to be a single JSON object, "
              "{\"layers.*.q_proj\": \"colwise\", ..}";

  Plan plan;
  for (StringRef key : file.getKeys()) {
    const json::Value &value = *entries->get(key);
    const json::Object *shipped =
        isShippedKey(key) ? value.getAsObject() : nullptr;
    if (!shipped) {
      if (failed(plan.addEntry(key, value, /*isShipped=*/false, mesh,
                               getLoc(file.find({key})))))
        return failure();
      continue;
    }
    plan.isShipped = true;
    // No name matches two of these patterns, so any order will do.
    SmallVector<StringRef> patterns;
    for (const auto &entry : *shipped)
      patterns.push_back(entry.first);
    llvm::sort(patterns);
    for (StringRef pattern : patterns)
      if (failed(plan.addEntry(pattern, *shipped->get(pattern),
                               /*isShipped=*/true, mesh,
                               getLoc(file.find({key, pattern})))))
        return failure();
  }
  return plan;
}

LogicalResult Plan::addEntry(StringRef pattern, const json::Value &value,
                             bool isShipped, const Mesh &mesh, Location loc) {
  if (const json::Array *list = value.getAsArray()) {
    SmallVector<AxisList> dims;
    if (std::optional<std::string> wrong = parseAxes(*list, mesh, dims)) {
      std::string axes;
      for (const Axis &axis : mesh.axes)
        axes += (axes.empty() ? "" : ", ") + axis.name;
      return emitError(loc)
             << prefix(ErrorCode::BadPlanEntry) << *wrong
             << " is not an axis: write a list of axes per dimension, such as "
                "[[\"model\"], []] or [[\"model:(1)2\"], []]; mesh @"
             << mesh.name << " has " << axes;
    }
    return add(pattern, std::nullopt, dims, isShipped, loc);
  }
  std::optional<StringRef> text = value.getAsString();
  if (text == "sequence_parallel")
    return emitError(loc)
           << prefix(ErrorCode::BadPlanEntry) << "\"" << *text
           << "\" asks for activations sharded along the sequence, which the "
              "sharding of an argument cannot express: write \"replicate\" "
              "here, and shard the sequence of an input or a result, as in "
              "\"x\": [[], [\"model\"], []]";
  std::optional<PlanWord> word = text ? parseWord(*text) : std::nullopt;
  if (!word)
    return emitError(loc)
           << prefix(ErrorCode::BadPlanEntry)
           << llvm::formatv("{0}", value).str()
           << " is not a valid plan entry: write \"colwise\", \"rowwise\", "
              "\"replicate\", another word from the plans of Transformers, or "
              "a list of axes per dimension";
  return add(pattern, word, {}, isShipped, loc);
}

Plan Plan::getMegatron(MLIRContext *context) {
  static constexpr std::pair<StringRef, Action> kRules[] = {
      // Llama, Mistral, Qwen2.
      {"*.q_proj.*", Action::Colwise},
      {"*.k_proj.*", Action::Colwise},
      {"*.v_proj.*", Action::Colwise},
      {"*.o_proj.*", Action::Rowwise},
      {"*.gate_proj.*", Action::Colwise},
      {"*.up_proj.*", Action::Colwise},
      {"*.down_proj.*", Action::Rowwise},
      {"*embed_tokens.weight", Action::Rowwise},
      {"lm_head.weight", Action::Colwise},
      // GPT-2.
      {"h.*.attn.c_attn.*", Action::Colwise},
      {"h.*.attn.c_proj.*", Action::Rowwise},
      {"h.*.mlp.c_fc.*", Action::Colwise},
      {"h.*.mlp.c_proj.*", Action::Rowwise},
      {"wte.weight", Action::Rowwise},
      // BERT.
      {"*.attention.self.*", Action::Colwise},
      {"*.attention.output.dense.*", Action::Rowwise},
      {"*.intermediate.dense.*", Action::Colwise},
      {"*.output.dense.*", Action::Rowwise},
      {"*word_embeddings.weight", Action::Rowwise},
  };
  Plan plan;
  for (auto [pattern, action] : kRules) {
    LogicalResult added =
        plan.add(pattern, PlanWord{action}, {}, /*isShipped=*/false,
                 UnknownLoc::get(context));
    (void)added; // These patterns are well formed.
  }
  return plan;
}

bool Plan::cutsByWords() const {
  return llvm::any_of(rules, [](const PlanRule &rule) {
    return rule.word && (rule.word->action == Action::Colwise ||
                         rule.word->action == Action::Rowwise ||
                         rule.word->action == Action::Experts);
  });
}

/// Returns true if `rule` matches exactly `form`.
static bool matchesWhole(const PlanRule &rule, StringRef form) {
  StringRef text = rule.pattern.getText();
  if (rule.isShipped)
    return form == text || writeNumbersAsStars(form) == text;
  return rule.pattern.matchesWhole(form);
}

bool tp::matches(const PlanRule &rule, StringRef name) {
  bool isOfModules = rule.word && rule.word->action == Action::Activations;
  for (StringRef form : getNameForms(name)) {
    if (matchesWhole(rule, form))
      return true;
    for (StringRef owner = form; isOfModules && owner.contains('.');) {
      owner = owner.rsplit('.').first;
      if (matchesWhole(rule, owner))
        return true;
    }
  }
  return false;
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reads plans and matches names.

#include "Plan.h"

#include "lib/Support/JsonFile.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

#include <set>

using namespace mlir;
using namespace tp;
namespace json = llvm::json;

using Action = PlanRule::Action;

static constexpr uint64_t kMaxBytes = 1 << 20;

static std::optional<Action> parseWord(StringRef word) {
  return llvm::StringSwitch<std::optional<Action>>(word)
      .Cases({"colwise", "colwise_rep", "colwise_gather_output"},
             Action::Colwise)
      .Cases({"rowwise", "rowwise_rep"}, Action::Rowwise)
      .Case("replicate", Action::Replicate)
      .Default(std::nullopt);
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

/// Reads [["data"], []]. Gives the text that is wrong, if any.
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

LogicalResult Plan::add(StringRef text, Action action, ArrayRef<AxisList> axes,
                        Location loc) {
  StringRef pattern = StringAttr::get(loc.getContext(), text);
  llvm::Expected<llvm::GlobPattern> glob =
      llvm::GlobPattern::create(pattern, /*MaxSubPatterns=*/64);
  if (!glob)
    return emitError(loc) << prefix(ErrorCode::BadPlanEntry) << "\"" << pattern
                          << "\" is no pattern: "
                          << llvm::toString(glob.takeError());
  rules.push_back(
      {pattern, std::move(*glob), action, SmallVector<AxisList>(axes), loc});
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
           << "; a plan is `megatron` or a JSON file of name patterns";
  const JsonFile &file = std::get<JsonFile>(parsed);
  const json::Object *entries = file.getRoot().getAsObject();
  if (!entries)
    return emitError(getLoc({}))
           << prefix(ErrorCode::UnreadablePlan)
           << "a plan is one object, {\"layers.*.q_proj\": \"colwise\", ..}";

  std::string axes;
  for (const Axis &axis : mesh.axes)
    axes += (axes.empty() ? "" : ", ") + axis.name;
  Plan plan;
  for (StringRef pattern : file.getKeys()) {
    const json::Value &value = *entries->get(pattern);
    Location loc = getLoc(file.find({pattern}));
    SmallVector<AxisList> dims;
    Action action = Action::Explicit;
    if (const json::Array *list = value.getAsArray()) {
      if (std::optional<std::string> wrong = parseAxes(*list, mesh, dims))
        return emitError(loc)
               << prefix(ErrorCode::BadPlanEntry) << *wrong
               << " is no axis: write a list of axes per dimension, such as "
                  "[[\"model\"], []] or [[\"model:(1)2\"], []]; mesh @"
               << mesh.name << " has " << axes;
    } else {
      std::optional<StringRef> text = value.getAsString();
      std::optional<Action> word = text ? parseWord(*text) : std::nullopt;
      if (!word)
        return emitError(loc)
               << prefix(ErrorCode::BadPlanEntry)
               << llvm::formatv("{0}", value).str()
               << " is no word of a plan: write \"colwise\", \"rowwise\", "
                  "\"replicate\" or a list of axes per dimension";
      action = *word;
    }
    if (failed(plan.add(pattern, action, dims, loc)))
      return failure();
  }
  return plan;
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
        plan.add(pattern, action, {}, UnknownLoc::get(context));
    (void)added; // These patterns are well formed.
  }
  return plan;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// `name` down to the module it belongs to.
static StringRef getModule(StringRef name) {
  StringRef tensor = name.split('#').first;
  if (!tensor.consume_back(".weight"))
    tensor.consume_back(".bias");
  return tensor;
}

bool tp::matches(const PlanRule &rule, StringRef name) {
  StringRef relative = name;
  relative.consume_front("model.");
  for (StringRef form : {name, relative})
    if (rule.glob.match(form) || rule.glob.match(form.split('#').first) ||
        rule.glob.match(getModule(form)))
      return true;
  return false;
}

/// "layers.*.mlp" for "layers.12.mlp".
static std::string writeNumbersAsStars(StringRef name) {
  SmallVector<StringRef> parts;
  name.split(parts, '.');
  for (StringRef &part : parts)
    if (!part.empty() && llvm::all_of(part, llvm::isDigit))
      part = "*";
  return llvm::join(parts, ".");
}

std::string tp::getNearNames(StringRef pattern, ArrayRef<StringRef> names) {
  std::set<std::string> distinct;
  for (StringRef name : names) {
    name.consume_front("model.");
    distinct.insert(writeNumbersAsStars(name));
  }
  SmallVector<std::pair<unsigned, std::string>> ranked;
  for (const std::string &name : distinct)
    ranked.push_back({std::min(pattern.edit_distance(name),
                               pattern.edit_distance(getModule(name))),
                      name});
  llvm::sort(ranked);
  std::string text;
  for (auto &[distance, name] : llvm::make_range(
           ranked.begin(), ranked.begin() + std::min<size_t>(3, ranked.size())))
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

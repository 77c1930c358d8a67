// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TensorFile.h"

#include "dialects/TP/Interface.h"
#include "lib/Codegen/Artifact.h"
#include "lib/Support/OutputFile.h"
#include "tpopt/Support/ErrorCodes.h"

#include "runtime/Core/DType.h"
#include "runtime/Core/Safetensors.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;
using namespace tp::interp;

TensorValue tp::decodeTensor(RankedTensorType type, StringRef bytes) {
  auto tensor = std::make_shared<DenseTensor>(type);
  size_t size = bytes.size() / std::max<int64_t>(tensor->size(), 1);
  auto integer = dyn_cast<IntegerType>(type.getElementType());
  for (int64_t i = 0; i < tensor->size(); ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * size, size);
    if (integer) {
      (*tensor)[i] = makeInteger(wrapInteger(int64_t(bits), integer));
      continue;
    }
    auto format = cast<FloatType>(type.getElementType());
    APFloat value(format.getFloatSemantics(), APInt(format.getWidth(), bits));
    bool losesInfo;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                  &losesInfo);
    (*tensor)[i] = makeReal(value.convertToDouble());
  }
  return tensor;
}

static std::string encode(const DenseTensor &tensor, size_t size) {
  std::string bytes(tensor.size() * size, '\0');
  auto format = dyn_cast<FloatType>(tensor.getType().getElementType());
  for (int64_t i = 0; i < tensor.size(); ++i) {
    uint64_t bits = tensor[i].integer;
    if (format) {
      APFloat value(tensor[i].real);
      bool losesInfo;
      value.convert(format.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                    &losesInfo);
      bits = value.bitcastToAPInt().getZExtValue();
    }
    std::memcpy(&bytes[i * size], &bits, size);
  }
  return bytes;
}

LogicalResult tp::writeTensorFile(func::FuncOp function, StringRef path,
                                  ArrayRef<std::string> names,
                                  ArrayRef<TensorValue> tensors) {
  std::vector<std::string> bytes(tensors.size());
  absl::btree_map<std::string, tprt::StoredTensor> stored;
  for (auto [name, tensor, data] : llvm::zip_equal(names, tensors, bytes)) {
    RankedTensorType type = tensor->getType();
    std::optional<tprt::DType> dtype = getDType(type.getElementType());
    if (!dtype)
      return function.emitError()
             << prefix(ErrorCode::UnsupportedType)
             << "a safetensors file cannot hold elements of type "
             << type.getElementType();
    data = encode(toDense(tensor), tprt::getSize(*dtype));
    std::vector<int64_t> shape(type.getShape().begin(), type.getShape().end());
    if (!stored.try_emplace(name, tprt::StoredTensor{*dtype, shape, data})
             .second)
      return function.emitError()
             << prefix(ErrorCode::InterfaceMismatch)
             << "two values have the name '" << name << "'";
  }
  if (llvm::Error error = writeFile(path, tprt::writeSafetensors(stored)))
    return function.emitError() << toMessage(std::move(error));
  return success();
}

SmallVector<std::string> tp::getInputNames(func::FuncOp function) {
  SmallVector<std::string> names;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    names.push_back(getInputName(function, i).str());
  return names;
}

SmallVector<std::string> tp::getOutputNames(func::FuncOp function) {
  SmallVector<std::string> names;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    names.push_back(getOutputName(function, i).str());
  return names;
}

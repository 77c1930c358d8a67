// Elements of every type become code that the assembler takes for the oldest and
// the newest chips, element by element, in reductions, in products and in
// movements, with rows that nothing divides.

// REQUIRES: cuda-toolkit
// RUN: tp-opt %s --tp-compile="mesh=x=1 verify=off target=cuda chips=sm_80,sm_100 artifact=%t.tpx" -o %t.mlir
// RUN: %python %S/artifact.py %t.tpx | FileCheck %s

// CHECK:      image sm_80 cubin
// CHECK:      image sm_100 cubin
// CHECK:      kernel rows0

func.func @halves(%x: tensor<3x17xf16> {tp.name = "halves.x"}, %y: tensor<17x5xf16> {tp.name = "halves.y"}) -> (tensor<3x5xf16>, tensor<3x17xf16>, tensor<3xf16>, tensor<17x3xf16>) {
  %0 = tp.einsum "md,de->me" %x, %y : (tensor<3x17xf16>, tensor<17x5xf16>) -> tensor<3x5xf16>
  %1 = tp.softmax %x dim = 1 : tensor<3x17xf16>
  %2 = tp.reduce max %x dims = [1] : tensor<3x17xf16> -> tensor<3xf16>
  %3 = tp.transpose %x [1, 0] : tensor<3x17xf16> -> tensor<17x3xf16>
  return %0, %1, %2, %3 : tensor<3x5xf16>, tensor<3x17xf16>, tensor<3xf16>, tensor<17x3xf16>
}

func.func @bytes(%x: tensor<3x17xf8E4M3FN> {tp.name = "bytes.x"}, %y: tensor<17x5xf8E4M3FN> {tp.name = "bytes.y"}) -> (tensor<3x5xf8E4M3FN>, tensor<3x17xf8E4M3FN>, tensor<3x17xf8E5M2>, tensor<17x3xf8E4M3FN>) {
  %0 = tp.einsum "md,de->me" %x, %y : (tensor<3x17xf8E4M3FN>, tensor<17x5xf8E4M3FN>) -> tensor<3x5xf8E4M3FN>
  %1 = tp.add %x, %x : tensor<3x17xf8E4M3FN>
  %2 = tp.convert %x : tensor<3x17xf8E4M3FN> -> tensor<3x17xf8E5M2>
  %3 = tp.transpose %x [1, 0] : tensor<3x17xf8E4M3FN> -> tensor<17x3xf8E4M3FN>
  return %0, %1, %2, %3 : tensor<3x5xf8E4M3FN>, tensor<3x17xf8E4M3FN>, tensor<3x17xf8E5M2>, tensor<17x3xf8E4M3FN>
}

func.func @truths(%x: tensor<3x17xi1> {tp.name = "truths.x"}, %y: tensor<3x17xi1> {tp.name = "truths.y"}) -> (tensor<3x17xi1>, tensor<17x3xi1>, tensor<3x17xi1>) {
  %0 = tp.and %x, %y : tensor<3x17xi1>
  %1 = tp.transpose %x [1, 0] : tensor<3x17xi1> -> tensor<17x3xi1>
  %2 = tp.not %y : tensor<3x17xi1>
  return %0, %1, %2 : tensor<3x17xi1>, tensor<17x3xi1>, tensor<3x17xi1>
}

func.func @integers(%x: tensor<3x17xui8> {tp.name = "integers.x"}, %y: tensor<3x17xi64> {tp.name = "integers.y"}, %z: tensor<3x17xi16> {tp.name = "integers.z"}) -> (tensor<3xui8>, tensor<3x17xi64>, tensor<3xi16>, tensor<3xi64>) {
  %0 = tp.reduce max %x dims = [1] : tensor<3x17xui8> -> tensor<3xui8>
  %1 = tp.mul %y, %y : tensor<3x17xi64>
  %2 = tp.reduce sum %z dims = [1] : tensor<3x17xi16> -> tensor<3xi16>
  %3 = tp.reduce min %y dims = [1] : tensor<3x17xi64> -> tensor<3xi64>
  return %0, %1, %2, %3 : tensor<3xui8>, tensor<3x17xi64>, tensor<3xi16>, tensor<3xi64>
}

func.func @doubles(%x: tensor<3x17xf64> {tp.name = "doubles.x"}, %y: tensor<17x5xf64> {tp.name = "doubles.y"}) -> (tensor<3x5xf64>, tensor<3xf64>, tensor<3x17xf64>) {
  %0 = tp.einsum "md,de->me" %x, %y : (tensor<3x17xf64>, tensor<17x5xf64>) -> tensor<3x5xf64>
  %1 = tp.reduce max %x dims = [1] : tensor<3x17xf64> -> tensor<3xf64>
  %2 = tp.div %x, %x : tensor<3x17xf64>
  return %0, %1, %2 : tensor<3x5xf64>, tensor<3xf64>, tensor<3x17xf64>
}

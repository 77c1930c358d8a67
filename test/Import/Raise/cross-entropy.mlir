// RUN: tp-opt %s --tp-raise --split-input-file | FileCheck %s

// Cross entropy is raised from one-hot labels, with no loss for those that are no class,
// and from a lookup, whose NaN for labels outside stays; the lookup of other logits than
// those that are summed is no cross entropy.

// CHECK-LABEL: func.func @onehot
// CHECK-SAME: %[[X:.*]]: tensor<3x7xf32>, %[[Y:.*]]: tensor<3xi32>
// CHECK: %[[L:.*]] = tp.cross_entropy %[[X]], %[[Y]]
// CHECK: %[[C:.*]] = tp.and
// CHECK: tp.select %[[C]], %[[L]], %{{.*}}
// CHECK-NOT: tp.log
func.func @onehot(%x: tensor<3x7xf32>, %y: tensor<3xi32>) -> tensor<3xf32> {
  %labels = tp.broadcast %y dims = [0] : tensor<3xi32> -> tensor<3x7xi32>
  %classes = tp.iota dim = 1 : tensor<3x7xi32>
  %hot = tp.compare eq %labels, %classes : (tensor<3x7xi32>, tensor<3x7xi32>) -> tensor<3x7xi1>
  %weight = tp.convert %hot : tensor<3x7xi1> -> tensor<3x7xf32>
  %max = tp.reduce max %x dims = [1] : tensor<3x7xf32> -> tensor<3xf32>
  %maxs = tp.broadcast %max dims = [0] : tensor<3xf32> -> tensor<3x7xf32>
  %shifted = tp.sub %x, %maxs : tensor<3x7xf32>
  %exp = tp.exp %shifted : tensor<3x7xf32>
  %sum = tp.reduce sum %exp dims = [1] : tensor<3x7xf32> -> tensor<3xf32>
  %log = tp.log %sum : tensor<3xf32>
  %logs = tp.broadcast %log dims = [0] : tensor<3xf32> -> tensor<3x7xf32>
  %logsoftmax = tp.sub %shifted, %logs : tensor<3x7xf32>
  %picked = tp.mul %weight, %logsoftmax : tensor<3x7xf32>
  %likelihood = tp.reduce sum %picked dims = [1] : tensor<3x7xf32> -> tensor<3xf32>
  %loss = tp.neg %likelihood : tensor<3xf32>
  return %loss : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @lookup
// CHECK-SAME: %[[X:.*]]: tensor<3x7xf32>, %[[Y:.*]]: tensor<3xi32>, %[[OK:.*]]: tensor<3xi1>
// CHECK: %[[L:.*]] = tp.cross_entropy %[[X]], %[[Y]]
// CHECK: tp.select %[[OK]], %[[L]], %{{.*}}
func.func @lookup(%x: tensor<3x7xf32>, %y: tensor<3xi32>, %ok: tensor<3xi1>) -> tensor<3xf32> {
  %exp = tp.exp %x : tensor<3x7xf32>
  %sum = tp.reduce sum %exp dims = [1] : tensor<3x7xf32> -> tensor<3xf32>
  %log = tp.log %sum : tensor<3xf32>
  %picked = tp.gather %x, %y axis = 1 batch = 1 : (tensor<3x7xf32>, tensor<3xi32>) -> tensor<3xf32>
  %nan = tp.constant dense<0x7FC00000> : tensor<3xf32>
  %guarded = tp.select %ok, %picked, %nan : (tensor<3xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %loss = tp.sub %log, %guarded : tensor<3xf32>
  return %loss : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @other_logits
// CHECK-NOT: tp.cross_entropy
func.func @other_logits(%x: tensor<3x7xf32>, %z: tensor<3x7xf32>, %y: tensor<3xi32>) -> tensor<3xf32> {
  %exp = tp.exp %x : tensor<3x7xf32>
  %sum = tp.reduce sum %exp dims = [1] : tensor<3x7xf32> -> tensor<3xf32>
  %log = tp.log %sum : tensor<3xf32>
  %picked = tp.gather %z, %y axis = 1 batch = 1 : (tensor<3x7xf32>, tensor<3xi32>) -> tensor<3xf32>
  %loss = tp.sub %log, %picked : tensor<3xf32>
  return %loss : tensor<3xf32>
}

// RUN: tp-opt %s --tp-raise --split-input-file | FileCheck %s

// Attention is raised with its causal mask, and with a mask of the program's own beside
// what rows that see nothing had; what hides too little, or differs by head, is none.

// CHECK-LABEL: func.func @causal
// CHECK-SAME: %[[Q:.*]]: tensor<2x3x4x5xf32>, %[[K:.*]]: tensor<2x7x4x5xf32>, %[[V:.*]]: tensor<2x7x4x6xf32>
// CHECK: %[[G:.*]] = tp.reshape %[[Q]] : tensor<2x3x4x5xf32> -> tensor<2x3x4x1x5xf32>
// CHECK: %[[O:.*]] = tp.constant dense<4> : tensor<i32>
// CHECK: tp.attention %[[G]], %[[K]], %[[V]] offset(%[[O]] : tensor<i32>) {causal, scale = 2.500000e-01 : f64}
// CHECK-NOT: tp.select
func.func @causal(%q: tensor<2x3x4x5xf32>, %k: tensor<2x7x4x5xf32>, %v: tensor<2x7x4x6xf32>) -> tensor<2x4x3x6xf32> {
  %scores = tp.einsum "bshd,bthd->bhst" %q, %k : (tensor<2x3x4x5xf32>, tensor<2x7x4x5xf32>) -> tensor<2x4x3x7xf32>
  %four = tp.constant dense<4.0> : tensor<2x4x3x7xf32>
  %scaled = tp.div %scores, %four : tensor<2x4x3x7xf32>
  %i = tp.iota dim = 0 : tensor<3x7xi32>
  %before = tp.constant dense<4> : tensor<3x7xi32>
  %row = tp.add %i, %before : tensor<3x7xi32>
  %column = tp.iota dim = 1 : tensor<3x7xi32>
  %seen = tp.compare ge %row, %column : (tensor<3x7xi32>, tensor<3x7xi32>) -> tensor<3x7xi1>
  %mask = tp.broadcast %seen dims = [2, 3] : tensor<3x7xi1> -> tensor<2x4x3x7xi1>
  %low = tp.constant dense<-1.0e9> : tensor<2x4x3x7xf32>
  %masked = tp.select %mask, %scaled, %low : (tensor<2x4x3x7xi1>, tensor<2x4x3x7xf32>, tensor<2x4x3x7xf32>) -> tensor<2x4x3x7xf32>
  %weights = tp.softmax %masked dim = 3 : tensor<2x4x3x7xf32>
  %y = tp.einsum "bhst,bthe->bhse" %weights, %v : (tensor<2x4x3x7xf32>, tensor<2x7x4x6xf32>) -> tensor<2x4x3x6xf32>
  return %y : tensor<2x4x3x6xf32>
}

// -----

// Each of 2 key heads serves 2 query heads.
// CHECK-LABEL: func.func @repeated
// CHECK-SAME: %[[Q:.*]]: tensor<1x3x4x5xf32>, %[[K:.*]]: tensor<1x7x2x5xf32>, %[[V:.*]]: tensor<1x7x2x5xf32>
// CHECK: %[[G:.*]] = tp.reshape %[[Q]] : {{.*}} -> tensor<1x3x2x2x5xf32>
// CHECK: tp.attention %[[G]], %[[K]], %[[V]] {scale = 1.000000e+00 : f64}
// CHECK-NOT: tp.broadcast
func.func @repeated(%q: tensor<1x3x4x5xf32>, %k: tensor<1x7x2x5xf32>, %v: tensor<1x7x2x5xf32>) -> tensor<1x3x4x5xf32> {
  %k2 = tp.broadcast %k dims = [0, 1, 2, 4] : tensor<1x7x2x5xf32> -> tensor<1x7x2x2x5xf32>
  %k4 = tp.reshape %k2 : tensor<1x7x2x2x5xf32> -> tensor<1x7x4x5xf32>
  %v2 = tp.broadcast %v dims = [0, 1, 2, 4] : tensor<1x7x2x5xf32> -> tensor<1x7x2x2x5xf32>
  %v4 = tp.reshape %v2 : tensor<1x7x2x2x5xf32> -> tensor<1x7x4x5xf32>
  %scores = tp.einsum "bshd,bthd->bhst" %q, %k4 : (tensor<1x3x4x5xf32>, tensor<1x7x4x5xf32>) -> tensor<1x4x3x7xf32>
  %weights = tp.softmax %scores dim = 3 : tensor<1x4x3x7xf32>
  %y = tp.einsum "bhst,bthe->bshe" %weights, %v4 : (tensor<1x4x3x7xf32>, tensor<1x7x4x5xf32>) -> tensor<1x3x4x5xf32>
  return %y : tensor<1x3x4x5xf32>
}

// -----

// Hidden where the mask holds. Nobody knows whether every row sees something: one that
// does not has the mean of the values.
// CHECK-LABEL: func.func @masked
// CHECK-SAME: %[[M:.*]]: tensor<2x7xi1>
// CHECK: %[[SEEN:.*]] = tp.not
// CHECK: %[[Y:.*]] = tp.attention {{.*}} mask(%[[SEEN]] : tensor<2x3x7xi1>)
// CHECK: %[[ANY:.*]] = tp.reduce max
// CHECK: %[[SUM:.*]] = tp.reduce sum
// CHECK: tp.select %{{.*}}, %[[Y]], %{{.*}}
func.func @masked(%q: tensor<2x3x4x5xf32>, %k: tensor<2x7x4x5xf32>, %v: tensor<2x7x4x5xf32>, %m: tensor<2x7xi1>) -> tensor<2x3x4x5xf32> {
  %scores = tp.einsum "bshd,bthd->bhst" %q, %k : (tensor<2x3x4x5xf32>, tensor<2x7x4x5xf32>) -> tensor<2x4x3x7xf32>
  %mask = tp.broadcast %m dims = [0, 3] : tensor<2x7xi1> -> tensor<2x4x3x7xi1>
  %low = tp.constant dense<-1.0e30> : tensor<2x4x3x7xf32>
  %masked = tp.select %mask, %low, %scores : (tensor<2x4x3x7xi1>, tensor<2x4x3x7xf32>, tensor<2x4x3x7xf32>) -> tensor<2x4x3x7xf32>
  %weights = tp.softmax %masked dim = 3 : tensor<2x4x3x7xf32>
  %y = tp.einsum "bhst,bthe->bshe" %weights, %v : (tensor<2x4x3x7xf32>, tensor<2x7x4x5xf32>) -> tensor<2x3x4x5xf32>
  return %y : tensor<2x3x4x5xf32>
}

// -----

// A number added to all scores of a row changes nothing: rows that see nothing would. But
// scores are lost in the lowest ones; these rows are the mean of all values then.
// CHECK-LABEL: func.func @added
// CHECK-NOT: tp.attention
// CHECK-LABEL: func.func @lost
// CHECK: %[[Y:.*]] = tp.attention %{{.*}} mask(
// CHECK: %[[SUM:.*]] = tp.reduce sum
// CHECK: tp.mul %[[SUM]]
// CHECK: tp.select %{{.*}}, %[[Y]], %{{.*}}
func.func @added(%q: tensor<2x3x4x5xf32>, %k: tensor<2x7x4x5xf32>, %v: tensor<2x7x4x5xf32>, %m: tensor<2x7xi1>) -> tensor<2x3x4x5xf32> {
  %scores = tp.einsum "bshd,bthd->bhst" %q, %k : (tensor<2x3x4x5xf32>, tensor<2x7x4x5xf32>) -> tensor<2x4x3x7xf32>
  %zero = tp.constant dense<0.0> : tensor<2x7xf32>
  %low = tp.constant dense<-1.0e20> : tensor<2x7xf32>
  %bias = tp.select %m, %zero, %low : (tensor<2x7xi1>, tensor<2x7xf32>, tensor<2x7xf32>) -> tensor<2x7xf32>
  %biases = tp.broadcast %bias dims = [0, 3] : tensor<2x7xf32> -> tensor<2x4x3x7xf32>
  %masked = tp.add %scores, %biases : tensor<2x4x3x7xf32>
  %weights = tp.softmax %masked dim = 3 : tensor<2x4x3x7xf32>
  %y = tp.einsum "bhst,bthe->bshe" %weights, %v : (tensor<2x4x3x7xf32>, tensor<2x7x4x5xf32>) -> tensor<2x3x4x5xf32>
  return %y : tensor<2x3x4x5xf32>
}
func.func @lost(%q: tensor<2x3x4x5xf32>, %k: tensor<2x7x4x5xf32>, %v: tensor<2x7x4x5xf32>, %m: tensor<2x7xi1>) -> tensor<2x3x4x5xf32> {
  %scores = tp.einsum "bshd,bthd->bhst" %q, %k : (tensor<2x3x4x5xf32>, tensor<2x7x4x5xf32>) -> tensor<2x4x3x7xf32>
  %zero = tp.constant dense<0.0> : tensor<2x7xf32>
  %low = tp.constant dense<-3.4028234e38> : tensor<2x7xf32>
  %bias = tp.select %m, %zero, %low : (tensor<2x7xi1>, tensor<2x7xf32>, tensor<2x7xf32>) -> tensor<2x7xf32>
  %biases = tp.broadcast %bias dims = [0, 3] : tensor<2x7xf32> -> tensor<2x4x3x7xf32>
  %masked = tp.add %scores, %biases : tensor<2x4x3x7xf32>
  %weights = tp.softmax %masked dim = 3 : tensor<2x4x3x7xf32>
  %y = tp.einsum "bhst,bthe->bshe" %weights, %v : (tensor<2x4x3x7xf32>, tensor<2x7x4x5xf32>) -> tensor<2x3x4x5xf32>
  return %y : tensor<2x3x4x5xf32>
}

// -----

// -100 does not hide a score.
// CHECK-LABEL: func.func @low_score
// CHECK-NOT: tp.attention
func.func @low_score(%q: tensor<2x3x4x5xf32>, %k: tensor<2x7x4x5xf32>, %v: tensor<2x7x4x5xf32>, %m: tensor<2x7xi1>) -> tensor<2x3x4x5xf32> {
  %scores = tp.einsum "bshd,bthd->bhst" %q, %k : (tensor<2x3x4x5xf32>, tensor<2x7x4x5xf32>) -> tensor<2x4x3x7xf32>
  %mask = tp.broadcast %m dims = [0, 3] : tensor<2x7xi1> -> tensor<2x4x3x7xi1>
  %low = tp.constant dense<-100.0> : tensor<2x4x3x7xf32>
  %masked = tp.select %mask, %scores, %low : (tensor<2x4x3x7xi1>, tensor<2x4x3x7xf32>, tensor<2x4x3x7xf32>) -> tensor<2x4x3x7xf32>
  %weights = tp.softmax %masked dim = 3 : tensor<2x4x3x7xf32>
  %y = tp.einsum "bhst,bthe->bshe" %weights, %v : (tensor<2x4x3x7xf32>, tensor<2x7x4x5xf32>) -> tensor<2x3x4x5xf32>
  return %y : tensor<2x3x4x5xf32>
}

// -----

// A mask for each head of each batch entry, and a scale that is no number.
// CHECK-LABEL: func.func @of_heads
// CHECK-NOT: tp.attention
func.func @of_heads(%q: tensor<2x3x4x5xf32>, %k: tensor<2x7x4x5xf32>, %v: tensor<2x7x4x5xf32>, %m: tensor<2x4x7xi1>, %s: tensor<f32>) -> (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>) {
  %scores = tp.einsum "bshd,bthd->bhst" %q, %k : (tensor<2x3x4x5xf32>, tensor<2x7x4x5xf32>) -> tensor<2x4x3x7xf32>
  %mask = tp.broadcast %m dims = [0, 1, 3] : tensor<2x4x7xi1> -> tensor<2x4x3x7xi1>
  %low = tp.constant dense<-1.0e30> : tensor<2x4x3x7xf32>
  %masked = tp.select %mask, %scores, %low : (tensor<2x4x3x7xi1>, tensor<2x4x3x7xf32>, tensor<2x4x3x7xf32>) -> tensor<2x4x3x7xf32>
  %weights = tp.softmax %masked dim = 3 : tensor<2x4x3x7xf32>
  %y = tp.einsum "bhst,bthe->bshe" %weights, %v : (tensor<2x4x3x7xf32>, tensor<2x7x4x5xf32>) -> tensor<2x3x4x5xf32>
  %scores1 = tp.einsum "bshd,bthd->bhst" %q, %k : (tensor<2x3x4x5xf32>, tensor<2x7x4x5xf32>) -> tensor<2x4x3x7xf32>
  %scale = tp.broadcast %s dims = [] : tensor<f32> -> tensor<2x4x3x7xf32>
  %scaled = tp.mul %scores1, %scale : tensor<2x4x3x7xf32>
  %weights1 = tp.softmax %scaled dim = 3 : tensor<2x4x3x7xf32>
  %y1 = tp.einsum "bhst,bthe->bshe" %weights1, %v : (tensor<2x4x3x7xf32>, tensor<2x7x4x5xf32>) -> tensor<2x3x4x5xf32>
  return %y, %y1 : tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>
}

// -----

// Weights that the gradient needs, too.
// CHECK-LABEL: func.func @weights_used
// CHECK-NOT: tp.attention
func.func @weights_used(%q: tensor<2x3x4x5xf32>, %k: tensor<2x7x4x5xf32>, %v: tensor<2x7x4x5xf32>) -> (tensor<2x3x4x5xf32>, tensor<2x4x3x7xf32>) {
  %scores = tp.einsum "bshd,bthd->bhst" %q, %k : (tensor<2x3x4x5xf32>, tensor<2x7x4x5xf32>) -> tensor<2x4x3x7xf32>
  %weights = tp.softmax %scores dim = 3 : tensor<2x4x3x7xf32>
  %y = tp.einsum "bhst,bthe->bshe" %weights, %v : (tensor<2x4x3x7xf32>, tensor<2x7x4x5xf32>) -> tensor<2x3x4x5xf32>
  return %y, %weights : tensor<2x3x4x5xf32>, tensor<2x4x3x7xf32>
}

// -----

// PyTorch's safe softmax: rows that see nothing are zeros, as of tp.attention. Two layers
// have one mask.
// CHECK-LABEL: func.func @safe
// CHECK-NOT: tp.select
// CHECK-COUNT-2: tp.attention %{{.*}} mask(
// CHECK-NOT: tp.select
func.func @safe(%q: tensor<2x4x3x5xf32>, %k: tensor<2x4x7x5xf32>, %v: tensor<2x4x7x5xf32>, %m: tensor<2x7xi1>) -> (tensor<2x4x3x5xf32>, tensor<2x4x3x5xf32>) {
  %low = tp.constant dense<0xFF800000> : tensor<2x7xf32>
  %seen = tp.constant dense<0.0> : tensor<2x7xf32>
  %bias = tp.select %m, %seen, %low : (tensor<2x7xi1>, tensor<2x7xf32>, tensor<2x7xf32>) -> tensor<2x7xf32>
  %biases = tp.broadcast %bias dims = [0, 3] : tensor<2x7xf32> -> tensor<2x4x3x7xf32>
  %lows = tp.constant dense<0xFF800000> : tensor<2x4x3x7xf32>
  %zero = tp.constant dense<0.0> : tensor<2x4x3x7xf32>
  // not(any(not(x == -inf)))
  %s = tp.einsum "bhsd,bhtd->bhst" %q, %k : (tensor<2x4x3x5xf32>, tensor<2x4x7x5xf32>) -> tensor<2x4x3x7xf32>
  %x = tp.add %s, %biases : tensor<2x4x3x7xf32>
  %w = tp.softmax %x dim = 3 : tensor<2x4x3x7xf32>
  %is = tp.compare eq %x, %lows : (tensor<2x4x3x7xf32>, tensor<2x4x3x7xf32>) -> tensor<2x4x3x7xi1>
  %not = tp.not %is : tensor<2x4x3x7xi1>
  %not8 = tp.convert %not : tensor<2x4x3x7xi1> -> tensor<2x4x3x7xi8>
  %any8 = tp.reduce max %not8 dims = [3] : tensor<2x4x3x7xi8> -> tensor<2x4x3xi8>
  %any = tp.convert %any8 : tensor<2x4x3xi8> -> tensor<2x4x3xi1>
  %none = tp.not %any : tensor<2x4x3xi1>
  %nones = tp.broadcast %none dims = [0, 1, 2] : tensor<2x4x3xi1> -> tensor<2x4x3x7xi1>
  %safe = tp.select %nones, %zero, %w : (tensor<2x4x3x7xi1>, tensor<2x4x3x7xf32>, tensor<2x4x3x7xf32>) -> tensor<2x4x3x7xf32>
  %y = tp.einsum "bhst,bhte->bhse" %safe, %v : (tensor<2x4x3x7xf32>, tensor<2x4x7x5xf32>) -> tensor<2x4x3x5xf32>
  // all(x == -inf)
  %s1 = tp.einsum "bhsd,bhtd->bhst" %y, %k : (tensor<2x4x3x5xf32>, tensor<2x4x7x5xf32>) -> tensor<2x4x3x7xf32>
  %x1 = tp.add %s1, %biases : tensor<2x4x3x7xf32>
  %w1 = tp.softmax %x1 dim = 3 : tensor<2x4x3x7xf32>
  %is1 = tp.compare eq %x1, %lows : (tensor<2x4x3x7xf32>, tensor<2x4x3x7xf32>) -> tensor<2x4x3x7xi1>
  %is8 = tp.convert %is1 : tensor<2x4x3x7xi1> -> tensor<2x4x3x7xi8>
  %all8 = tp.reduce min %is8 dims = [3] : tensor<2x4x3x7xi8> -> tensor<2x4x3xi8>
  %all = tp.convert %all8 : tensor<2x4x3xi8> -> tensor<2x4x3xi1>
  %alls = tp.broadcast %all dims = [0, 1, 2] : tensor<2x4x3xi1> -> tensor<2x4x3x7xi1>
  %safe1 = tp.select %alls, %zero, %w1 : (tensor<2x4x3x7xi1>, tensor<2x4x3x7xf32>, tensor<2x4x3x7xf32>) -> tensor<2x4x3x7xf32>
  %y1 = tp.einsum "bhst,bhte->bhse" %safe1, %v : (tensor<2x4x3x7xf32>, tensor<2x4x7x5xf32>) -> tensor<2x4x3x5xf32>
  return %y, %y1 : tensor<2x4x3x5xf32>, tensor<2x4x3x5xf32>
}

// -----

// Zeros where any score is -inf, or all are something else.
// CHECK-LABEL: func.func @unsafe
// CHECK-NOT: tp.attention
func.func @unsafe(%x: tensor<3x7xf32>, %q: tensor<3x5xf32>, %k: tensor<7x5xf32>, %v: tensor<7x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
  %lows = tp.constant dense<0xFF800000> : tensor<3x7xf32>
  %zero = tp.constant dense<0.0> : tensor<3x7xf32>
  %s = tp.einsum "sd,td->st" %q, %k : (tensor<3x5xf32>, tensor<7x5xf32>) -> tensor<3x7xf32>
  %w = tp.softmax %s dim = 1 : tensor<3x7xf32>
  %is = tp.compare eq %s, %lows : (tensor<3x7xf32>, tensor<3x7xf32>) -> tensor<3x7xi1>
  %is8 = tp.convert %is : tensor<3x7xi1> -> tensor<3x7xi8>
  %any8 = tp.reduce max %is8 dims = [1] : tensor<3x7xi8> -> tensor<3xi8>
  %any = tp.convert %any8 : tensor<3xi8> -> tensor<3xi1>
  %anys = tp.broadcast %any dims = [0] : tensor<3xi1> -> tensor<3x7xi1>
  %safe = tp.select %anys, %zero, %w : (tensor<3x7xi1>, tensor<3x7xf32>, tensor<3x7xf32>) -> tensor<3x7xf32>
  %y = tp.einsum "st,te->se" %safe, %v : (tensor<3x7xf32>, tensor<7x5xf32>) -> tensor<3x5xf32>
  %w1 = tp.softmax %s dim = 1 : tensor<3x7xf32>
  %ne = tp.compare ne %s, %lows : (tensor<3x7xf32>, tensor<3x7xf32>) -> tensor<3x7xi1>
  %ne8 = tp.convert %ne : tensor<3x7xi1> -> tensor<3x7xi8>
  %all8 = tp.reduce min %ne8 dims = [1] : tensor<3x7xi8> -> tensor<3xi8>
  %all = tp.convert %all8 : tensor<3xi8> -> tensor<3xi1>
  %alls = tp.broadcast %all dims = [0] : tensor<3xi1> -> tensor<3x7xi1>
  %safe1 = tp.select %alls, %zero, %w1 : (tensor<3x7xi1>, tensor<3x7xf32>, tensor<3x7xf32>) -> tensor<3x7xf32>
  %y1 = tp.einsum "st,te->se" %safe1, %v : (tensor<3x7xf32>, tensor<7x5xf32>) -> tensor<3x5xf32>
  return %y, %y1 : tensor<3x5xf32>, tensor<3x5xf32>
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Functions of chlo that are computed by polynomials, rational functions and
// series, as in XLA. They are computed in at least f32. Functions whose
// coefficients are accurate only for f32 do not support f64.

#include "Conversion.h"

#include "passes/Import/StableHLO/StableHLO.h"

#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

namespace {

/// A float with arithmetic operators, so that formulas can be written as
/// expressions.
class Real {
public:
  Real(Emitter &emit, Value value) : emit(&emit), value(value) {}

  Real number(double constant) const {
    return {*emit, emit->constant(constant, value)};
  }
  template <typename OpT> Real apply() const {
    return {*emit, emit->unary<OpT>(value)};
  }
  template <typename OpT> Real apply(Real o) const {
    return {*emit, emit->binary<OpT>(value, o.value)};
  }
  Real operator+(Real o) const { return apply<AddOp>(o); }
  Real operator-(Real o) const { return apply<SubOp>(o); }
  Real operator*(Real o) const { return apply<MulOp>(o); }
  Real operator/(Real o) const { return apply<DivOp>(o); }
  Real operator-() const { return apply<NegOp>(); }
  Real operator+(double c) const { return *this + number(c); }
  Real operator-(double c) const { return *this - number(c); }
  Real operator*(double c) const { return *this * number(c); }
  Real operator/(double c) const { return *this / number(c); }
  Real abs() const { return apply<AbsOp>(); }
  Real log() const { return apply<LogOp>(); }
  Real log1p() const { return apply<Log1pOp>(); }
  Real exp() const { return apply<ExpOp>(); }
  Real sqrt() const { return apply<SqrtOp>(); }
  Real floor() const { return apply<FloorOp>(); }

  Value compare(ComparePredicate predicate, Real o) const {
    return emit->compare(predicate, value, o.value);
  }
  Value isLess(double c) const {
    return compare(ComparePredicate::LT, number(c));
  }
  Value isEqual(Real o) const { return compare(ComparePredicate::EQ, o); }
  /// Returns this value where `condition` holds, and `otherwise` elsewhere.
  Real where(Value condition, Real otherwise) const {
    return {*emit, emit->select(condition, value, otherwise.value)};
  }
  /// Evaluates the polynomial with these coefficients, the highest first.
  Real polynomial(ArrayRef<double> coefficients) const {
    Real sum = number(coefficients.front());
    for (double coefficient : coefficients.drop_front())
      sum = sum * *this + coefficient;
    return sum;
  }
  /// Evaluates a series of Chebyshev polynomials with these coefficients, the
  /// highest first.
  Real chebyshev(ArrayRef<double> coefficients) const {
    Real b0 = number(0), b1 = b0, b2 = b0;
    for (double coefficient : coefficients) {
      b2 = b1;
      b1 = b0;
      b0 = *this * b1 - b2 + coefficient;
    }
    return (b0 - b2) * 0.5;
  }

  Emitter *emit;
  Value value;
};

constexpr double kPi = 3.14159265358979323846;

} // namespace

/// Converts a function of one float. With `narrowOnly`, f64 is refused.
template <Real (*function)(Real), bool narrowOnly = false>
static Results convertFunction(Conversion &c) {
  if (!isa<FloatType>(c.outElement()))
    return c.invalid() << " expects floats";
  if (narrowOnly && c.outElement().isF64())
    return c.unsupported()
           << " of f64 is not supported, because its coefficients are accurate "
              "for f32 only: convert to f32";
  Real result = function({c.emit, c.emit.widen(c.in())});
  return c.one(c.emit.convert(result.value, c.outElement()));
}

//===----------------------------------------------------------------------===//
// Inverse hyperbolic functions
//===----------------------------------------------------------------------===//

/// Beyond this number, adding 1 to the square changes nothing.
static constexpr double kFar = 1e8;

static Real asinh(Real x) {
  Real size = x.abs();
  Real root = (size * size + 1.0).sqrt();
  Real near = (size + size * size / (root + 1.0)).log1p();
  Real far = size.log() + std::log(2.0);
  Real result = near.where(size.isLess(kFar), far);
  return x.apply<SignOp>() * result;
}

static Real acosh(Real x) {
  Real near = (x + ((x + 1.0) * (x - 1.0)).sqrt()).log();
  return near.where(x.isLess(kFar), x.log() + std::log(2.0));
}

static Real atanh(Real x) { return (x.log1p() - (-x).log1p()) * 0.5; }

//===----------------------------------------------------------------------===//
// The error function's relatives
//===----------------------------------------------------------------------===//

/// Computes erfc for f64, by the rational functions of Cephes (S. Moshier,
/// ndtr.c).
static Real erfcOfDoubles(Real x) {
  // Beyond this number, the result is below the least double.
  constexpr double kFar = 27;
  Real size = x.abs().apply<MinOp>(x.number(kFar)), square = size * size;
  Real near =
      x.number(1) -
      x *
          square.polynomial({9.60497373987051638749, 90.0260197203842689217,
                             2232.00534594684319226, 7003.32514112805075473,
                             55592.3013010394962768}) /
          square.polynomial({1, 33.5617141647503099647, 521.357949780152679795,
                             4594.32382970980127987, 22629.0000613890934246,
                             49267.3942608635921086});
  Real middle =
      size.polynomial({2.46196981473530512524e-10, 0.564189564831068821977,
                       7.46321056442269912687, 48.6371970985681366614,
                       196.520832956077098242, 526.445194995477358631,
                       934.528527171957607540, 1027.55188689515710272,
                       557.535335369399327526}) /
      size.polynomial({1, 13.2281951154744992508, 86.7072140885989742329,
                       354.937778887819891062, 975.708501743205489753,
                       1823.90916687909736289, 2246.33760818710981792,
                       1656.66309194161350182, 557.535340817727675546});
  Real far = size.polynomial({0.564189583547755073984, 1.27536670759978104416,
                              5.01905042251180477414, 6.16021097993053585195,
                              7.40974269950448939160, 2.97886665372100240670}) /
             size.polynomial({1, 2.26052863220117276590, 9.39603524938001434673,
                              12.0489539808096656605, 17.0814450747565897222,
                              9.60896809063285878198, 3.36907645100081516050});
  Real tail = (-square).exp() * middle.where(size.isLess(8), far);
  tail = (tail.number(2) - tail).where(x.isLess(0), tail);
  return near.where(size.isLess(1), tail);
}

static Real erfc(Real x) {
  if (typeOf(x.value).getElementType().isF64())
    return erfcOfDoubles(x);
  Real size = x.abs(), square = x * x;
  Real near = x.number(1) -
              x * square.polynomial({7.85386146e-05, -8.0101937e-4,
                                     0.00518832775, -0.0268538129, 0.112835854,
                                     -0.37612626, 1.12837911});
  Real inverse = x.number(1) / square;
  Real middle = inverse.polynomial({2.326820e-02, -0.138703942, 0.368742466,
                                    -0.582473278, 0.621000468, -0.494451523,
                                    3.404880e-01, -0.274112701, 0.563825965});
  Real far =
      inverse.polynomial({-10.477664, 12.977200, -7.49551868, 2.92101908,
                          -1.01526523, 0.42184633, -0.282076746, 0.564189494});
  Real tail = (-square).exp() * (x.number(1) / size) *
              middle.where(size.isLess(2), far);
  tail = tail.number(0).where((-square).isLess(-88.7228394), tail);
  tail = (tail.number(2) - tail).where(x.isLess(0), tail);
  return near.where(size.isLess(1), tail);
}

Value tp::emitErfc(Emitter &emit, Value x) { return erfc({emit, x}).value; }

/// M. Giles, "Approximating the erfinv function", GPU Computing Gems, 2011.
static Real erfInv(Real x) {
  Real w = -(-(x * x)).log1p();
  Real near = (w - 2.5).polynomial(
      {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06,
       0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941});
  Real far = (w.sqrt() - 3.0)
                 .polynomial({-0.000200214257, 0.000100950558, 0.00134934322,
                              -0.00367342844, 0.00573950773, -0.0076224613,
                              0.00943887047, 1.00167406, 2.83297682});
  Real result = near.where(w.isLess(5), far) * x;
  return (x * HUGE_VAL).where(x.abs().isEqual(x.number(1)), result);
}

//===----------------------------------------------------------------------===//
// The gamma function's relatives: C. Lanczos, 1964, with g = 7
//===----------------------------------------------------------------------===//

static constexpr double kLanczos[] = {
    676.520368121885098567009190444019, -1259.13921672240287047156078755283,
    771.3234287776530788486528258894,   -176.61502916214059906584551354,
    12.507343278686904814458936853,     -0.13857109526572011689554707,
    9.984369578019570859563e-6,         1.50563273514931154834e-7};

static Real lgamma(Real x) {
  Value reflects = x.isLess(0.5);
  Real z = (-x).where(reflects, x - 1.0);
  Real sum = x.number(0.99999999999980993227684700473478);
  for (auto [i, coefficient] : llvm::enumerate(kLanczos))
    sum = sum + z.number(coefficient) / (z + double(i + 1));
  Real t = z + 7.5;
  Real logT = (z / 7.5).log1p() + std::log(7.5);
  Real result = (z + 0.5 - t / logT) * logT + std::log(2 * kPi) / 2 + sum.log();
  // Gamma(x) Gamma(1 - x) = pi / sin(pi x)
  Real part = x.abs() - x.abs().floor();
  part = part.where(part.isLess(0.5), x.number(1) - part);
  Real sine = (part * kPi).apply<SinOp>().log();
  Value isFinite = sine.abs().compare(ComparePredicate::LT, x.number(HUGE_VAL));
  Real reflected =
      (x.number(std::log(kPi)) - sine - result).where(isFinite, -sine);
  result = reflected.where(reflects, result);
  return x.number(HUGE_VAL).where(x.abs().isEqual(x.number(HUGE_VAL)), result);
}

static Real digamma(Real x) {
  Value reflects = x.isLess(0.5);
  Real z = (-x).where(reflects, x - 1.0);
  Real numerator = x.number(0);
  Real denominator = x.number(0.99999999999980993227684700473478);
  for (auto [i, coefficient] : llvm::enumerate(kLanczos)) {
    Real place = z + double(i + 1);
    numerator = numerator - place.number(coefficient) / (place * place);
    denominator = denominator + place.number(coefficient) / place;
  }
  Real t = z + 7.5;
  Real logT = (z / 7.5).log1p() + std::log(7.5);
  Real result = logT + numerator / denominator - t.number(7) / t;
  // tan(pi x) has the period 1, so that an integer may be subtracted from x.
  Real angle = (x + (x + 0.5).floor().abs()) * kPi;
  Real cotangent = angle.apply<CosOp>() / angle.apply<SinOp>() * kPi;
  result = (result - cotangent).where(reflects, result);
  Real poles = x.number(std::nan("")).where(x.isEqual(x.floor()), result);
  return poles.where(x.compare(ComparePredicate::LE, x.number(0)), result);
}

/// Returns the sum of (q + k)^-s over all k from 0: ten terms, and the
/// Euler-Maclaurin formula for the rest.
static Real hurwitzZeta(Real s, Real q) {
  Real sum = q.number(0), at = q;
  for (int k = 0; k < 10; ++k) {
    sum = sum + at.apply<PowOp>(-s);
    at = at + 1.0;
  }
  Real power = at.apply<PowOp>(-s);
  sum = sum + power * at / (s - 1.0) + power * 0.5;
  // Adds terms B_2j / (2j)! * s (s + 1) .. (s + 2j - 2) * at^(1 - s - 2j):
  // `kBernoulli` holds B_2j / (2j)!, and `factor` is the rest of a term.
  static constexpr double kBernoulli[] = {
      1.0 / 12,           -1.0 / 720,
      1.0 / 30240,        -1.0 / 1209600,
      1.0 / 47900160,     -691.0 / 1307674368000,
      1.0 / 74724249600., -3617.0 / 10670622842880000};
  Real factor = s * power / at;
  for (auto [j, coefficient] : llvm::enumerate(kBernoulli)) {
    sum = sum + factor * coefficient;
    Real rising = (s + double(2 * j + 1)) * (s + double(2 * j + 2));
    factor = factor * rising / (at * at);
  }
  Real infinite = q.number(HUGE_VAL), nan = q.number(std::nan(""));
  // Powers of negative numbers exist for integer exponents only.
  Value isPole = q.compare(ComparePredicate::LE, q.number(0));
  Real below = infinite.where(
      q.isEqual(q.floor()),
      nan.where(s.compare(ComparePredicate::NE, s.floor()), sum));
  sum = below.where(isPole, sum);
  sum = nan.where(s.isLess(1), sum);
  return infinite.where(s.isEqual(s.number(1)), sum);
}

static LogicalResult checkPair(Conversion &c) {
  if (isa<FloatType>(c.outElement()) && c.in(0).getType() == c.in(1).getType())
    return success();
  return c.invalid() << " expects floats of one type";
}

static Results convertZeta(Conversion &c) {
  if (failed(checkPair(c)))
    return failure();
  Real result = hurwitzZeta({c.emit, c.emit.widen(c.in(0))},
                            {c.emit, c.emit.widen(c.in(1))});
  return c.one(c.emit.convert(result.value, c.outElement()));
}

/// Computes the n-th derivative of digamma: (-1)^(n+1) n! zeta(n + 1, x).
static Results convertPolygamma(Conversion &c) {
  if (failed(checkPair(c)))
    return failure();
  Real n{c.emit, c.emit.widen(c.in(0))}, x{c.emit, c.emit.widen(c.in(1))};
  Real even = n.apply<RemOp>(n.number(2));
  Real sign = even * 2.0 - 1.0;
  Real high = sign * lgamma(n + 1.0).exp() * hurwitzZeta(n + 1.0, x);
  Real result = digamma(x).where(n.isEqual(n.number(0)), high);
  // There are no derivatives of fractional or negative order.
  Value isOrder = n.isEqual(n.floor());
  result = result.where(isOrder, n.number(std::nan("")));
  result = n.number(std::nan("")).where(n.isLess(0), result);
  return c.one(c.emit.convert(result.value, c.outElement()));
}

//===----------------------------------------------------------------------===//
// Bessel functions: Cephes, S. L. Moshier
//===----------------------------------------------------------------------===//

static Real besselI1e(Real x) {
  Real size = x.abs();
  Real near =
      size *
      (size * 0.5 - 2.0)
          .chebyshev({9.38153738649577178388E-9, -4.44505912879632808065E-8,
                      2.00329475355213526229E-7, -8.56872026469545474066E-7,
                      3.47025130813767847674E-6, -1.32731636560394358279E-5,
                      4.78156510755005422638E-5, -1.61760815825896745588E-4,
                      5.12285956168575772895E-4, -1.51357245063125314899E-3,
                      4.15642294431288815669E-3, -1.05640848946261981558E-2,
                      2.47264490306265168283E-2, -5.29459812080949914269E-2,
                      1.02643658689847095384E-1, -1.76416518357834055153E-1,
                      2.52587186443633654823E-1});
  Real far =
      (size.number(32) / size - 2.0)
          .chebyshev({-3.83538038596423702205E-9, -2.63146884688951950684E-8,
                      -2.51223623787020892529E-7, -3.88256480887769039346E-6,
                      -1.10588938762623716291E-4, -9.76109749136146840777E-3,
                      7.78576235018280120474E-1}) /
      size.sqrt();
  Real result =
      near.where(size.compare(ComparePredicate::LE, size.number(8)), far);
  return x.apply<SignOp>() * result;
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

/// Returns the next float from x towards y. Among floats with the same sign, a
/// larger absolute value has larger bits, read as an integer.
static Results convertNextAfter(Conversion &c) {
  if (failed(checkPair(c)))
    return failure();
  auto element = cast<FloatType>(c.outElement());
  Emitter &emit = c.emit;
  Value x = c.in(0), y = c.in(1);
  Type bitsType = IntegerType::get(c.op->getContext(), element.getWidth());
  Value bits = emit.bitcast(x, bitsType);
  Value zero = emit.constant(0, x), one = emit.constant(1, bits);
  auto compare = [&](ComparePredicate predicate, Value a, Value b) {
    return emit.compare(predicate, a, b);
  };
  // Adding one to the bits moves the value away from zero, for either sign.
  Value isAbove = compare(ComparePredicate::GT, x, y);
  Value isNegative = compare(ComparePredicate::LT, x, zero);
  Value shrinks = emit.binary<XorOp>(isAbove, isNegative);
  Value step = emit.select(shrinks, emit.constant(-1, bits), one);
  Value next = emit.bitcast(emit.binary<AddOp>(bits, step), element);
  // The float next to zero is the least denormal, with the sign of y.
  Value signBit = emit.binary<ShiftLeftOp>(
      one, emit.constant(element.getWidth() - 1, bits));
  Value least = emit.bitcast(
      emit.binary<OrOp>(one,
                        emit.binary<AndOp>(emit.bitcast(y, bitsType), signBit)),
      element);
  Value result =
      emit.select(compare(ComparePredicate::EQ, x, zero), least, next);
  result = emit.select(compare(ComparePredicate::EQ, x, y), y, result);
  // If x or y is NaN, so is the result.
  Value sum = emit.binary<AddOp>(x, y);
  Value isNaN = emit.binary<OrOp>(compare(ComparePredicate::NE, x, x),
                                  compare(ComparePredicate::NE, y, y));
  return c.one(emit.select(isNaN, sum, result));
}

/// Returns the upper half of a product.
static Results convertMulHigh(Conversion &c) {
  auto element = dyn_cast<IntegerType>(c.outElement());
  if (!element || element.getWidth() > 32)
    return c.unsupported() << " of " << c.outElement()
                           << " is not supported, because no wider integer "
                              "type can hold the product";
  Emitter &emit = c.emit;
  Type wide = IntegerType::get(c.op->getContext(), 2 * element.getWidth(),
                               element.getSignedness());
  Value product = emit.binary<MulOp>(emit.convert(c.in(0), wide),
                                     emit.convert(c.in(1), wide));
  Value high = emit.binary<ShiftRightLogicalOp>(
      product, emit.constant(element.getWidth(), product));
  return c.one(emit.convert(high, element));
}

static constexpr Row kSpecialFunctionRows[] = {
    {"chlo.acosh", 1, 1, 0, convertFunction<acosh>},
    {"chlo.asinh", 1, 1, 0, convertFunction<asinh>},
    {"chlo.atanh", 1, 1, 0, convertFunction<atanh>},
    {"chlo.bessel_i1e", 1, 1, 0, convertFunction<besselI1e, true>},
    {"chlo.digamma", 1, 1, 0, convertFunction<digamma>},
    {"chlo.erf_inv", 1, 1, 0, convertFunction<erfInv, true>},
    {"chlo.erfc", 1, 1, 0, convertFunction<erfc>},
    {"chlo.lgamma", 1, 1, 0, convertFunction<lgamma>},
    {"chlo.mulhi", 2, 1, 0, convertMulHigh},
    {"chlo.next_after", 2, 1, 0, convertNextAfter},
    {"chlo.polygamma", 2, 1, 0, convertPolygamma},
    {"chlo.zeta", 2, 1, 0, convertZeta},
};

ArrayRef<Row> tp::stablehlo::getSpecialFunctionRows() {
  return kSpecialFunctionRows;
}

// Plausible faults leave the bound, and fast math lets through what its instructions do and nothing else may.
// A row of the error that a rule must see: `wrong` results of honest data, at least `least` of them outside.
static void caught(const char* name, int wrong, int samples, double least) {
  expect(wrong >= least * samples, name, std::to_string(wrong) + " of " + std::to_string(samples) + " caught");
}
static acc as_bf16(acc x) { return acc(nearest(real(x), BF16)); }
static acc as_tf32(acc x) { return acc(nearest(real(x), Format{11, -126, ACC_MAX, false})); }

static void narrow_arguments() {
  int exps = 0, factors = 0, allowed = 0;
  for (int i = 0; i < SAMPLES; ++i) {
    const acc x = acc(uniform(-10, 10)), y = acc(uniform(-10, 10));
    exps += !is_right(std::exp(as_bf16(x)), cg_exp(VE(real(x), 0)));
    Sum s, t;
    s.add(term(Exact{real(x)}, Exact{real(y)}));
    t.add(term_tf32(Exact{real(x)}, Exact{real(y)}));
    factors += !is_right(as_tf32(x) * as_tf32(y), s.result(1));
    allowed += is_right(as_tf32(x) * as_tf32(y), t.result(1));
  }
  caught("exp of an argument rounded to bf16", exps, SAMPLES, 0.99);
  caught("a term of factors rounded to TF32", factors, SAMPLES, 0.99);
  caught("TF32 where it is allowed", allowed, SAMPLES, 1);
}

// Rows around 1000: the two ways to a variance.
static void variances() {
  int wrong = 0, right = 0;
  const int n = 256;
  for (int i = 0; i < 200; ++i) {
    Sum total, squares;
    acc sum = 0, square = 0, centred = 0;
    std::vector<acc> x;
    for (int k = 0; k < n; ++k) {
      x.push_back(acc(1000 + uniform(-1, 1)));
      total.add(Exact{real(x.back())});
      sum += x.back();
      square += x.back() * x.back();
    }
    const VE mean = total.result(1) / constant(n);
    const acc kernel_mean = sum / n;
    for (acc v : x) {
      const VE d = VE(real(v), 0) - mean;
      squares.add(term(d, d));
      centred += (v - kernel_mean) * (v - kernel_mean);
    }
    const VE variance = squares.result(1) / constant(n);
    wrong += !is_right(square / n - kernel_mean * kernel_mean, variance);
    right += is_right(centred / n, variance);
  }
  caught("E[x^2] - E[x]^2 at a mean of 1000", wrong, 200, 0.9);
  caught("the variance of what is centred", right, 200, 1);
}

static void lost_terms() {
  int last = 0, doubled = 0, honest = 0, clipped = 0;
  for (int i = 0; i < 500; ++i) {
    const int n = int(whole(2, 2000));
    Sum s;
    acc sum = 0, t = 0;
    for (int k = 0; k < n; ++k) {
      t = acc(uniform(-1, 1));
      s.add(Exact{real(t)});
      sum += t;
    }
    const VE r = s.result(1);
    honest += is_right(sum, r);
    last += !is_right(sum - t, r);
    doubled += !is_right(sum + t, r);
    clipped += !is_right(as_bf16(sum), r);
  }
  caught("a sum", honest, 500, 1);
  caught("a dropped last term", last, 500, 0.97);
  caught("a last term added twice", doubled, 500, 0.97);
  caught("a sum kept in bf16", clipped, 500, 0.6);
}

// What the instructions under fast math are documented to do, at the worst.
static void fast_math() {
  int tanhs = 0, exps = 0, logs = 0, sines = 0, quotients = 0, powers = 0, sigmoids = 0, roots = 0;
  for (int i = 0; i < SAMPLES; ++i) {
    const acc x = acc(uniform(-20, 20)), y = acc(uniform(0.01, 20)), side = chance(0.5) ? 1 : -1;
    const VE rx(real(x), 0), ry(real(y), 0);
    const auto exp2 = [side](acc t) { return std::exp2(t) * (1 + side * acc(0x1p-23)); };
    const auto log2 = [side](acc t) { return t >= 0.5 && t <= 2 ? std::log2(t) + side * acc(0x1p-23) : std::log2(t); };
    const acc tanh = std::tanh(x) * (1 + side * acc(0x1.fcp-12)), half = std::tanh(x / 2) * (1 + side * acc(0x1.fcp-12));
    tanhs += is_right(tanh, cg_tanh(rx));
    sigmoids += is_right(acc(0.5) + acc(0.5) * half, cg_sigmoid(rx));
    exps += is_right(exp2(x * acc(1.44269504088896340736L)), cg_exp(rx));
    logs += is_right(log2(y) * acc(0.69314718055994530942L), cg_log(ry));
    const acc near = std::fmod(x, acc(3.14));
    sines += is_right(std::sin(near) + side * acc(6.7e-7), cg_sin(VE(real(near), 0)));
    quotients += is_right(acc(real(x) / real(y) * real(1 + side * 0x1.8p-23)), rx / ry);
    powers += is_right(exp2(x / 4 * log2(y)), cg_pow(ry, VE(real(x / 4), 0)));
    roots += is_right(y * acc(1 / std::sqrt(real(y)) * real(1 + side * 0x1p-23)), cg_sqrt(ry));
  }
  const int counts[] = {tanhs, exps, logs, sines, quotients, powers, sigmoids, roots};
  const char* names[] = {"tanh.approx", "__expf", "__logf", "sin.approx", "__fdividef", "__powf", "sigmoid by tanh", "sqrt.approx"};
  for (int i = 0; i < 8; ++i) {
    if (FAST_MATH) caught(names[i], counts[i], SAMPLES, 1);
    else expect(counts[i] < 0.97 * SAMPLES, names[i], "passes without fast math: " + std::to_string(counts[i]));
  }
  const acc tiny = acc(0x1p-140);
  expect(is_right(acc(0), VE(Exact{real(tiny)}) * VE(0.5, 0)) == FAST_MATH, "flushed subnormals");
}

int main() {
  narrow_arguments();
  variances();
  lost_terms();
  if (sizeof(acc) == 4) fast_math();
  return report("faults");
}

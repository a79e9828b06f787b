// Prints what the prelude above makes of many inputs, a line each: a name, its arguments, `=`, its result. Reals are
// bit patterns of doubles in hexadecimal, integers are decimal.

static uint64_t bits(double x) { uint64_t word; std::memcpy(&word, &x, 8); return word; }
static double number(uint64_t word) { double x; std::memcpy(&x, &word, 8); return x; }
static uint16_t code(f16 x) { uint16_t word; std::memcpy(&word, &x, 2); return word; }
static uint16_t code(bf16 x) { uint16_t word; std::memcpy(&word, &x, 2); return word; }
static unsigned code(f8e4m3 x) { return x.bits; }
static unsigned code(f8e5m2 x) { return x.bits; }

static uint64_t state = 88172645463325252ull;
static uint64_t draw() { state ^= state << 13; state ^= state >> 7; return state ^= state << 17; }

static void real(const char* name, double in, double out) {
  std::printf("%s %llx = %llx\n", name, (unsigned long long)bits(in), (unsigned long long)bits(out));
}
static void whole(const char* name, double in, long long out) {
  std::printf("%s %llx = %lld\n", name, (unsigned long long)bits(in), out);
}
static void pair(const char* name, long long a, long long b, long long out) {
  std::printf("%s %lld %lld = %lld\n", name, a, b, out);
}

template <class T, class Code>
static void decode(const char* name, unsigned codes) {
  for (unsigned i = 0; i < codes; ++i) {
    const Code raw = Code(i);
    T x;
    std::memcpy(static_cast<void*>(&x), &raw, sizeof x);
    std::printf("load_%s %u = %llx\n", name, i, (unsigned long long)bits(double(cg_load(x))));
  }
}

// Every value of 8-bit floats, what lies halfway to its neighbour and just beside it, and random numbers.
template <class F>
static void each(F f) {
  for (int power = -30; power <= 20; ++power) for (int step = 0; step < 16; ++step) {
    const double x = std::ldexp(16 + step, power - 4), ulp = std::ldexp(1, power - 27);
    for (double y : {x, x + ulp, x - ulp, x + std::ldexp(ulp, -25), x - std::ldexp(ulp, -25)}) f(y), f(-y);
  }
  // ties of f16 and bf16, and their neighbours in double
  for (int i = 0; i < 3000; ++i) {
    const uint64_t word = draw();
    const int exponent = int(word >> 20 & 63) - 32;
    const double x = std::ldexp(double(word & 4095) + 4096, exponent - 12);
    f(x), f(-std::nextafter(x, 1e9)), f(std::nextafter(x, 0)), f(number(draw()));
  }
  for (double x : {0.0, -0.0, 65504.0, 65519.0, 65520.0, 65536.0, 3e38, 3.4e38, 3.5e38, 448.0, 464.0, 57344.0, 61440.0,
                   1e300, 1e-300, 5e-324, 1e-40, 9e-41, 4.6e-41, double(__builtin_inf()), -double(__builtin_inf()),
                   double(__builtin_nan(""))})
    f(x), f(-x);
}

template <class T>
static void store(const char* name) {
  each([&](double given) {
    const acc x = acc(given);
    T to;
    cg_store(to, x);
    std::printf("store_%s %llx = %u\n", name, (unsigned long long)bits(double(x)), unsigned(code(to)));
  });
}

static void casts() {
  each([](double given) {
    const acc x = acc(given);
    real("cast_f64", x, cg_cast_f64(x)), real("cast_f32", x, cg_cast_f32(x));
    real("cast_f16", x, cg_cast_f16(x)), real("cast_bf16", x, cg_cast_bf16(x));
    real("cast_f8e4m3", x, cg_cast_f8e4m3(x)), real("cast_f8e5m2", x, cg_cast_f8e5m2(x));
    whole("cast_i8", x, cg_cast_i8(x)), whole("cast_u8", x, cg_cast_u8(x));
    whole("cast_i4", x, cg_cast_i4(x)), whole("cast_u4", x, cg_cast_u4(x));
    whole("cast_i32", x, cg_cast_i32(x)), whole("cast_i64", x, cg_cast_i64(x));
    real("floor", x, cg_floor(x)), real("ceil", x, cg_ceil(x)), real("round", x, cg_round(x));
    real("sign", x, cg_sign(x));
  });
  for (double x : {-8.5, -8.0, -7.999, -1.5, -0.5, 0.5, 0.999, 1.5, 2.5, 127.0, 127.9, 128.0, -128.9, -129.0, 255.5,
                   2147483647.0, 2147483648.0, -2147483649.0, 9.2e18, 9.3e18, -9.3e18}) {
    const acc y = acc(x);
    whole("cast_i8", y, cg_cast_i8(y)), whole("cast_u8", y, cg_cast_u8(y)), whole("cast_i4", y, cg_cast_i4(y));
    whole("cast_u4", y, cg_cast_u4(y)), whole("cast_i32", y, cg_cast_i32(y)), whole("cast_i64", y, cg_cast_i64(y));
    real("round", y, cg_round(y)), real("floor", y, cg_floor(y)), real("ceil", y, cg_ceil(y));
  }
}

static void integers() {
  const long long some[] = {-9223372036854775807ll, -4294967297ll, -129, -128, -9, -8, -7, -3, -2, -1, 0,
                            1, 2, 3, 7, 8, 15, 16, 127, 128, 255, 256, 2147483648ll, 9223372036854775807ll};
  for (long long a : some) {
    const int64_t x = a;
    signed char i8; unsigned char u8; int i32; long long i64;
    cg_store(i8, x), cg_store(u8, x), cg_store(i32, x), cg_store(i64, x);
    pair("to_i8", a, 0, cg_load(i8)), pair("to_u8", a, 0, cg_load(u8));
    pair("to_i32", a, 0, cg_load(i32)), pair("to_i64", a, 0, cg_load(i64));
    pair("to_i8", a, 0, cg_cast_i8(x)), pair("to_u8", a, 0, cg_cast_u8(x));
    pair("to_i32", a, 0, cg_cast_i32(x)), pair("to_i64", a, 0, cg_cast_i64(x));
    pair("to_i4", a, 0, cg_cast_i4(x)), pair("to_u4", a, 0, cg_cast_u4(x));
    pair("abs", a, 0, cg_abs(x)), pair("sign", a, 0, cg_sign(x)), pair("id", a, 0, cg_int(x));
    for (long long b : some) {
      const int64_t y = b;
      pair("max", a, b, cg_max(x, y)), pair("min", a, b, cg_min(x, y));
      pair("max", a, b, cg_imax(x, y)), pair("min", a, b, cg_imin(x, y));
      pair("lt", a, b, cg_lt(x, y)), pair("le", a, b, cg_le(x, y)), pair("eq", a, b, cg_eq(x, y));
      pair("lt", b, a, cg_gt(x, y)), pair("le", b, a, cg_ge(x, y)), pair("eq", a, b, !cg_ne(x, y));
      pair("pack_i4", a, b, cg_pack_i4(x, y)), pair("pack_u4", a, b, cg_pack_u4(x, y));
      if (b > 0) {
        pair("floor_div", a, b, cg_floor_div(x, y));
        pair("mod", a, b, cg_mod(x, y)), pair("mod", a, b, cg_rem(x, y));
      }
    }
  }
  for (int byte = 0; byte < 256; ++byte) {
    const unsigned char base[2] = {(unsigned char)(255 - byte), (unsigned char)byte};
    for (int i = 0; i < 2; ++i)
      pair("load_i4", byte, i, cg_load_i4(base, 2 + i)), pair("load_u4", byte, i, cg_load_u4(base, 2 + i));
  }
}

static void conditions() {
  const acc nan = acc(__builtin_nan("")), one = 1, two = 2;
  const bool all[] = {cg_lt(one, two), !cg_lt(two, one), !cg_lt(nan, one), cg_le(one, one), !cg_le(one, nan),
                      cg_gt(two, one), !cg_gt(nan, nan), cg_ge(two, two), !cg_ge(nan, one), cg_eq(one, one),
                      !cg_eq(nan, nan), cg_ne(nan, nan), cg_ne(one, two), !cg_ne(two, two), cg_and(true, true),
                      !cg_and(true, false), cg_or(false, true), !cg_or(false, false), cg_not(false),
                      cg_max(nan, one) != cg_max(nan, one), cg_min(one, nan) != cg_min(one, nan),
                      cg_max(one, two) == two, cg_min(one, two) == one, cg_pow(two, acc(10)) == acc(1024),
                      cg_pow(acc(-2), acc(3)) == acc(-8), cg_real(int64_t(-3)) == acc(-3)};
  int i = 0;
  for (bool holds : all) pair("holds", i++, 0, holds);
  for (int x = 0; x < 2; ++x) {
    bool8 to;
    cg_store(to, x != 0);
    pair("id", x, 0, to.bits), pair("id", x, 0, cg_load(to));
  }
}

int main() {
  decode<f8e4m3, unsigned char>("f8e4m3", 256), decode<f8e5m2, unsigned char>("f8e5m2", 256);
  decode<f16, unsigned short>("f16", 65536), decode<bf16, unsigned short>("bf16", 65536);
  store<f8e4m3>("f8e4m3"), store<f8e5m2>("f8e5m2"), store<f16>("f16"), store<bf16>("bf16");
  casts(), integers(), conditions();
}

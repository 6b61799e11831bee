/* Arguments in vector registers, and on the stack when there are more of them. */

#include <string.h>

typedef float vector __attribute__((vector_size(16)));

UNDER_TEST double sixteen_doubles(double a, double b, double c, double d, double e, double f, double g, double h,
                                  double i, double j, double k, double l, double m, double n, double o, double p) {
    double sum = a - 2 * b + 3 * c - 4 * d + 5 * e - 6 * f + 7 * g - 8 * h;
    sum += (double)grow(MORE);
    return sum + 9 * i - 10 * j + 11 * k - 12 * l + 13 * m - 14 * n + 15 * o - 16 * p - h;
}

static inline __attribute__((always_inline)) word bits(double x) {
    word bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

DRIVER word doubles(struct Call *call) {
    double s = (double)call->seed;
    call->checks = 1 + MORE;
    ABOUT_TO_CALL(call, 64);
    return bits(sixteen_doubles(s, s / 2, s / 3, s / 4, s / 5, s / 6, s / 7, s / 8, s / 9, s / 10, s / 11, s / 12,
                                s / 13, s / 14, s / 15, s / 16));
}

/* As many floats as there are registers. A float on the stack takes half of a word, and the other
   half may make the word look like an address. So there are no more arguments, and the sum is a
   double. */
UNDER_TEST float eight_floats(float a, float b, float c, float d, float e, float f, float g, float h) {
    double sum = a - 2 * b + 3 * c - 4 * d + 5 * e - 6 * f + 7 * g - 8 * h;
    return (float)(sum + (double)grow(MORE));
}

DRIVER word floats(struct Call *call) {
    float s = (float)call->seed;
    call->checks = 1 + MORE;
    ABOUT_TO_CALL(call, 0);
    return bits(eight_floats(s, s / 2, s / 3, s / 4, s / 5, s / 6, s / 7, s / 8));
}

UNDER_TEST double by_turns(word a, double b, word *c, double d, word e, double f, word *g, double h, word i,
                           double j, word *k, double l, word m, double n, word *o, double p, word q, double r) {
    *c += a + e, *g += i, *k += m, *o += q;
    double sum = b + d * 2 + f * 3 + h * 5 + (double)grow(MORE);
    return sum + j * 7 + l * 11 + n * 13 + p * 17 + r * 19 + (double)(*c ^ *g ^ *k ^ *o);
}

/* Integers, pointers and doubles, more of each than there are registers. */
DRIVER word mixtures(struct Call *call) {
    word s = call->seed, at[4] = { s, s * 3, s * 5, s * 7 };
    double x = (double)s;
    call->checks = 1 + MORE;
    ABOUT_TO_CALL(call, 32);
    double sum = by_turns(s, x, &at[0], x / 2, s >> 1, x / 3, &at[1], x / 4, s >> 2, x / 5, &at[2], x / 6, s >> 3,
                          x / 7, &at[3], x / 8, s >> 4, x / 9);
    return mix(mix(mix(bits(sum), at[0]), mix(at[1], at[2])), at[3]);
}

UNDER_TEST vector ten_vectors(vector a, vector b, vector c, vector d, vector e, vector f, vector g, vector h,
                              vector i, vector j) {
    float below = (float)grow(MORE);
    return (a - b) * 3 + (c - d) * 5 + (e - f) * 7 + (g - h) * 9 + (i - j) * 11 + below;
}

DRIVER word vectors(struct Call *call) {
    float s = (float)(call->seed >> 8);
    vector v = { s, s / 3, s / 5, s / 7 };
    call->checks = 1 + MORE;
    ABOUT_TO_CALL(call, 32);
    vector sum = ten_vectors(v, v / 2, v / 3, v / 4, v / 5, v / 6, v / 7, v / 8, v / 9, v / 10);
    return mix(mix(bits(sum[0]), bits(sum[1])), mix(bits(sum[2]), bits(sum[3])));
}

static __attribute__((noinline)) word small(word n) {
    return n * 3 + 1;
}

UNDER_TEST double around_a_call(double a, double b, double c, word d, word e, word f) {
    double x = a * b, y = b * c, z = c * a;
    word g = d * e, h = e * f, i = f * d;
    for (int n = 0; n < 5; n++) {
        g += small(h), h += small(i), i += small(g);
        x += y, y += z, z += (double)i;
    }
    return x * y + z + (double)(g ^ h ^ i);
}

/* The compiler has seen the function that is called here. It may keep values across the call in
   registers that the function doesn't use, but the check in that function may change these. */
DRIVER word kept(struct Call *call) {
    double s = (double)(call->seed >> 40);
#ifdef __clang__
    call->checks = 1; /* `small` has no frame, so clang makes no check */
#else
    call->checks = 16;
#endif
    ABOUT_TO_CALL(call, 0);
    return bits(around_a_call(s, s / 3, s / 7, call->seed, call->seed >> 1, call->seed >> 2));
}

UNDER_TEST word a_third(double one, double three) {
    volatile double third = one / three;
    word below = grow(MORE);
    volatile double again = one / three;
    return mix(mix(bits(third), bits(again)), below);
}

/* The rounding modes of the vector unit and of the x87 belong to the goroutine. A check in a
   prologue doesn't change them. */
DRIVER word rounding(struct Call *call) {
    uint32_t old_mxcsr, mxcsr, mxcsr_after;
    uint16_t old_fcw, fcw, fcw_after;
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(old_mxcsr), "=m"(old_fcw));
    mxcsr = (old_mxcsr & 0xffc0) | 0x4000; /* up */
    fcw = old_fcw | 0x0400;                /* down */
    __asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(mxcsr), "m"(fcw));
    call->checks = 1 + MORE;
    ABOUT_TO_CALL(call, 0);
    word sum = a_third(1.0, 3.0);
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr_after), "=m"(fcw_after));
    __asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(old_mxcsr), "m"(old_fcw));
    return mix(mix(sum, mxcsr_after & 0xffc0), fcw_after);
}

/* A long double is passed in two words. The processor writes ten bytes of them, and the compiler
   doesn't write the other six. They may be left over from an address, and then a move of the stack
   changes the two bytes in the same word. So this file is compiled with -mlong-double-64. */

#include "call.h"

#include <string.h>

typedef long double real;
typedef _Complex long double complex;

static inline __attribute__((always_inline)) word bits(double x) {
    word bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

UNDER_TEST real of_each(real a, complex b, word c, real d, complex e) {
    real below = (real)grow(MORE);
    return a + __real__ b * 3 + __imag__ b * 5 + c + d * 7 + __real__ e * 9 + __imag__ e * 11 + below;
}

DRIVER word long_doubles(struct Call *call) {
    real s = (real)call->seed;
    complex z = s / 3 + s / 5 * 1.0iL;
    call->checks = 1 + MORE;
    ABOUT_TO_CALL(call, 0);
    return bits((double)of_each(s, z, call->seed, s / 7, z * 2));
}

UNDER_TEST complex product(complex a, complex b, word levels) {
    complex below = levels > 0 ? product(b, a - b, levels - 1) : a + (real)grow(MORE);
    return below + (__real__ a * __real__ b - __imag__ a * __imag__ b) + a / 3 + b / 5;
}

/* Complex numbers that are passed down a recursion, and returned through it. */
DRIVER word complex_numbers(struct Call *call) {
    real s = (real)(call->seed >> 40);
    call->checks = 1 + call->levels + MORE;
    ABOUT_TO_CALL(call, 0);
    complex sum = product(s + s / 3 * 1.0iL, s / 5 + s / 7 * 1.0iL, call->levels);
    return mix(bits((double)__real__ sum), bits((double)__imag__ sum));
}

static const struct Case cases[] = {
    CASE(long_doubles), CASE(complex_numbers), END,
};

TABLE("checked", cases);

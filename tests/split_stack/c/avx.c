/* Arguments of 32 bytes, in whole vector registers and on the stack. */

#include "call.h"

#include <stdarg.h>

typedef word words __attribute__((vector_size(32)));
typedef double doubles __attribute__((vector_size(32)));

static inline __attribute__((always_inline)) word lanes(words v) {
    return mix(mix(v[0], v[1]), mix(v[2], v[3]));
}

UNDER_TEST word ten_vectors(words a, words b, words c, words d, words e, words f, words g, words h, words i,
                            words j) {
    word sum = mix(mix(mix(lanes(a), lanes(b)), mix(lanes(c), lanes(d))), mix(lanes(e), lanes(f)));
    sum = mix(sum, grow(MORE));
    return mix(mix(mix(sum, lanes(g)), mix(lanes(h), lanes(i))), mix(lanes(j), lanes(a)));
}

/* Eight vectors in registers, and two on the stack, at multiples of 32. */
DRIVER word wide_vectors(struct Call *call) {
    word s = call->seed;
    words v = { s, s >> 1, s >> 2, s >> 3 };
    call->checks = 1 + MORE;
    ABOUT_TO_CALL(call, 64);
    return ten_vectors(v, v ^ 1, v ^ 2, v ^ 3, v ^ 4, v ^ 5, v ^ 6, v ^ 7, v ^ 8, v ^ 9);
}

UNDER_TEST doubles with_pointers(word *a, doubles b, word *c, double d, doubles e, word *f) {
    *a += *c, *f += *a;
    double below = (double)grow(MORE);
    *c += *f;
    return b + e * d + below;
}

/* Vectors between pointers to locals, and one that is returned in a register. */
DRIVER word among_pointers(struct Call *call) {
    word at[3] = { call->seed, call->seed * 3, call->seed * 5 };
    double x = (double)call->seed;
    call->checks = 1 + MORE;
    ABOUT_TO_CALL(call, 0);
    doubles back = with_pointers(&at[0], (doubles){ x, x / 2, x / 3, x / 4 }, &at[1], x / 5,
                                 (doubles){ x / 6, x / 7, x / 8, x / 9 }, &at[2]);
    return mix(mix(lanes((words)back), at[0]), mix(at[1], at[2]));
}

#ifndef __clang__
UNDER_TEST word sum_vectors(int n, ...) {
    va_list list;
    va_start(list, n);
    word sum = grow(MORE);
    for (int i = 0; i < n; i++) {
        sum = mix(sum, lanes(va_arg(list, words)));
        sum = mix(sum, *va_arg(list, word *) += i);
    }
    va_end(list);
    return sum;
}

/* Vectors as variable arguments: all of them are on the stack, at multiples of 32. */
DRIVER word variable_vectors(struct Call *call) {
    word s = call->seed, at = s;
    words v = { s, s >> 1, s >> 2, s >> 3 };
    call->checks = 1 + MORE;
    ABOUT_TO_CALL(call, 64);
    word sum = sum_vectors(2, v, &at, v * 3, &at);
    return mix(sum, at);
}
#endif

static const struct Case cases[] = {
    CASE(wide_vectors), CASE(among_pointers),
#ifndef __clang__
    CASE(variable_vectors),
#endif
    END,
};

TABLE("avx", cases);

/* alloca whose check fails, in functions that write the arguments of their calls to the end of the
   frame, and don't push them. gcc does so with -maccumulate-outgoing-args, which some values of
   -mtune imply. */

#include "call.h"

#include <alloca.h>

/* Not larger, because a compiler that pushes arguments doesn't count them in a check. */
struct Large {
    word words[60];
};

UNDER_TEST word by_value(word a, word b, word c, word d, word e, word f, word g, word *h, struct Large large) {
    *h += a + b + c + d + e + f + g;
    return mix(*h + grow(1), large.words[(a + *h) % 60]);
}

UNDER_TEST word among_arguments(word s, word bytes, word turns) {
    struct Large large;
    word sum = s, words = bytes / sizeof(word);
    for (word i = 0; i < 60; i++)
        large.words[i] = s * i;
    for (word i = 0; i < turns; i++) {
        word *block = alloca(bytes), at = s;
        for (word k = 0; k < words; k++)
            block[k] = s + i + k;
        sum = mix(sum, by_value(i, s, i, s, i, s, i, &at, large));
        for (word k = 0; k < words; k++)
            sum = mix(sum, block[k] + at);
    }
    return sum;
}

/* A block smaller than the arguments, and one larger than the stack. */
DRIVER word among_outgoing_arguments(struct Call *call) {
    call->checks = 2 + 2 * 5;
    ABOUT_TO_CALL(call, 0);
    return mix(among_arguments(call->seed, 80, 5), among_arguments(call->seed, 10000, 5));
}

static const struct Case cases[] = {
    CASE(among_outgoing_arguments), END,
};

TABLE("checked", cases);

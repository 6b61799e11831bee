/* Arrays of variable length. An optimising gcc computes the start of such an array by shifting an
   address to the right and back. It may keep the shifted address across a call, and then a move
   doesn't find it. So this file is compiled with -fno-forward-propagate. */

#include "call.h"

UNDER_TEST word array(word s, word n) {
    word at[n], *pointers[n];
    for (word i = 0; i < n; i++) {
        at[i] = s >> i % 60;
        pointers[i] = &at[n - 1 - i];
    }
    word sum = grow(MORE);
    for (word i = 0; i < n; i++)
        sum = mix(sum, *pointers[i] += i + sizeof at);
    return sum;
}

/* Arrays of words and of pointers to them, with a length that only the caller knows. */
DRIVER word variable_arrays(struct Call *call) {
    call->checks = 3 * (1 + MORE);
    ABOUT_TO_CALL(call, 0);
    return mix(mix(array(call->seed, 3), array(call->seed, 100)), array(call->seed, 1000));
}

/* Takes more stack than the room below any guard, and then more again. */
UNDER_TEST word fill(word *from, word n) {
    word copy[n];
    for (word i = 0; i < n; i++)
        copy[i] = from[i] * 3;
    word sum = n > 9 ? fill(copy, n / 2) : grow(2);
    for (word i = 0; i < n; i++)
        sum = mix(sum, copy[i] + from[i]++);
    return sum;
}

UNDER_TEST word scopes(word s, word turns) {
    word sum = s;
    for (word i = 0; i < turns; i++) {
        word scratch[1 + i * 37 % 400];
        word n = sizeof scratch / sizeof scratch[0];
        for (word k = 0; k < n; k++)
            scratch[k] = s + i + k;
        sum = mix(sum, fill(scratch, n));
        sum = mix(sum, scratch[0] + scratch[n - 1]);
    }
    return sum;
}

/* An array whose scope is a turn of a loop, and which is passed to a recursion with arrays of its
   own. */
DRIVER word arrays_in_scopes(struct Call *call) {
    call->checks = 1 + 20;
    ABOUT_TO_CALL(call, 0);
    return scopes(call->seed, 20);
}

UNDER_TEST word aligned_and_variable(word s, word n) {
    _Alignas(64) word here[8];
    word *pointers[n];
    for (word i = 0; i < n; i++)
        pointers[i] = &here[i % 8];
    for (int i = 0; i < 8; i++)
        here[i] = s >> i;
    word sum = grow(MORE);
    for (word i = 0; i < n; i++)
        sum = mix(sum, *pointers[i] += i);
    return mix(sum, (word)here % 64);
}

DRIVER word aligned_with_an_array(struct Call *call) {
    call->checks = 2 * (1 + MORE);
    ABOUT_TO_CALL(call, 0);
    return mix(aligned_and_variable(call->seed, 10), aligned_and_variable(call->seed, 300));
}

UNDER_TEST word array_in_each_turn(word s, word turns) {
    word sum = s;
    for (word i = 0; i < turns; i++) {
        word scratch[100 + i % 10];
        word last = sizeof scratch / sizeof scratch[0] - 1;
        scratch[0] = sum;
        scratch[last] = i;
        __asm__ volatile("" : : "r"(scratch) : "memory");
        sum = mix(scratch[0], scratch[last]);
    }
    return sum;
}

/* Arrays one after the other in one frame: the scope of each is a turn of a loop. */
DRIVER word array_in_a_loop(struct Call *call) {
    call->checks = 1 + call->levels;
    ABOUT_TO_CALL(call, 0);
    return array_in_each_turn(call->seed, call->levels);
}

static const struct Case cases[] = {
    CASE(variable_arrays), CASE(arrays_in_scopes), CASE(aligned_with_an_array),
    CASE(array_in_a_loop), END,
};

TABLE("checked", cases);

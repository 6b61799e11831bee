/* Pointers to the caller's locals. After a move they must point to the new places. */

UNDER_TEST word ten_pointers(word *a, word *b, word *c, word *d, word *e, word *f, word *g, word *h, word *i,
                             word *j) {
    *a += *j, *b += *a, *c += *b, *d += *c, *e += *d;
    word below = grow(MORE);
    *f += *e, *g += *f, *h += *g, *i += *h, *j += *i;
    return below;
}

/* A pointer in each of the six registers, and four on the stack. */
DRIVER word pointers(struct Call *call) {
    word at[10];
    for (int i = 0; i < 10; i++)
        at[i] = call->seed * (2 * i + 1);
    call->checks = 1 + MORE;
    ABOUT_TO_CALL(call, 32);
    word sum = ten_pointers(&at[0], &at[1], &at[2], &at[3], &at[4], &at[5], &at[6], &at[7], &at[8], &at[9]);
    for (int i = 0; i < 10; i++)
        sum = mix(sum, at[i]);
    return sum;
}

UNDER_TEST word follow(word ***first, const char *inside, word turns) {
    word **second = *first;
    word sum = 0;
    for (word i = 0; i < turns; i++) {
        **second += grow(i);
        sum = mix(sum, ***first + inside[-1] + inside[2]);
    }
    return sum;
}

/* A pointer to a pointer to a pointer, all in the frame, and one to the middle of a string. */
DRIVER word chains(struct Call *call) {
    word value = call->seed, *to_value = &value, **to_pointer = &to_value;
    char text[8] = "abcdefg";
    call->checks = 1 + MORE;
    ABOUT_TO_CALL(call, 0);
    word sum = follow(&to_pointer, text + 3, MORE);
    return mix(sum, value);
}

UNDER_TEST word between(word *begin, word *end) {
    word sum = 0;
    for (word *at = begin; at != end; at++) {
        sum = mix(sum, *at + grow(1));
        *at = sum;
    }
    return sum;
}

/* Pointers to both ends of an array. Behind its last word is another part of the frame. */
DRIVER word ranges(struct Call *call) {
    word at[9];
    for (int i = 0; i < 9; i++)
        at[i] = call->seed >> i;
    call->checks = 10;
    ABOUT_TO_CALL(call, 0);
    word sum = between(at, at + 9);
    return mix(mix(sum, at[0]), at[8]);
}

UNDER_TEST word *choose(word *a, word *b, word which) {
    return grow(MORE) != 0 && which % 2 == 0 ? a : b;
}

/* A pointer to the caller's local is returned after a move, and must point to the new place. */
DRIVER word returned_pointers(struct Call *call) {
    word even = call->seed, odd = call->seed + 1;
    call->checks = 2 * (1 + MORE);
    ABOUT_TO_CALL(call, 0);
    word *first = choose(&even, &odd, call->seed);
    *first += 7;
    word *second = choose(&even, &odd, call->seed + 1);
    *second *= 5;
    word right = (first == &even || first == &odd) && (second == &even || second == &odd);
    return mix(mix(even, odd), right);
}

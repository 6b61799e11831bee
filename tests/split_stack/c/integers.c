/* Integer arguments: in all six registers, and more of them on the stack. */

UNDER_TEST word twelve_words(word a, word b, word c, word d, word e, word f, word g, word h, word i,
                             word j, word k, word l) {
    word sum = mix(mix(mix(a, b), mix(c, d)), mix(mix(e, f), mix(g, h)));
    sum = mix(sum, grow(MORE));
    /* Uses the arguments once more, as the compiler may have saved them in the frame meanwhile. */
    return mix(mix(mix(sum, a), mix(b, c)), mix(mix(mix(d, e), mix(f, g)), mix(mix(h, i), mix(j, mix(k, l)))));
}

DRIVER word words(struct Call *call) {
    word s = call->seed;
    call->checks = 1 + MORE;
    ABOUT_TO_CALL(call, 48);
    return twelve_words(s, s * 3, s * 5, s * 7, s * 9, s * 11, s * 13, s * 15, s * 17, s * 19, s * 21, s * 23);
}

/* As many arguments as there are registers. For such an argument on the stack, an unoptimised clang
   writes half of a word. The other half may still have a part of an old address, and make the word
   look like one. */
UNDER_TEST word six_narrow(int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e, _Bool f) {
    word sum = mix(mix(mix(a, b), mix(c, d)), mix(e, f));
    return mix(sum, grow(MORE));
}

DRIVER word narrow(struct Call *call) {
    word s = call->seed;
    call->checks = 1 + MORE;
    ABOUT_TO_CALL(call, 0);
    return six_narrow(s, s >> 3, s >> 5, s >> 7, s >> 9, s >> 11 & 1);
}

#ifndef __clang__
/* A function without a frame and without a call: a check and a few instructions. */
UNDER_TEST word leaf(word a, word b, word c, word d, word e, word f) {
    return a + 3 * b + 5 * c + 7 * d + 9 * e + 11 * f;
}

DRIVER word leaves(struct Call *call) {
    word s = call->seed;
    call->checks = 2;
    ABOUT_TO_CALL(call, 0);
    word sum = leaf(s, s >> 1, s >> 2, s >> 3, s >> 4, s >> 5);
    return mix(sum, leaf(sum, s, sum, s, sum, s));
}
#endif

UNDER_TEST __int128 wide(__int128 a, __int128 b, word c, __int128 on_the_stack, word d) {
    __int128 below = grow(MORE);
    return a * 3 + b * 5 + c + on_the_stack * 7 + d + below;
}

/* Arguments in pairs of registers, and a value that is returned in such a pair. */
DRIVER word wide_words(struct Call *call) {
    __int128 s = (__int128)call->seed << 40;
    call->checks = 1 + MORE;
    ABOUT_TO_CALL(call, 32);
    __int128 sum = wide(s, s + 1, call->seed, s + 2, call->seed + 3);
    return mix((word)sum, (word)(sum >> 64));
}

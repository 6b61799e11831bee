/* Frames of many sizes. With a frame below 256 bytes the prologue compares rsp itself; with a
   larger one, rsp less the frame. And frames with a larger alignment than the ABI's. */

#define FRAME_OF(size)                                                                            \
    UNDER_TEST word frame_of_##size(word s, word *place) {                                        \
        volatile unsigned char bytes[size];                                                       \
        volatile word *kept[2] = { place, &s };                                                   \
        bytes[0] = (unsigned char)s;                                                              \
        bytes[size / 2] = (unsigned char)(s >> 8);                                                \
        bytes[size - 1] = (unsigned char)(s >> 16);                                               \
        *kept[0] += bytes[0];                                                                     \
        word sum = grow(2);                                                                       \
        *kept[0] += bytes[size / 2];                                                              \
        *kept[1] += bytes[size - 1];                                                              \
        return mix(sum, s);                                                                       \
    }                                                                                             \
    DRIVER word frame_##size(struct Call *call) {                                                 \
        word at = call->seed;                                                                     \
        call->checks = 4;                                                                         \
        ABOUT_TO_CALL(call, 0);                                                                   \
        word sum = frame_of_##size(call->seed, &at);                                              \
        return mix(sum, at);                                                                      \
    }

FRAME_OF(160)
FRAME_OF(176)
FRAME_OF(192)
FRAME_OF(208)
FRAME_OF(224)
FRAME_OF(240)
FRAME_OF(256)
FRAME_OF(1000)
FRAME_OF(5000)
FRAME_OF(65536)
FRAME_OF(1000000)

UNDER_TEST word four_times_64_kib(word s, word level, word *place) {
    volatile word frame[8192];
    frame[level] = s;
    frame[8191 - level] = (*place += s);
    word here = s;
    word sum = level > 0 ? four_times_64_kib(mix(s, level), level - 1, &here) : grow(MORE);
    return mix(mix(sum, here), mix(frame[level], frame[8191 - level]));
}

DRIVER word large_frames(struct Call *call) {
    word at = call->seed;
    call->checks = 4 + MORE;
    ABOUT_TO_CALL(call, 0);
    word sum = four_times_64_kib(call->seed, 3, &at);
    return mix(sum, at);
}

UNDER_TEST word aligned_to_64(word s, word level, word *caller) {
    _Alignas(64) word here[8];
    for (int i = 0; i < 8; i++)
        here[i] = s >> i;
    word crooked = (word)here % 64;
    word sum = level > 0 ? aligned_to_64(mix(s, level), level - 1, here) : grow(MORE);
    crooked += (word)here % 64;
    caller[7] += here[7];
    return mix(mix(sum, crooked), here[0] + here[7]);
}

/* Each level's local is at a multiple of 64, before its callees move the stack and afterwards. */
DRIVER word aligned_locals(struct Call *call) {
    word at[8] = { call->seed };
    call->checks = 1 + call->levels;
    ABOUT_TO_CALL(call, 0);
    word sum = aligned_to_64(call->seed, call->levels, at);
    return mix(sum, at[7]);
}

UNDER_TEST word aligned_and_more(word a, word b, word c, word d, word e, word f, word *g, word h) {
    _Alignas(64) word here[8] = { a, b, c, d, e, f, *g, h };
    *g += h;
    word sum = grow(MORE);
    for (int i = 0; i < 8; i++)
        sum = mix(sum, here[i]);
    return mix(mix(sum, *g += h), (word)here % 64);
}

/* An aligned frame, and arguments on the stack, which the function can't find by rsp then. */
DRIVER word aligned_with_arguments(struct Call *call) {
    word s = call->seed, at = s;
    call->checks = 1 + MORE;
    ABOUT_TO_CALL(call, 16);
    word sum = aligned_and_more(s, s >> 1, s >> 2, s >> 3, s >> 4, s >> 5, &at, s >> 6);
    return mix(sum, at);
}

/* Structs that are passed and returned by value: small ones in registers, large ones in memory. */

struct Pair {
    word number;
    word *place;
};

struct Half {
    double number;
    word *place;
};

struct Floats {
    float x[4];
};

struct Large {
    word numbers[20];
    word *place;
};

struct Aligned {
    _Alignas(64) word numbers[4];
    word *place;
};

UNDER_TEST struct Pair small_structs(struct Pair a, struct Half b, struct Floats c, struct Pair d, struct Pair e) {
    *a.place += d.number, *b.place += (word)b.number, *d.place += a.number, *e.place += e.number;
    word sum = grow(MORE) + (word)(c.x[0] + 2 * c.x[1] + 3 * c.x[2] + 4 * c.x[3]);
    *a.place += *e.place, *e.place += *d.place;
    return (struct Pair){ sum, e.place };
}

/* Structs in pairs of registers, of one kind or of both. The last one has to go on the stack. The
   result has a pointer in it. */
DRIVER word small_by_value(struct Call *call) {
    word s = call->seed, at[4] = { s, s * 3, s * 5, s * 7 };
    float x = (float)(s >> 45);
    struct Floats floats = { { x, x / 2, x / 3, x / 4 } };
    call->checks = 1 + MORE;
    ABOUT_TO_CALL(call, 16);
    struct Pair back =
        small_structs((struct Pair){ s, &at[0] }, (struct Half){ (double)(s >> 30), &at[1] }, floats,
                      (struct Pair){ s * 2, &at[2] }, (struct Pair){ s * 4, &at[3] });
    *back.place += back.number;
    return mix(mix(at[0], at[1]), mix(at[2], at[3]));
}

UNDER_TEST struct Half halves(struct Half a, word b) {
    *a.place += b;
    return (struct Half){ a.number + (double)grow(MORE), a.place };
}

/* A struct that is returned in two registers of different kinds. */
DRIVER word returned_in_registers(struct Call *call) {
    word at = call->seed;
    call->checks = 1 + MORE;
    ABOUT_TO_CALL(call, 0);
    struct Half back = halves((struct Half){ (double)(call->seed >> 20), &at }, call->seed);
    *back.place += 5;
    return mix((word)back.number, at);
}

UNDER_TEST word takes_large(word a, struct Large large, word *b) {
    *large.place += large.numbers[0] + a;
    *b += grow(MORE);
    word sum = *large.place;
    for (int i = 0; i < 20; i++)
        sum = mix(sum, large.numbers[i]);
    return sum;
}

DRIVER word large_by_value(struct Call *call) {
    word at[2] = { call->seed, call->seed + 1 };
    struct Large large;
    for (int i = 0; i < 20; i++)
        large.numbers[i] = call->seed >> i;
    large.place = &at[0];
    call->checks = 1 + MORE;
    ABOUT_TO_CALL(call, sizeof large);
    word sum = takes_large(call->seed, large, &at[1]);
    return mix(mix(sum, at[0]), at[1]);
}

UNDER_TEST struct Large returns_large(word a, word *place) {
    struct Large large;
    for (int i = 0; i < 20; i++)
        large.numbers[i] = i % 5 == 0 ? grow(i % 3) + a : a >> i;
    large.place = place;
    return large;
}

/* A struct that is returned through a hidden pointer to the caller's frame. The pointer is also
   returned in rax. */
DRIVER word returned_in_memory(struct Call *call) {
    word at = call->seed;
    call->checks = 2 * (1 + 4);
    ABOUT_TO_CALL(call, 0);
    struct Large large = returns_large(call->seed, &at);
    *large.place += large.numbers[7];
    large = returns_large(at, &large.numbers[3]);
    *large.place += 1;
    word sum = at;
    for (int i = 0; i < 20; i++)
        sum = mix(sum, large.numbers[i]);
    return sum;
}

UNDER_TEST struct Large changes_large(struct Large large) {
    large.numbers[3] += grow(MORE);
    *large.place += large.numbers[3];
    large.numbers[4] += *large.place;
    return large;
}

/* A large argument and a large result. The argument's copy isn't at the result's place. */
DRIVER word large_both_ways(struct Call *call) {
    word at = call->seed;
    struct Large large;
    for (int i = 0; i < 20; i++)
        large.numbers[i] = call->seed >> i;
    large.place = &at;
    call->checks = 1 + MORE;
    ABOUT_TO_CALL(call, sizeof large);
    large = changes_large(large);
    *large.place += 1;
    return mix(mix(at, large.numbers[3]), mix(large.numbers[4], large.numbers[19]));
}

UNDER_TEST word takes_aligned(word a, struct Aligned aligned, word b) {
    word crooked = (word)&aligned % 64;
    *aligned.place += a;
    word sum = mix(grow(MORE), mix(crooked, b));
    for (int i = 0; i < 4; i++)
        sum = mix(sum, aligned.numbers[i]);
    return mix(sum, (word)&aligned % 64);
}

/* An argument on the stack at a multiple of 64, before the move and afterwards. */
DRIVER word aligned_by_value(struct Call *call) {
    word s = call->seed, at = s;
    struct Aligned aligned = { { s, s * 3, s * 5, s * 7 }, &at };
    call->checks = 1 + MORE;
    ABOUT_TO_CALL(call, sizeof aligned);
    return mix(takes_aligned(s, aligned, s >> 1), at);
}

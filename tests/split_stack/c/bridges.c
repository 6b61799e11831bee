/* Calls of Rust, which use other stacks, wait for other goroutines, or call back. */

UNDER_TEST word scaled(struct Call *call, word levels) {
    word here = call->seed + levels;
    call->bridge->scale(&here, levels + 3);
    word sum = levels > 0 ? scaled(call, levels - 1) : grow(MORE);
    call->bridge->scale(&here, 5);
    return mix(sum, here);
}

/* Rust changes a local while it runs on g0. */
DRIVER word other_stacks(struct Call *call) {
    call->checks = 5 + MORE;
    ABOUT_TO_CALL(call, 0);
    return scaled(call, 4);
}

UNDER_TEST word from_rust(word *local, word n) {
    *local += n;
    word sum = grow(MORE);
    *local = mix(*local, sum);
    return sum + n;
}

UNDER_TEST word to_rust(const struct Bridge *bridge, word s, word levels) {
    word here = bridge->back(from_rust, s);
    if (levels > 0)
        here = mix(here, to_rust(bridge, s >> 1, levels - 1));
    return mix(here, bridge->back(from_rust, here));
}

/* C calls Rust, which calls C, which grows the stack. So Rust's frames move, too. */
DRIVER word rust_in_between(struct Call *call) {
    call->checks = 3 * (1 + 2 * (1 + MORE));
    ABOUT_TO_CALL(call, 0);
    return to_rust(call->bridge, call->seed, 2);
}

UNDER_TEST word yielding(struct Call *call, word levels, word *caller) {
    word here = levels;
    *caller += levels;
    call->bridge->yield();
    word sum = levels > 0 ? yielding(call, levels - 1, &here) : grow(MORE);
    call->bridge->yield();
    return mix(sum, here);
}

/* Other goroutines run in the meantime, and this one may go on on another thread. */
DRIVER word yields(struct Call *call) {
    word at = call->seed;
    call->checks = 9 + MORE;
    ABOUT_TO_CALL(call, 0);
    word sum = yielding(call, 8, &at);
    return mix(sum, at);
}

UNDER_TEST word echoes(struct Call *call, word turns) {
    word sum = call->seed;
    for (word i = 0; i < turns; i++) {
        word sent = sum + i, received = 0;
        call->bridge->send(call->partner, &sent);
        sum = mix(sum, grow(i));
        call->bridge->receive(call->partner, &received);
        sum = mix(sum, received);
    }
    return sum;
}

/* One local is sent and another one receives. The values are copied directly from and to this
   stack. */
DRIVER word echo(struct Call *call) {
    call->checks = 1 + MORE;
    ABOUT_TO_CALL(call, 0);
    return echoes(call, MORE);
}

UNDER_TEST word crowded(struct Call *call, word levels, word *caller) {
    word here = call->seed * (levels + 1);
    call->bridge->send(call->partner, &here);
    word sum = levels > 0 ? crowded(call, levels - 1, &here) : grow(MORE);
    sum += here;
    call->bridge->receive(call->partner, caller);
    return sum;
}

/* Each level sends its own local and receives into its caller's. Several goroutines answer at the
   same time, in any order, so the answers are added up. */
DRIVER word crowd(struct Call *call) {
    word at = 0;
    call->checks = 5 + MORE;
    ABOUT_TO_CALL(call, 0);
    word sum = crowded(call, 4, &at);
    return sum + at;
}

/* The registers that a call preserves, when they hold addresses of the stack. */

word hold_registers(word (*f)(word), word arg, word *moved);

/* Bytes from hold_registers' return address to the one of what it calls. */
#define HOLD_REGISTERS_FRAME (2 * 8 + 5 * 8 + 8 + 48)

/* One register is wrong if its distance isn't 0. */
UNDER_TEST word held(word s, word levels, word *caller) {
    word moved[6] = { s, s, s, s, s, s };
    word sum = levels > 0 ? held(s + 1, levels - 1, moved) : hold_registers(grow, MORE, moved);
    *caller += moved[0] | moved[1] | moved[2] | moved[3] | moved[4] | moved[5];
    return mix(sum, s);
}

/* The registers are still in registers when the called function's prologue grows the stack. */
DRIVER word registers(struct Call *call) {
    word moved[6];
    call->checks = 1 + MORE;
    ABOUT_TO_CALL(call, HOLD_REGISTERS_FRAME);
    word sum = hold_registers(grow, MORE, moved);
    for (int i = 0; i < 6; i++)
        sum = mix(sum, moved[i]);
    return sum;
}

/* They are in the frames of callees, which have saved them, when it grows further down. */
DRIVER word registers_further_up(struct Call *call) {
    word wrong = 0;
    call->checks = 2 + 9 + MORE;
    ABOUT_TO_CALL(call, 0);
    word sum = held(call->seed, 9, &wrong);
    return mix(sum, wrong);
}

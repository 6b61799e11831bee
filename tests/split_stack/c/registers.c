/* Registers that a call preserves, and that hold addresses of the stack. */

word hold_registers(word (*f)(word), word arg, word *moved);

/* The bytes from hold_registers' return address to that of the function that it calls. */
#define HOLD_REGISTERS_FRAME (2 * 8 + 5 * 8 + 8 + 48)

/* Each word of `moved` must be 0 in the end: no register is wrong. */
UNDER_TEST word held(word s, word levels, word *caller) {
    word moved[6] = { s, s, s, s, s, s };
    word sum = levels > 0 ? held(s + 1, levels - 1, moved) : hold_registers(grow, MORE, moved);
    *caller += moved[0] | moved[1] | moved[2] | moved[3] | moved[4] | moved[5];
    return mix(sum, s);
}

/* The addresses are still in the registers when the called function's prologue grows the stack. */
DRIVER word registers(struct Call *call) {
    word moved[6];
    call->checks = 1 + MORE;
    ABOUT_TO_CALL(call, HOLD_REGISTERS_FRAME);
    word sum = hold_registers(grow, MORE, moved);
    for (int i = 0; i < 6; i++)
        sum = mix(sum, moved[i]);
    return sum;
}

/* The callees have saved the registers in their frames when the stack grows. */
DRIVER word registers_further_up(struct Call *call) {
    word wrong = 0;
    call->checks = 2 + 9 + MORE;
    ABOUT_TO_CALL(call, 0);
    word sum = held(call->seed, 9, &wrong);
    return mix(sum, wrong);
}

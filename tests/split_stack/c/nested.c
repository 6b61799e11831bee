/* GNU nested functions that are called directly. The static chain, a pointer to the frame of the
   function around them, is an argument in a register of its own. Their address isn't taken, because
   that would put code on the stack. */

/* The outer frame is the driver's, so that the nested function's prologue grows the stack. */
DRIVER word nested(struct Call *call) {
    word sum = call->seed, turns = 0;
    __attribute__((noipa)) word add(word a, word b) {
        sum = mix(sum, a);
        turns++;
        sum = mix(sum, grow(MORE));
        return sum + b;
    }
    call->checks = 2 * (1 + MORE);
    ABOUT_TO_CALL(call, 0);
    word first = add(call->seed, 3);
    word second = add(first, turns);
    return mix(mix(first, second), mix(sum, turns));
}

/* The static chain, arguments in all six registers, and arguments on the stack. */
DRIVER word nested_with_arguments(struct Call *call) {
    word s = call->seed, sum = s, at[2] = { s, s * 3 };
    __attribute__((noipa)) double add(word a, word *b, word c, word d, word e, word f, word g, word *h, double i,
                                      double j) {
        *b += a + c, *h += d + e;
        sum = mix(mix(sum, f), mix(g, grow(MORE)));
        at[0] += at[1];
        return i * 3 + j;
    }
    call->checks = 1 + MORE;
    ABOUT_TO_CALL(call, 16);
    double back = add(s, &at[0], s >> 1, s >> 2, s >> 3, s >> 4, s >> 5, &at[1], (double)s, (double)(s >> 6));
    return mix(mix(bits(back), sum), mix(at[0], at[1]));
}

/* Two static chains: the inner function's leads to a frame that has a chain of its own. */
DRIVER word twice_nested(struct Call *call) {
    word outermost = call->seed;
    __attribute__((noipa)) word outer(word n) {
        word middle = n;
        __attribute__((noipa)) word inner(word m) {
            outermost = mix(outermost, m + grow(1));
            middle += m;
            return m > 0 ? inner(m - 1) + outermost : middle;
        }
        word sum = inner(n);
        return n > 1 ? mix(outer(n - 1), sum + middle) : sum;
    }
    call->checks = 3 + 3 * 4;
    ABOUT_TO_CALL(call, 0);
    word sum = outer(3);
    return mix(sum, outermost);
}

/* Each level of a recursion uses the outermost frame, through a longer and longer chain. */
DRIVER word nested_recursion(struct Call *call) {
    word visited = 0, deepest = 0;
    __attribute__((noipa)) void visit(word level) {
        word here = level;
        visited = mix(visited, level);
        if (level < call->levels)
            visit(level + 1);
        else
            deepest = here;
        visited = mix(visited, here);
    }
    call->checks = call->levels;
    ABOUT_TO_CALL(call, 0);
    visit(1);
    return mix(visited, deepest);
}

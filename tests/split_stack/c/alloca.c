/* alloca. If the stack is too short, the block is in other memory. A move must adjust the addresses
   in that block, too, and the memory must be freed in time. */

#include <alloca.h>
#include <string.h>

/* How many KiB the stack grows once there are blocks: more than what it has grown for them. */
#define MUCH_MORE 50

struct Block {
    struct Block *next;
    word *place;
    word number;
    word data[];
};

UNDER_TEST word many_blocks(word s, word turns) {
    word at[4] = { s, s * 3, s * 5, s * 7 };
    struct Block *first = NULL;
    for (word i = 0; i < turns; i++) {
        word words = 1 + i % 7 * 5;
        struct Block *block = alloca(sizeof *block + words * sizeof(word));
        *block = (struct Block){ first, &at[i % 4], i };
        for (word k = 0; k < words; k++)
            block->data[k] = s >> k % 60;
        first = block;
    }
    word sum = grow(MUCH_MORE);
    for (struct Block *block = first; block != NULL; block = block->next) {
        *block->place += block->number;
        sum = mix(sum, mix(*block->place, block->data[block->number % 7 * 5]));
    }
    return mix(mix(sum, at[0]), mix(at[1], at[2] + at[3]));
}

/* Blocks of a loop, each with a pointer to the frame and one to the block before. */
DRIVER word alloca_in_a_loop(struct Call *call) {
    call->checks = 1 + MUCH_MORE;
    ABOUT_TO_CALL(call, 0);
    return many_blocks(call->seed, 50);
}

UNDER_TEST word blocks_of_callers(word s, word levels, struct Block *caller) {
    word at = s;
    struct Block *block = alloca(sizeof *block + levels % 5 * 100);
    *block = (struct Block){ caller, &at, levels };
    if (levels > 0)
        return mix(blocks_of_callers(s >> 1, levels - 1, block), *block->place);
    word sum = grow(MUCH_MORE);
    for (; block != NULL; block = block->next)
        sum = mix(sum, *block->place += block->number);
    return sum;
}

/* Blocks of a recursion: the innermost level walks the blocks of all levels. */
DRIVER word alloca_in_a_recursion(struct Call *call) {
    call->checks = 1 + call->levels + MUCH_MORE;
    ABOUT_TO_CALL(call, 0);
    return blocks_of_callers(call->seed, call->levels, NULL);
}

UNDER_TEST word large_block(word s, word bytes) {
    word at = s;
    word **pointers = alloca(bytes);
    word n = bytes / sizeof *pointers;
    for (word i = 0; i < n; i += 64)
        pointers[i] = &at;
    word sum = grow(MORE);
    for (word i = 0; i < n; i += 64)
        sum = mix(sum, *pointers[i] += i);
    return mix(sum, at);
}

/* A block larger than the stack, and another one when the stack is large enough. */
DRIVER word large_alloca(struct Call *call) {
    call->checks = 2 * (1 + MORE);
    ABOUT_TO_CALL(call, 0);
    word sum = large_block(call->seed, 100 << 10);
    return mix(sum, large_block(sum, 50 << 10));
}

/* Blocks again and again in one goroutine: memory outside the stack is freed meanwhile. */
DRIVER word alloca_again(struct Call *call) {
    word sum = call->seed;
    call->checks = call->levels / 3 * (1 + MORE);
    ABOUT_TO_CALL(call, 0);
    for (word i = 0; i < call->levels / 3; i++)
        sum = large_block(sum, 50 << 10);
    return sum;
}

/* Leaves addresses of the stack where the next frames will be. */
UNDER_TEST word leave_addresses(void) {
    word *volatile left[200];
    for (word i = 0; i < 200; i++)
        left[i] = (word *)&left[i];
    return sizeof *left[199];
}

/* Blocks of two words, of which ten bytes hold text. */
UNDER_TEST word texts(word s) {
    unsigned char *at[40];
    for (word i = 0; i < 40; i++) {
        at[i] = alloca(16);
        memset(at[i], 0, 16);
        memset(at[i], (int)(s + i * 7), 10);
    }
    word sum = grow(MUCH_MORE);
    for (word i = 0; i < 40; i++)
        for (word k = 0; k < 10; k++)
            sum = mix(sum, at[i][k]);
    return sum;
}

/* `texts` fills each block before it writes a part of it, as code on a copying stack has to. So no
   old address is left in the rest of the block. */
DRIVER word alloca_of_bytes(struct Call *call) {
    call->checks = 2 + MUCH_MORE;
    ABOUT_TO_CALL(call, 0);
    word size = leave_addresses();
    return mix(texts(call->seed), size);
}

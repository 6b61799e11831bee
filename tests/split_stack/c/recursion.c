/* Recursion: how far down a stack can go, and how its frames refer to each other. */

UNDER_TEST word odd(word n, word *callers, word *bottom);

UNDER_TEST word even(word n, word *callers, word *bottom) {
    word here = n;
    *callers += 1;
    if (n == 0)
        return *bottom += 1;
    word sum = odd(n - 1, &here, bottom);
    return mix(sum, here);
}

UNDER_TEST word odd(word n, word *callers, word *bottom) {
    word here = n * 3;
    *callers += 2;
    if (n == 0)
        return *bottom += 2;
    word sum = even(n - 1, &here, bottom);
    return mix(sum, here);
}

/* A recursion of `deep_levels` levels. Each changes its caller's local, and the last one changes a
   local of the driver. */
DRIVER word mutual(struct Call *call) {
    word at = call->seed, bottom = call->seed;
    call->checks = 1 + call->deep_levels;
    ABOUT_TO_CALL(call, 0);
    word sum = even(call->deep_levels, &at, &bottom);
    return mix(mix(sum, at), bottom);
}

struct Node {
    struct Node *caller;
    struct Node *callee;
    word number;
};

UNDER_TEST word list(word s, word levels, struct Node *caller) {
    struct Node node = { caller, NULL, s };
    if (caller != NULL)
        caller->callee = &node;
    word sum = s;
    if (levels > 0) {
        sum = list(mix(s, levels), levels - 1, &node);
    } else {
        /* Walks up to the outermost node, and down again. */
        struct Node *at = &node;
        for (; at->caller != NULL; at = at->caller)
            sum = mix(sum, at->number++);
        for (; at != NULL; at = at->callee)
            sum = mix(sum, at->number++);
    }
    return mix(sum, node.number);
}

/* A list of nodes that are in the frames of a recursion, linked both ways. */
DRIVER word lists(struct Call *call) {
    call->checks = 1 + call->levels;
    ABOUT_TO_CALL(call, 0);
    return list(call->seed, call->levels, NULL);
}

UNDER_TEST word tree(word s, word levels, word **path, word depth) {
    word here = s;
    word sum = 0;
    path[depth] = &here;
    if (levels > 0) {
        sum = tree(mix(s, 1), levels - 1, path, depth + 1);
        sum = mix(sum, tree(mix(s, 2), levels - 1, path, depth + 1));
    } else {
        for (word i = 0; i <= depth; i++)
            sum = mix(sum, *path[i] += i);
    }
    path[depth] = NULL;
    return mix(sum, here);
}

/* A recursion that goes down and up many times. An array in the outermost frame has the path of the
   current level. */
DRIVER word trees(struct Call *call) {
    word *path[6];
    call->checks = 63;
    ABOUT_TO_CALL(call, 0);
    return tree(call->seed, 5, path, 0);
}

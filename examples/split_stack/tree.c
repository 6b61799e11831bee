// A binary search tree whose nodes are in the frames of a recursion. No stack size was chosen for
// it: compiled with -fsplit-stack, each prologue checks whether its frame fits.

#include <stddef.h>
#include <stdint.h>

struct node {
    struct node *left, *right;
    uint64_t key;
};

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 20;
}

// Returns the sum of the keys below a node. It recurses as deep as the tree.
__attribute__((noinline)) static uint64_t sum(const struct node *node)
{
    return node ? sum(node->left) + node->key + sum(node->right) : 0;
}

// Inserts `n` random keys, each in a frame below the last. The deepest frame then sums up the tree.
__attribute__((noinline)) static uint64_t insert(struct node *root, uint64_t n, uint64_t *seed)
{
    if (n == 0)
        return sum(root);
    struct node node = { .key = next(seed) };
    struct node **place = &root;
    while (*place)
        place = node.key < (*place)->key ? &(*place)->left : &(*place)->right;
    *place = &node;
    uint64_t total = insert(root, n - 1, seed);
    // Keeps the node in its frame until here, as others point to it.
    __asm__ volatile("" : : "r"(&node) : "memory");
    return total;
}

// Returns the sum of a tree of `n` nodes minus the sum of its keys: 0, if all is well.
uint64_t tree(uint64_t n)
{
    uint64_t seed = n, again = n, expected = 0;
    for (uint64_t i = 0; i < n; i++)
        expected += next(&again);
    return insert(NULL, n, &seed) - expected;
}

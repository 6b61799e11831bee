/*
 * Step 5: a collector that knows nothing of the compiler. It stops the world and marks each cell
 * whose address may be in a word of the stacks, of registers or of other cells. It frees all other
 * cells. Go's collector works while the program runs, with maps of each frame; the calls are the
 * same.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "gosched.h"

enum { CELLS = 1 << 16, GOROUTINES = 16, TREES = 50, DEPTH = 9 };

/* A node of a tree. All cells of the heap are of this type. */
struct cell {
    struct cell *left, *right;
};

/* The heap. The lock protects it, except while the world is stopped. */
static struct gosched_mutex lock;
static struct cell cells[CELLS];
static bool marked[CELLS];
static struct cell *unused_cells;
static struct cell *grey[CELLS];
static int ngrey, collections;

/* Marks the cell that contains an address, if there is one. */
static void mark(uintptr_t address)
{
    uintptr_t at = (address - (uintptr_t)cells) / sizeof *cells;
    if (address < (uintptr_t)cells || at >= CELLS || marked[at])
        return;
    marked[at] = true;
    grey[ngrey++] = &cells[at];
}

static void mark_range(uintptr_t lo, uintptr_t hi, void *unused)
{
    for (; lo < hi; lo += sizeof(uintptr_t))
        mark(*(uintptr_t *)lo);
    while (ngrey > 0) {
        struct cell *cell = grey[--ngrey];
        mark((uintptr_t)cell->left);
        mark((uintptr_t)cell->right);
    }
    (void)unused;
}

/* Suspends a goroutine and scans it. Without that, a goroutine in a system call could go on, even
 * in a stopped world. */
static void scan(struct gosched_g *g, void *unused)
{
    struct gosched_suspend_state state;
    gosched_suspend_g(g, &state);
    if (!state.dead)
        gosched_scan_stack(g, mark_range, unused);
    gosched_resume_g(&state);
}

/* Runs on the scheduler's stack. The goroutine that collects is waiting meanwhile, so that its own
 * stack can be scanned, too. */
static void mark_and_sweep(void *me)
{
    gosched_cas_g_to_waiting(me, GOSCHED_GRUNNING, GOSCHED_WAIT_REASON_NONE);
    memset(marked, 0, sizeof marked);
    gosched_for_each_g_race(scan, NULL);
    gosched_casgstatus(me, GOSCHED_GWAITING, GOSCHED_GRUNNING);
    unused_cells = NULL;
    for (struct cell *cell = cells; cell < cells + CELLS; cell++)
        if (!marked[cell - cells]) {
            *cell = (struct cell){unused_cells, NULL};
            unused_cells = cell;
        }
    collections++;
}

static void collect(void)
{
    struct gosched_world_stop stop = gosched_stop_the_world(GOSCHED_STW_REASON_GC_SWEEP_TERM);
    /* Another goroutine may have collected while this one waited for its turn. */
    if (!unused_cells)
        gosched_systemstack_scannable(mark_and_sweep, gosched_getg());
    gosched_start_the_world(stop);
}

static struct cell *allocate(void)
{
    struct cell *cell;
    for (;;) {
        gosched_lock(&lock);
        cell = unused_cells;
        if (cell)
            unused_cells = cell->left;
        gosched_unlock(&lock);
        if (cell)
            break;
        collect();
    }
    *cell = (struct cell){NULL, NULL};
    return cell;
}

static struct cell *tree(int depth)
{
    struct cell *cell = allocate();
    if (depth > 0) {
        cell->left = tree(depth - 1);
        cell->right = tree(depth - 1);
    }
    return cell;
}

static int nodes(const struct cell *cell)
{
    return cell ? 1 + nodes(cell->left) + nodes(cell->right) : 0;
}

static struct gosched_chan *counts;

static void grow(void *unused)
{
    struct cell *kept = tree(DEPTH);
    int n = 0;
    (void)unused;
    for (int i = 0; i < TREES; i++)
        n += nodes(tree(DEPTH));
    n += nodes(kept);
    gosched_chan_send(counts, &n);
}

static void *start(void *total)
{
    int n;
    gosched_chan_make(sizeof n, 0, &counts);
    for (int i = 0; i < GOROUTINES; i++)
        gosched_newproc(grow, NULL);
    for (int i = 0; i < GOROUTINES; i++) {
        gosched_chan_recv(counts, &n);
        *(long *)total += n;
    }
    return NULL;
}

int main(void)
{
    static long total;
    /* A goroutine that has lost its processor would go on in a stopped world. */
    gosched_set_detach(false);
    int error = gosched_run_copying(start, &total, NULL);
    printf("%ld nodes, %s\n", total, collections > 2 ? "in fewer cells" : "never collected");
    return error;
}

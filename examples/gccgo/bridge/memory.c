// Memory: a heap from which nothing is freed. Go's malloc.go.

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "libgo.h"

#define HEAP ((uintptr_t)1 << 40)

static uintptr_t first, next, objects;

// Reserves address space only: the kernel provides a page of zeros when the page is first touched.
__attribute__((constructor)) static void reserve(void)
{
    void *heap = mmap(NULL, HEAP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (heap == MAP_FAILED) {
        perror("no address space for a heap");
        exit(2);
    }
    first = next = (uintptr_t)heap;
}

void *mallocgc(uintptr_t size, const struct type *type, bool zero)
{
    (void)type, (void)zero;
    static uint64_t zerobase;
    if (size == 0)
        return &zerobase;
    if (size > HEAP / 2)
        throw((struct string){ "out of memory", 13 });
    __atomic_fetch_add(&objects, 1, __ATOMIC_RELAXED);
    return (void *)__atomic_fetch_add(&next, (size + 15) & -16, __ATOMIC_RELAXED);
}

void gc(void) GO("runtime.GC");
void gc(void) {}

void set_finalizer(struct eface object, struct eface finalizer) GO("runtime.SetFinalizer");
void set_finalizer(struct eface object, struct eface finalizer)
{
    (void)object, (void)finalizer;
}

// The head of runtime.MemStats.
struct memstats { uint64_t alloc, total_alloc, sys, lookups, mallocs, frees, heap_alloc, heap_sys; };

void read_memstats(struct memstats *stats) GO("runtime.ReadMemStats");
void read_memstats(struct memstats *stats)
{
    uint64_t bytes = __atomic_load_n(&next, __ATOMIC_RELAXED) - first;
    stats->alloc = stats->total_alloc = stats->sys = stats->heap_alloc = stats->heap_sys = bytes;
    stats->mallocs = __atomic_load_n(&objects, __ATOMIC_RELAXED);
}

void free_os_memory(void) GO("runtime_1debug.freeOSMemory");
void free_os_memory(void) {}

int32_t set_gc_percent(int32_t percent) GO("runtime_1debug.setGCPercent");
int32_t set_gc_percent(int32_t percent)
{
    static int32_t now = 100;
    return __atomic_exchange_n(&now, percent, __ATOMIC_RELAXED);
}

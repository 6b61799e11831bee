// Panics. libgo still raises, defers and recovers: it unwinds with libgcc's unwinder, which works
// on copying stacks as long as they don't move meanwhile. This file makes room for the unwinder,
// adjusts what libgo keeps of a stack outside of it, makes panics of faults, and ends a program
// that doesn't recover.

#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "libgo.h"

extern const struct type plain_error GO("runtime.plainError..d");
_Noreturn void gopanic(struct eface value) GO("runtime.gopanic");

void panic_plain(const char *text)
{
    struct string *string = mallocgc(sizeof *string, NULL, true);
    *string = (struct string){ text, strlen(text) };
    gopanic((struct eface){ &plain_error, string });
}

static void push(struct defer *d, bool *frame, uintptr_t pfn, void *arg)
{
    struct g *g = getg();
    d->link = g->defer;
    d->frame = frame;
    d->panic_stack = g->panic;
    d->pfn = pfn;
    d->arg = arg;
    g->defer = d;
}

// A `defer` statement that may be executed more than once. libgo would take the record from its P
// and later give it back there, unless the record isn't from the heap.
void deferproc(bool *frame, uintptr_t pfn, void *arg) GO("runtime.deferproc");
void deferproc(bool *frame, uintptr_t pfn, void *arg)
{
    push(mallocgc(sizeof(struct defer), NULL, true), frame, pfn, arg);
}

// A `defer` statement that is executed once, with its record in the frame. The memset also writes
// the record's last word as a whole: otherwise what is left there of an older address could be
// taken for one.
void deferproc_stack(struct defer *d, bool *frame, uintptr_t pfn, void *arg) GO("runtime.deferprocStack");
void deferproc_stack(struct defer *d, bool *frame, uintptr_t pfn, void *arg)
{
    memset(d, 0, sizeof *d);
    push(d, frame, pfn, arg);
}

// ---- Stacks that move

// libgcc's exception. While it is thrown, it has the address of the frame that catches it.
struct unwinding { uint64_t class; void *cleanup; uintptr_t private1, private2; };

static void adjust(const struct gosched_adjust_info *info, void *place)
{
    gosched_adjust_pointer(info, place);
}

// Adjusts what libgo keeps in the heap of a stack that moves. A record on the stack itself has been
// adjusted with the stack.
static void copystack(struct gosched_g *gp, const struct gosched_adjust_info *info)
{
    struct g *g = g_of(gp);
    if (!g)
        return;
    adjust(info, &g->defer);
    for (struct defer *d = g->defer; d; d = d->link) {
        if ((uintptr_t)d - (info->old_lo + info->delta) < info->old_hi - info->old_lo)
            continue;
        adjust(info, &d->link);
        adjust(info, &d->frame);
        adjust(info, &d->arg);
    }
    if (g->exception)
        adjust(info, &g->exception->private2);
}

// ---- Faults

extern char text_start[] __asm__("__start_gosched_preemptible"), text_end[] __asm__("__stop_gosched_preemptible");

_Noreturn void panicmem(void) GO("runtime.panicmem");
_Noreturn void panicdivide(void) GO("runtime.panicdivide");

static struct sigaction next_handler[NSIG];

NO_CHECK static bool is_go(uintptr_t pc)
{
    return pc - (uintptr_t)text_start < (uintptr_t)(text_end - text_start);
}

void panic_of_fault(void);
void panic_of_fault(void)
{
    if (getg()->sig == SIGFPE)
        panicdivide();
    panicmem();
}

// A fault continues here, as if the instruction had called this. It aligns the stack, which may
// have any alignment in the middle of a function.
__asm__(".pushsection .text\n"
        "sigpanic: .cfi_startproc\n"
        "  push %rbp\n  .cfi_def_cfa_offset 16\n  .cfi_offset %rbp, -16\n"
        "  mov %rsp, %rbp\n  .cfi_def_cfa_register %rbp\n"
        "  and $-16, %rsp\n"
        "  call panic_of_fault\n"
        "  ud2\n"
        "  .cfi_endproc\n"
        ".popsection");
extern char sigpanic[];

// Go's sighandler and preparePanic, on the thread's signal stack.
NO_CHECK static void handle(int sig, siginfo_t *info, void *context)
{
    greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
    uintptr_t pc = regs[REG_RIP], *sp = (uintptr_t *)regs[REG_RSP];
    if (is_go(pc)) {
        // The unwinder looks up the instruction before what it takes for a return address.
        *--sp = pc + 1;
    } else if (pc && !is_go(*sp)) {
        next_handler[sig].sa_sigaction(sig, info, context);
        return;
    }
    // Otherwise Go code has called a function without a frame, such as memmove, or a nil function:
    // the caller panics.
    regs[REG_RSP] = (greg_t)sp;
    regs[REG_RIP] = (greg_t)sigpanic;
    struct g *g = getg();
    g->sig = sig;
    g->sigcode0 = info->si_code;
    g->sigcode1 = (uintptr_t)info->si_addr;
    g->sigpc = pc;
}

void prepare_panics(void)
{
    gosched_set_hooks(&(struct gosched_hooks){ .copystack = copystack });
    static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE };
    for (int i = 0; i < 3; i++) {
        struct sigaction action = { .sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK };
        sigaction(signals[i], &action, &next_handler[signals[i]]);
    }
}

// ---- The end

void traceback(int32_t skip) GO("runtime.traceback");
void printlock(void) GO("runtime.printlock");
void printunlock(void) GO("runtime.printunlock");
void printstring(struct string text) GO("runtime.printstring");
void printint(int64_t number) GO("runtime.printint");
void printhex(uint64_t number) GO("runtime.printhex");

static struct gosched_mutex dying;

static void print(const char *text)
{
    printstring((struct string){ text, strlen(text) });
}

// Begins to print a throw, or a panic that nobody has recovered. One goroutine prints at a time,
// and the first ends the program. libgo would stop its own Ms first, and complain that its heap
// isn't there.
bool startpanic(void) GO("runtime.startpanic__m");
bool startpanic(void)
{
    struct m *m = getg()->m;
    if (m->dying++)
        _exit(3);
    gosched_lock(&dying);
    return true;
}

bool dopanic(struct g *g, uintptr_t pc, uintptr_t sp) GO("runtime.dopanic__m");
bool dopanic(struct g *g, uintptr_t pc, uintptr_t sp)
{
    (void)pc, (void)sp;
    printlock();
    if (g->sig) {
        print(g->sig == SIGSEGV  ? "[signal SIGSEGV: segmentation violation"
              : g->sig == SIGBUS ? "[signal SIGBUS: bus error"
                                 : "[signal SIGFPE: floating-point exception");
        print(" code="), printhex(g->sigcode0);
        print(" addr="), printhex(g->sigcode1);
        print(" pc="), printhex(g->sigpc), print("]\n");
    }
    print("\ngoroutine "), printint(g->goid), print(" [running]:\n");
    traceback(0);
    printunlock();
    // The caller ends the program.
    return false;
}

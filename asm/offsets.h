// Every struct offset that assembly knows, in bytes. src/runtime/arch/offsets.rs reads this file at
// compile time and asserts each line against offset_of!. So a field that moves breaks the build and
// not a goroutine.

// Gobuf
#define GOBUF_SP 0
#define GOBUF_PC 8
#define GOBUF_G 16
#define GOBUF_CTXT 24
#define GOBUF_BP 48

// Stack
#define STACK_LO 0
#define STACK_HI 8

// G
#define G_STACK 0
#define G_STACKGUARD0 16
#define G_M 48
#define G_SCHED 56
#define G_STARTPC 296
#define G_X_REGS 496
#define G_TP 504
#define G_SANITIZER 528

// M
#define M_G0 0
#define M_MOREBUF 8
#define M_GSIGNAL 80
#define M_CURG 312
#define M_TP 5888
#define M_NEXT_TP 5896
#define M_THREAD_FIBER 5920
#define M_FIBER_TURNS 5928
#define M_SYSCALL_REGS 5936

// Regs, the registers of a goroutine that a signal stopped (src/runtime/arch/*/sigctxt.rs)
#define REGS_PC 0
#define REGS_SP 8
#define REGS_FP 16
#define REGS_SAVED 24

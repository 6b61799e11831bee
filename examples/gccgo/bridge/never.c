// Functions that libgo's scheduler and collector would call if they were in use. Their code is
// still in the same object as maps, strings and panics, so the linker needs these functions.

#include "libgo.h"

#define NEVER(name, symbol) \
    void name(void) __asm__(symbol); \
    void name(void) { throw((struct string){ symbol, sizeof symbol - 1 }); }

NEVER(never_gogo, "runtime.gogo")
NEVER(never_malg, "runtime.malg")
NEVER(never_stackfree, "runtime.stackfree")
NEVER(never_newosproc, "runtime.newosproc")
NEVER(never_setg, "runtime.setg")
NEVER(never_makeGContext, "runtime.makeGContext")
NEVER(never_setGContext, "runtime.setGContext")
NEVER(never_resetNewG, "runtime.resetNewG")
NEVER(never_gtraceback, "runtime.gtraceback")
NEVER(never_getTraceback, "runtime.getTraceback")
NEVER(never_entersyscall, "runtime.entersyscall")
NEVER(never_entersyscallblock, "runtime.entersyscallblock")
NEVER(never_doscanstack, "runtime.doscanstack")
NEVER(never_doscanstackswitch, "runtime.doscanstackswitch")
NEVER(never_dumpregs, "runtime.dumpregs")
NEVER(never_getSigtramp, "runtime.getSigtramp")
NEVER(never_getSigactionHandler, "runtime.getSigactionHandler")
NEVER(never_setSigactionHandler, "runtime.setSigactionHandler")
NEVER(never_getSiginfo, "runtime.getSiginfo")
NEVER(never_getSiginfoCode, "runtime.getSiginfoCode")

// libgo has no maps of frames on this architecture either.
bool runtime_usestackmaps;

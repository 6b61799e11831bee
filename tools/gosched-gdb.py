"""gdb commands for programs that are built with gosched, as Go's runtime-gdb.py has them:

    info goroutines         all goroutines, with their states
    goroutine 7 bt          the stack of one; any other command is run in its innermost frame
    goroutine 7 print X     its own X, if that is a thread-local and it has its own
    goroutine all bt        those of all

For processes and for core files. The program needs debug information: `debug = true` in its
profile, or that for the package gosched alone. Then it brings this script along, and gdb
loads it if its auto-load safe-path has the program in it; or `source tools/gosched-gdb.py`.
"""

import contextlib
import re

import gdb
import gdb.unwinder

FIRST = 64  # entries in the first part of the list of all G's (src/runtime/g/allgs.rs)
GSCAN = 0x1000
RUNNING, SYSCALL, WAITING = 2, 3, 4
STATES = {0: "idle", 1: "runnable", 2: "running", 3: "syscall", 4: "waiting", 6: "dead", 8: "copystack", 9: "preempted"}
HIDDEN = ("idle", "dead")


def plain(value):
    """What is inside of atomics and cells."""
    while value.type.strip_typedefs().code == gdb.TYPE_CODE_STRUCT:
        fields = [field for field in value.type.fields() if field.type.sizeof > 0]
        if len(fields) != 1:
            break
        value = value[fields[0]]
    return value


def field(struct, *path):
    for name in path:
        struct = plain(struct)[name]
    return plain(struct)


def static(name):
    symbol = gdb.lookup_static_symbol(name) or gdb.lookup_global_symbol(name)
    if symbol is None:
        raise gdb.GdbError(
            "no %s: the program isn't built with gosched, or without its types: they need "
            "`debug = true` in the profile, for the package gosched at least" % name
        )
    return symbol.value()


# Types are taken from statics. If gdb looks up a type by its name, it may find the empty one of a
# unit without types.


def g_type():
    entry = static("gosched::runtime::g::allgs::PARTS").type.target().template_argument(0)
    return entry.template_argument(0)


def m_type():
    return static("gosched::runtime::m::thread::ALLM").type.template_argument(0)


def goroutines():
    """All G's that have begun and not ended."""
    parts, length = static("gosched::runtime::g::allgs::PARTS"), int(field(static("gosched::runtime::g::allgs::ALLGLEN")))
    word = gdb.lookup_type("usize")
    g = g_type()
    for i in range(length):
        part = ((i + FIRST) // FIRST).bit_length() - 1
        entry = int(plain(parts[part])) + (i + FIRST - (FIRST << part)) * word.sizeof
        address = int(gdb.Value(entry).cast(word.pointer()).dereference())
        if address & 1 == 0:
            gp = gdb.Value(address).cast(g.pointer()).dereference()
            if state(gp) not in HIDDEN:
                yield gp


def status(gp):
    return int(field(gp, "atomicstatus")) & ~GSCAN


def state(gp):
    """Its state, or why it waits."""
    if status(gp) == WAITING:
        reason = int(field(gp, "waitreason"))
        text = static("gosched::runtime::data::runtime2::WAIT_REASON_STRINGS")[reason]
        return text["data_ptr"].string(length=int(text["length"])) or STATES[WAITING]
    if status(gp) == RUNNING and is_detached(gp):
        return STATES[RUNNING] + " (detached)"
    return STATES.get(status(gp), "???")


def m_of(gp):
    """The M that it has, if it has one."""
    mp = int(field(gp, "m"))
    if mp == 0:
        return None
    return gdb.Value(mp).cast(m_type().pointer()).dereference()


def is_detached(gp):
    """Whether it runs without a P (src/runtime/sched/detach.rs)."""
    mp = m_of(gp)
    return mp is not None and int(field(mp, "ext", "detached_since")) != 0


def goid(gp):
    return int(field(gp, "goid"))


def saved(gp):
    """Where it goes on: sp, pc, bp."""
    return tuple(int(field(gp, "sched", name)) for name in ("sp", "pc", "bp"))


def thread_of(gp):
    """The thread that runs it, if one does."""
    mp = m_of(gp) if status(gp) in (RUNNING, SYSCALL) else None
    if mp is None:
        return None
    procid = int(field(mp, "procid"))
    threads = gdb.selected_inferior().threads()
    return next((thread for thread in threads if procid in thread.ptid[1:]), None)


@contextlib.contextmanager
def selection_kept():
    """Selects the thread and the frame again that are selected now."""
    thread, frame = gdb.selected_thread(), gdb.selected_frame()
    try:
        yield
    finally:
        thread.switch()
        frame.select()


def function(gp):
    """The innermost function, or the address if that isn't known."""
    thread = thread_of(gp)
    if thread is not None:
        # The saved registers are those of its last park.
        with selection_kept():
            thread.switch()
            frame = gdb.newest_frame()
            return frame.name() or hex(frame.pc())
    _, pc, _ = saved(gp)
    block = gdb.block_for_pc(pc)
    while block is not None and block.function is None:
        block = block.superblock
    return block.function.print_name if block is not None else hex(pc)


def registers_of(frame):
    """The names of the registers that say where a frame is."""
    return ("rsp", "rip", "rbp") if "x86" in frame.architecture().name() else ("sp", "pc", "x29")


def place_of(frame):
    """A frame's stack pointer and pc."""
    return tuple(int(frame.read_register(name)) & (1 << 64) - 1 for name in registers_of(frame)[:2])


class Parked(gdb.unwinder.Unwinder):
    """While a goroutine is looked at, it is the caller of the innermost frame."""

    def __init__(self):
        super().__init__("gosched")
        self.registers = None

    def __call__(self, pending):
        if self.registers is None:
            return None
        names, here = registers_of(pending), place_of(pending)
        if here != self.innermost:
            return None
        sp, pc, bp = self.registers
        values = [gdb.Value(at).cast(pending.read_register(names[1]).type) for at in (sp - 16, here[1])]
        # gdb looks at the instruction before a return address, and rejects a stack that goes down.
        info = pending.create_unwind_info(FrameId(*values))
        for name, value in zip(names, (sp, pc + 1, bp)):
            info.add_saved_register(name, gdb.Value(value).cast(pending.read_register(name).type))
        return info

    def show(self, registers):
        gdb.newest_frame().select()
        self.innermost = place_of(gdb.newest_frame())
        self.registers = registers
        gdb.invalidate_cached_frames()

    def hide(self):
        self.registers = None
        gdb.invalidate_cached_frames()


class FrameId:
    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


PARKED = Parked()
gdb.unwinder.register_unwinder(None, PARKED, True)


def places(name):
    """A thread-local's possible symbols: Rust's thread_local! wraps it in one of several ways."""
    yield name
    for n in range(4):
        for value in ("VAL", "__RUST_STD_INTERNAL_VAL"):
            yield "%s::{constant#0}::{closure#%d}::%s" % (name, n, value)


def is_linked(symbol):
    try:
        gdb.execute("info address " + symbol.linkage_name, to_string=True)
    except gdb.error:
        return False
    return True


def thread_local(name):
    """The symbol of a thread-local, if there is one of that name."""
    for place in places(name):
        symbol = gdb.lookup_global_symbol(place) or gdb.lookup_static_symbol(place)
        if symbol is not None and symbol.addr_class == gdb.SYMBOL_LOC_COMPUTED and not symbol.needs_frame:
            if is_linked(symbol):
                return symbol
    return None


def thread_of_sysmon():
    """Sysmon's thread, whose thread pointer is always its own, and that thread pointer."""
    threads = {number: thread for thread in gdb.selected_inferior().threads() for number in thread.ptid[1:]}
    mp = int(plain(static("gosched::runtime::m::thread::ALLM")))
    while mp != 0:
        m = gdb.Value(mp).cast(m_type().pointer()).dereference()
        thread = threads.get(int(field(m, "procid")) or None)
        if thread is not None and field(m, "ext", "system"):
            return thread, int(field(m, "ext", "tp"))
        mp = int(field(m, "alllink"))
    raise gdb.GdbError("sysmon's thread, by which a thread-local's place is known, hasn't begun yet")


def own_local(gp, symbol):
    """A goroutine's own value of a thread-local.

    It is as far from the goroutine's thread pointer as a thread's value is from the thread's.
    """
    with selection_kept():
        thread, tp = thread_of_sysmon()
        thread.switch()
        value = symbol.value()
        address = int(value.address) - tp + int(field(gp, "ext", "tp"))
    if not int(field(gp, "stack")["hi"]) <= address < int(gp.address):
        raise gdb.GdbError("%s is of a library that was loaded later: its place isn't known" % symbol.name)
    return gdb.Value(address).cast(value.type.pointer()).dereference()


def with_own_locals(gp, command):
    """The command with a convenience variable for each thread-local in it."""
    if int(field(gp, "ext", "tp")) == 0:
        return command
    found = {}

    def own(match):
        symbol = thread_local(match[1])
        if symbol is None:
            return match[0]
        variable = found.setdefault(match[1], "gosched_local_%d" % len(found))
        gdb.set_convenience_variable(variable, own_local(gp, symbol))
        return "$" + variable

    return re.sub(r"(?<![\w$:.'])'?([A-Za-z_]\w*(?:::[\w{}#]+)*)'?", own, command)


def run_in(gp, command):
    """Runs a command in the innermost frame of a goroutine."""
    thread = thread_of(gp)
    command = with_own_locals(gp, command)
    is_backtrace = command.split()[0] in ("bt", "backtrace", "where")
    with selection_kept():
        if thread is not None:
            thread.switch()
            gdb.newest_frame().select()
            gdb.execute(command)
            return
        try:
            PARKED.show(saved(gp))
            # The thread's own frame comes first, with those that are inlined into it.
            frame, skipped = gdb.newest_frame(), 1
            while frame.type() == gdb.INLINE_FRAME:
                frame, skipped = frame.older(), skipped + 1
            frame.older().select()
            if not is_backtrace:
                gdb.execute(command)
                return
            more = re.sub(r" \d+$", lambda count: " %d" % (int(count[0]) + skipped), command)
            # A frame may have several lines.
            text = gdb.execute(more, to_string=True)
            starts = [match.start() for match in re.finditer(r"^#", text, re.MULTILINE)]
            gdb.write(text[starts[skipped] :] if len(starts) > skipped else text)
        finally:
            PARKED.hide()


class InfoGoroutines(gdb.Command):
    """All goroutines, with their states; * for those that run."""

    def __init__(self):
        super().__init__("info goroutines", gdb.COMMAND_STACK, gdb.COMPLETE_NONE)

    def invoke(self, arg, from_tty):
        for gp in goroutines():
            runs = "*" if status(gp) in (RUNNING, SYSCALL) else " "
            gdb.write("%s %d %s %s\n" % (runs, goid(gp), state(gp), function(gp)))


class Goroutine(gdb.Command):
    """Runs a command in the innermost frame of a goroutine.

    goroutine NUMBER COMMAND, goroutine all COMMAND
    """

    def __init__(self):
        super().__init__("goroutine", gdb.COMMAND_STACK, gdb.COMPLETE_NONE)

    def invoke(self, arg, from_tty):
        number, _, command = arg.strip().partition(" ")
        if not command.strip() or not (number == "all" or number.isdigit()):
            raise gdb.GdbError("usage: goroutine NUMBER COMMAND, goroutine all COMMAND")
        wanted = [gp for gp in goroutines() if number == "all" or goid(gp) == int(number)]
        if not wanted:
            raise gdb.GdbError("no goroutine " + number)
        for gp in wanted:
            gdb.write("goroutine %d [%s]:\n" % (goid(gp), state(gp)))
            run_in(gp, command.strip())
            gdb.write("\n")


InfoGoroutines()
Goroutine()

"""gdb commands for programs that are built with gosched, as Go's runtime-gdb.py has them:

    info goroutines         all goroutines, with their states
    goroutine 7 bt          the stack of one; any other command is run in its innermost frame
    goroutine all bt        those of all

For processes and for core files. A program that has debug information brings this script along, and gdb
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
        raise gdb.GdbError("no %s: the program isn't built with gosched, or has no debug information" % name)
    return symbol.value()


def goroutines():
    """All G's that have begun and not ended."""
    parts, length = static("gosched::runtime::g::allgs::PARTS"), int(field(static("gosched::runtime::g::allgs::ALLGLEN")))
    word = gdb.lookup_type("usize")
    g = gdb.lookup_type("gosched::runtime::data::runtime2::G")
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
    return STATES.get(status(gp), "???")


def goid(gp):
    return int(field(gp, "goid"))


def saved(gp):
    """Where it goes on: sp, pc, bp."""
    return tuple(int(field(gp, "sched", name)) for name in ("sp", "pc", "bp"))


def thread_of(gp):
    """The thread that runs it, if one does."""
    if status(gp) not in (RUNNING, SYSCALL):
        return None
    mp = int(field(gp, "m"))
    if mp == 0:
        return None
    m = gdb.Value(mp).cast(gdb.lookup_type("gosched::runtime::data::runtime2::M").pointer()).dereference()
    procid = int(field(m, "procid"))
    threads = gdb.selected_inferior().threads()
    return next((thread for thread in threads if procid in thread.ptid[1:]), None)


@contextlib.contextmanager
def selection_kept():
    """Afterwards the thread and the frame are selected that are now."""
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
        # What is saved is where it left last.
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
        # gdb looks at the instruction before a return address; and at no stack that goes down.
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


def run_in(gp, command):
    """Runs a command in the innermost frame of a goroutine."""
    thread = thread_of(gp)
    is_backtrace = command.split()[0] in ("bt", "backtrace", "where")
    with selection_kept():
        if thread is not None:
            thread.switch()
            gdb.newest_frame().select()
            gdb.execute(command)
            return
        try:
            PARKED.show(saved(gp))
            gdb.newest_frame().older().select()
            if not is_backtrace:
                gdb.execute(command)
                return
            # The first is the thread's own frame, which may have several lines.
            one_more = re.sub(r" \d+$", lambda count: " %d" % (int(count[0]) + 1), command)
            text = gdb.execute(one_more, to_string=True)
            start = text.find("\n#")
            gdb.write(text[start + 1 :] if start >= 0 else text)
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
    """Runs a command in the innermost frame of a goroutine: goroutine NUMBER COMMAND, goroutine all COMMAND."""

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

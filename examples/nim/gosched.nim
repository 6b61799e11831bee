## Goroutines, channels and select for Nim, by gosched. The script `run` shows how to compile a
## program.
##
## Arguments of goroutines and values that are sent are moved. Nim allows a `ref` only if nobody
## else has it, and checks that (`std/isolation`), because its counts of references aren't atomic.
## The handles here have atomic counts, and may be copied to anywhere.

import std/[isolation, macros]
export isolation

{.compile("runtime.c", "-DGOSCHED_NIM_RUNTIME").}

type
  RawChan {.importc: "struct gosched_chan", header: "gosched.h", incompleteStruct.} = object
  Case {.importc: "struct gosched_case", header: "gosched.h".} = object
    chan: ptr RawChan
    elem: pointer
  Selected {.importc: "struct gosched_selected", header: "gosched.h".} = object
    index: int
    result: cint
  Function = proc (arg: pointer) {.noconv.}

const
  resultDone = 0.cint
  resultClosed = 2.cint

{.push header: "gosched.h", gcsafe, raises: [].}
proc gosched_chan_make(size, capacity: csize_t; chan: ptr ptr RawChan): cint {.importc.}
proc gosched_chan_free(chan: ptr RawChan) {.importc.}
proc gosched_chan_send(chan: ptr RawChan; elem: pointer): cint {.importc.}
proc gosched_chan_recv(chan: ptr RawChan; elem: pointer): cint {.importc.}
proc gosched_chan_try_recv(chan: ptr RawChan; elem: pointer): cint {.importc.}
proc gosched_chan_close(chan: ptr RawChan): bool {.importc.}
proc gosched_chan_len(chan: ptr RawChan): csize_t {.importc.}
proc gosched_select(cases: ptr Case; sends, recvs: csize_t; wait: bool): Selected {.importc.}
proc gosched_semacquire(address: ptr uint32) {.importc.}
proc gosched_semrelease(address: ptr uint32) {.importc.}
proc gosched_fatalpanic(text: cstring) {.importc, noreturn.}
proc gosched_sleep(ns: int64) {.importc.}
proc gosched_yield() {.importc.}
proc gosched_newproc(fn: Function; arg: pointer) {.importc.}
{.pop.}

proc nim_begin(task: pointer) {.importc, nodecl, noconv.}
proc gosched_blocking(fn: Function; arg: pointer) {.importc, nodecl.}

# Handles. The values behind them are never on a stack, which may move.

type
  Counted[T] = object
    refs: int
    value: T
  Shared[T] = object
    p: ptr Counted[T]

proc `=destroy`[T](s: var Shared[T]) =
  if s.p != nil and atomicSubFetch(addr s.p.refs, 1, ATOMIC_ACQ_REL) == 0:
    `=destroy`(s.p.value)
    deallocShared(s.p)

proc `=copy`[T](to: var Shared[T]; s: Shared[T]) =
  if s.p != nil: discard atomicAddFetch(addr s.p.refs, 1, ATOMIC_RELAXED)
  `=destroy`(to)
  to.p = s.p

proc share[T](value: sink T): Shared[T] =
  result.p = cast[ptr Counted[T]](allocShared0(sizeof(Counted[T])))
  result.p.refs = 1
  result.p.value = value

# Goroutines.

type Task[A] = object
  perform: Function
  fn: proc (args: A) {.nimcall, gcsafe.}
  args: A

proc perform[A](p: pointer) {.noconv.} =
  let task = cast[ptr Task[A]](p)
  try:
    task.fn(task.args)
  except Exception as e:
    gosched_fatalpanic(cstring("Error: unhandled exception: " & e.msg & " [" & $e.name & "]"))
  `=destroy`(task[])
  deallocShared(task)

proc launch*[A](fn: proc (args: A) {.nimcall, gcsafe.}; args: sink Isolated[A]) =
  var args = args
  let task = cast[ptr Task[A]](allocShared0(sizeof(Task[A])))
  task.perform = perform[A]
  task.fn = fn
  task.args = args.extract
  gosched_newproc(nim_begin, task)

macro go*(call: untyped): untyped =
  ## `go f(a, b)` starts a goroutine that runs `f`. `a` and `b` are computed by the caller, and
  ## moved. An exception that the goroutine doesn't catch ends the program, as Go's panics do.
  call.expectKind nnkCall
  let
    fn = call[0]
    args = nnkTupleConstr.newTree(call[1 .. ^1])
    moved = ident"moved"
    inner = newCall(fn)
  for i in 0 ..< args.len:
    inner.add nnkBracketExpr.newTree(moved, newLit(i))
  quote do:
    launch(proc (`moved`: typeof(`args`)) {.nimcall, gcsafe.} = `inner`, isolate(`args`))

proc ms*(n: int): int64 = n * 1_000_000

proc sleep*(ns: int64) = gosched_sleep(ns)

proc pass*() =
  ## Lets other goroutines run.
  gosched_yield()

proc callClosure(p: pointer) {.noconv.} = cast[ptr proc ()](p)[]()

proc blocking*(fn: proc ()) =
  ## Calls a proc that may block its thread, or needs much stack. It may raise, but not send,
  ## receive or wait.
  gosched_blocking(callClosure, unsafeAddr fn)

# Channels.

type
  Queue[T] = object
    raw: ptr RawChan
    # Without a field of type T, Nim 1.6 uses one destructor for the queues of all types.
    left: T
  Chan*[T] = object
    queue: Shared[Queue[T]]
  ClosedError* = object of CatchableError

proc `=destroy`[T](q: var Queue[T]) =
  while gosched_chan_try_recv(q.raw, addr q.left) == resultDone: reset q.left
  gosched_chan_free(q.raw)

proc `=copy`[T](to: var Queue[T]; q: Queue[T]) {.error.}

proc newChan*[T](capacity = 0): Chan[T] =
  var q: Queue[T]
  doAssert gosched_chan_make(csize_t sizeof(T), csize_t capacity, addr q.raw) == 0
  Chan[T](queue: share(q))

proc raw*[T](c: Chan[T]): ptr RawChan = (if c.queue.p == nil: nil else: c.queue.p.value.raw)

proc sent*(how: cint) =
  if how == resultClosed: raise newException(ClosedError, "send on closed channel")

proc send*[T](c: Chan[T]; value: sink Isolated[T]) =
  sent gosched_chan_send(c.raw, unsafeAddr value)
  wasMoved value

template send*[T](c: Chan[T]; value: T) =
  c.send isolate(value)

proc recv*[T](c: Chan[T]; value: var T): bool =
  ## Returns false if the channel is closed and empty.
  reset value
  gosched_chan_recv(c.raw, addr value) == resultDone

proc recv*[T](c: Chan[T]): T =
  ## Returns the zero value if the channel is closed and empty.
  discard c.recv(result)

iterator items*[T](c: Chan[T]): T =
  ## Yields values until the channel is closed and empty.
  var value: T
  while c.recv(value): yield move value

proc close*[T](c: Chan[T]) =
  if not gosched_chan_close(c.raw): raise newException(ClosedError, "close of closed channel")

proc len*[T](c: Chan[T]): int = int gosched_chan_len(c.raw)

proc fire(c: Chan[int64]; ns: int64) =
  sleep ns
  c.send ns

proc after*(ns: int64): Chan[int64] =
  ## Returns a channel that gets a value when the time is over.
  result = newChan[int64](1)
  go fire(result, ns)

macro select*(branches: untyped): untyped =
  ## Performs one of several operations, like Go's `select`:
  ##
  ##     select:
  ##       jobs.recv(job, more): (if more: work job)
  ##       results.send(x): echo "sent"
  ##       after(10.ms).recv: echo "late"
  ##       otherwise: echo "nothing is ready"
  var sends, recvs: seq[NimNode]
  var otherwise = newStmtList()
  var wait = newLit true
  for b in branches:
    if b[0].eqIdent "otherwise": (otherwise, wait) = (b[1], newLit false)
    elif b[0][1].eqIdent "send": sends.add b
    else: recvs.add b
  let
    cases = genSym(nskVar, "cases")
    how = genSym(nskLet, "how")
    n = sends.len + recvs.len
    chosen = nnkCaseStmt.newTree(quote do: `how`.index)
    nsends = sends.len
    nrecvs = recvs.len
  result = newStmtList(quote do:
    var `cases`: array[`n`, Case])
  for i, b in sends & recvs:
    let
      chan = genSym(nskLet, "chan")
      place = genSym(nskVar, "place")
      expression = b[0][0]
      body = b[^1]
      then = newStmtList()
    result.add quote do:
      let `chan` = `expression`
    if i < sends.len:
      let value = b[1]
      result.add quote do:
        var `place` = isolate(`value`)
      then.add quote do:
        sent `how`.result
        wasMoved `place`
    else:
      result.add quote do:
        var `place`: `chan`.T
      if b.len > 2:
        let name = b[1]
        then.add quote do:
          let `name` = move `place`
      if b.len > 3:
        let more = b[2]
        then.add quote do:
          let `more` = `how`.result == resultDone
    then.add body
    result.add quote do:
      `cases`[`i`] = Case(chan: `chan`.raw, elem: addr `place`)
    chosen.add nnkOfBranch.newTree(newLit(i), then)
  chosen.add nnkElse.newTree(otherwise)
  result.add quote do:
    let `how` = gosched_select(addr `cases`[0], `nsends`, `nrecvs`, `wait`)
    `chosen`
  result = newBlockStmt(result)

# Locks and wait groups.

type
  Lock* = object
    free: Shared[uint32]
  Group = object
    state: int64 # The number left, times 1 << 32, plus the number that wait.
    woken: uint32
  WaitGroup* = object
    group: Shared[Group]

proc newLock*(): Lock = Lock(free: share(1'u32))

template withLock*(lock: Lock; body: untyped) =
  acquire lock
  try: body
  finally: release lock

proc acquire*(lock: Lock) = gosched_semacquire(addr lock.free.p.value)
proc release*(lock: Lock) = gosched_semrelease(addr lock.free.p.value)

proc newWaitGroup*(n = 0): WaitGroup = WaitGroup(group: share(Group(state: n.int64 shl 32)))

proc add*(w: WaitGroup; n: int) =
  let g = addr w.group.p.value
  let state = atomicAddFetch(addr g.state, n.int64 shl 32, ATOMIC_SEQ_CST)
  doAssert state >= 0, "negative WaitGroup counter"
  if state shr 32 == 0 and state > 0:
    atomicStoreN(addr g.state, 0, ATOMIC_SEQ_CST)
    for _ in 1 .. state: gosched_semrelease(addr g.woken)

proc done*(w: WaitGroup) = w.add -1

proc wait*(w: WaitGroup) =
  let g = addr w.group.p.value
  var state = atomicLoadN(addr g.state, ATOMIC_SEQ_CST)
  while state shr 32 != 0:
    if atomicCompareExchangeN(addr g.state, addr state, state + 1, false, ATOMIC_SEQ_CST, ATOMIC_SEQ_CST):
      gosched_semacquire(addr g.woken)
      return

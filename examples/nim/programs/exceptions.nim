# Ten thousand goroutines raise, wait while they handle the exception, and raise again. Each has its
# own exceptions, on whatever thread it continues.
import std/[os, strutils]
import gosched

type Refused = object of CatchableError

var released = 0

proc attempt(i, depth: int; gate: Chan[int]): int =
  try:
    if depth == 0:
      raise newException(Refused, "refused " & $i)
    result = attempt(i, depth - 1, gate) + 1
  finally:
    pass()
    discard atomicInc(released)

proc client(i: int; gate, results: Chan[int]) =
  var sum = 0
  try:
    discard attempt(i, 10, gate)
  except Refused as e:
    discard gate.recv
    doAssert e.msg == "refused " & $i
    doAssert getCurrentException() == e
    try:
      raise newException(ValueError, $i)
    except ValueError:
      sleep ms(1)
      doAssert getCurrentExceptionMsg() == $i
      sum = i
    doAssert getCurrentException() == e
  doAssert getCurrentException() == nil
  results.send sum

let
  n = if paramCount() > 0: parseInt(paramStr(1)) else: 10_000
  gate = newChan[int]()
  results = newChan[int](16)
for i in 1 .. n: go client(i, gate, results)
gate.close
var sum = 0
for _ in 1 .. n: sum += results.recv
echo sum == n * (n + 1) div 2, ' ', released == 11 * n

# A proc that a goroutine calls by `blocking` may raise, too.
proc blocks(told: Chan[string]) =
  try:
    blocking proc () = raise newException(Refused, "not now")
  except Refused as e:
    told.send "blocked: " & e.msg

let told = newChan[string]()
go blocks(told)
echo told.recv

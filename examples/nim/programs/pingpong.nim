# Two goroutines pass a ball, a string that each makes longer. It is moved, so there is just one.
import std/[os, strutils]
import gosched

proc player(name: string; here, there: Chan[string]) =
  for ball in here:
    there.send ball & " " & name
  there.close

let
  ping = newChan[string]()
  pong = newChan[string]()
go player("pong", ping, pong)
var ball: string
for _ in 1 .. 5:
  ping.send ball & " ping"
  ball = pong.recv
echo ball

# The same, many times, with a number for a ball.
let times = if paramCount() > 0: parseInt(paramStr(1)) else: 100_000

proc echoes(here, there: Chan[int]) =
  for n in here: there.send n + 1
  there.close

let
  here = newChan[int]()
  there = newChan[int]()
go echoes(here, there)
var n = 0
for _ in 1 .. times:
  here.send n
  n = there.recv
here.close
echo n == times, ' ', there.recv

# Select with jobs, a time-out, and a worker that is told to stop; a lock, and a wait group.
import gosched

type Job = ref object
  name: string
  pause: int64

proc slow(jobs, answers: Chan[Job]) =
  for job in jobs:
    sleep job.pause
    answers.send isolate(Job(name: job.name & ", done", pause: job.pause))
  answers.close

let
  jobs = newChan[Job]()
  answers = newChan[Job](2)
go slow(jobs, answers)
for (name, pause) in [("quick", 1), ("slow", 1500)]:
  jobs.send isolate(Job(name: name, pause: ms(pause)))
  select:
    answers.recv(job): echo job.name
    after(ms(500)).recv: echo name, ": too late"
jobs.close
var open = true
while open:
  select:
    answers.recv(job, more):
      if more: echo job.name
      open = more

select:
  jobs.recv(job, more): echo "closed: ", not more, ' ', job.isNil
  otherwise: echo "not reached"
let full = newChan[int](1)
for i in 1 .. 2:
  select:
    full.send(i): echo "sent ", i
    otherwise: echo "full: ", full.len
try:
  jobs.send Job(name: "late")
except ClosedError as e:
  echo e.msg

var count = 0
let
  lock = newLock()
  group = newWaitGroup(100)

proc counts(lock: Lock; group: WaitGroup) =
  for _ in 1 .. 100:
    withLock lock:
      let before = count
      if before mod 10 == 0: pass()
      count = before + 1
  group.done

for _ in 1 .. 100: go counts(lock, group)
group.wait
echo count

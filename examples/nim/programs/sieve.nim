# The prime sieve: a goroutine for each prime, in a row.
import gosched

proc generate(to: Chan[int]) =
  for i in 2 .. 550: to.send i
  to.close

proc filter(prime: int; source, to: Chan[int]) =
  for i in source:
    if i mod prime != 0: to.send i
  to.close

proc primes(n: int) =
  var source = newChan[int]()
  go generate(source)
  for _ in 1 .. n:
    let prime = source.recv
    stdout.write prime, ' '
    let rest = newChan[int]()
    go filter(prime, source, rest)
    source = rest
  echo ""

primes 100

module gosched-benches

go 1.23

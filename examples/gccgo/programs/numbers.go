package main

import (
	"fmt"
	"math"
	"math/big"
	"math/rand"
)

func main() {
	fmt.Println(math.Sqrt(2), math.Sin(1), math.Pow(2, 0.5), math.Inf(1), math.NaN(), math.MaxInt64)
	var u8 uint8 = 250
	u8 += 10
	min := math.MinInt64
	fmt.Println(u8, min/-1, -7/2, -7%3, 7&^5, 1<<u8, int8(u8)<<5)
	f := new(big.Int).MulRange(1, 40)
	fmt.Println(f, new(big.Int).Exp(big.NewInt(3), big.NewInt(100), big.NewInt(1000007)))
	r := rand.New(rand.NewSource(1))
	fmt.Println(r.Intn(100), r.Intn(100), r.Perm(5))
	x := float32(16777216.0)
	fmt.Println(x == x+1, complex(1, 2)*complex(3, 4))
}

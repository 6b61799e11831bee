package main

import (
	"fmt"
	"reflect"
	"sort"
)

type person struct {
	Name string `tag:"n"`
	Age  int
}

func (p person) Greet(s string) string { return s + " " + p.Name }

func main() {
	t := reflect.TypeOf(person{})
	for i := 0; i < t.NumField(); i++ {
		fmt.Println(t.Field(i).Name, t.Field(i).Type, t.Field(i).Tag.Get("tag"))
	}
	v := reflect.ValueOf(&person{"Ann", 3}).Elem()
	v.Field(1).SetInt(30)
	fmt.Println(v.Interface(), reflect.DeepEqual([]int{1}, []int{1}))
	c := reflect.MakeChan(reflect.TypeOf(make(chan int)), 1)
	c.Send(reflect.ValueOf(7))
	i, r, ok := reflect.Select([]reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: c}})
	fmt.Println(i, r, ok, c.Len())
	out := v.Method(0).Call([]reflect.Value{reflect.ValueOf("hello")})
	fmt.Println(out[0])
	people := []person{{"b", 2}, {"a", 1}}
	sort.Slice(people, func(i, j int) bool { return people[i].Age < people[j].Age })
	fmt.Println(people)
}

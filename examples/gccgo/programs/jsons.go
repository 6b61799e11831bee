package main

import (
	"encoding/json"
	"fmt"
	"regexp"
)

type item struct {
	Name  string   `json:"name"`
	Price float64  `json:"price,omitempty"`
	Tags  []string `json:"tags"`
}

func main() {
	b, err := json.Marshal([]item{{"pen", 1.5, []string{"a", "b"}}, {Name: "cup"}})
	fmt.Println(string(b), err)
	var v map[string]interface{}
	err = json.Unmarshal([]byte(`{"x": [1, 2.5, null], "y": {"z": "deep"}}`), &v)
	fmt.Println(v, err)
	err = json.Unmarshal([]byte(`{"x": `), &v)
	fmt.Println(err)
	re := regexp.MustCompile(`(\w+)@(\w+)\.com`)
	fmt.Println(re.FindAllStringSubmatch("bob@example.com, al@test.com", -1), re.ReplaceAllString("x@y.com", "$2"))
}

// Command exits ends before it asks for an invocation.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Println("no configuration")
	os.Exit(3)
}

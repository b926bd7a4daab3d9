// Command stubborn prints its environment and ignores SIGTERM.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	signal.Ignore(syscall.SIGTERM, os.Interrupt)
	for _, v := range os.Environ() {
		fmt.Println("env", v)
	}
	fmt.Println("that is all")
	time.Sleep(time.Hour)
}

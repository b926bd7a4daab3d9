//go:build !linux

// Command coldstart needs Linux: AWS's Runtime Interface Emulator is a Linux
// program.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "coldstart: AWS's Runtime Interface Emulator runs on Linux only")
	os.Exit(1)
}

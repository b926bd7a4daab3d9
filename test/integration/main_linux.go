package main

import (
	"github.com/sqsbatch/sqsbatch/test/integration/coldstart"
	"github.com/sqsbatch/sqsbatch/test/integration/rie"
)

// AWS's Runtime Interface Emulator is a program for Linux.
var onLinux = []check{
	{name: "rie", about: "the sample events and records that hang under AWS's Runtime Interface Emulator", run: rie.Check},
	{name: "coldstart", about: "init, first invocation and memory compared with functions without sqsbatch", run: coldstart.Check, flags: coldstart.Flags},
}

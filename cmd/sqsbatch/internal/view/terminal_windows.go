package view

import (
	"os"

	"golang.org/x/sys/windows"
)

// enableEscapes enables escape sequences, which older consoles do not process by default
// ("Console Virtual Terminal Sequences"). It returns false if the console does not support
// them.
func enableEscapes(f *os.File) bool {
	handle := windows.Handle(f.Fd())
	var mode uint32
	if windows.GetConsoleMode(handle, &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(handle, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}

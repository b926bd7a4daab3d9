package view

import (
	"os"

	"golang.org/x/sys/windows"
)

// enableEscapes asks the console to understand escape sequences, which older
// ones do only when asked ("Console Virtual Terminal Sequences").
func enableEscapes(f *os.File) bool {
	handle := windows.Handle(f.Fd())
	var mode uint32
	if windows.GetConsoleMode(handle, &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(handle, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}

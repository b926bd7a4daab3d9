//go:build !windows

package view

import "os"

// enableEscapes returns true: terminals on this system support escape sequences.
func enableEscapes(*os.File) bool { return true }

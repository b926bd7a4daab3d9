//go:build unix

package sqsserver

import "syscall"

// ownGroup keeps the terminal's Ctrl-C from the process: Stop ends it.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

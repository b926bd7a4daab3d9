//go:build unix

package main

import "syscall"

// ownGroup keeps the terminal's Ctrl-C from a process: it would be a second
// signal.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

//go:build unix

package lambda

import (
	"os/exec"
	"syscall"
)

// ownGroup starts the process in a group of its own: all of it can be killed,
// and the terminal's Ctrl-C does not reach it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// terminate asks the process to end and tells whether it could.
func terminate(cmd *exec.Cmd) bool { return cmd.Process.Signal(syscall.SIGTERM) == nil }

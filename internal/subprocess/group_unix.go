//go:build unix

package subprocess

import (
	"os/exec"
	"syscall"
)

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate asks the process to end, and reports whether it could be asked.
func terminate(cmd *exec.Cmd) bool { return cmd.Process.Signal(syscall.SIGTERM) == nil }

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

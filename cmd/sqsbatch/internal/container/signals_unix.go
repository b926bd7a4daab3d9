//go:build unix

package container

import (
	"os/exec"
	"syscall"
)

// ownGroup starts the process in a group of its own: all of it can be killed,
// and the terminal's Ctrl-C does not reach it, which would be a second signal.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate asks the process to end and reports whether it could be asked.
func (p *process) terminate() bool { return p.cmd.Process.Signal(syscall.SIGTERM) == nil }

func (p *process) killGroup() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }

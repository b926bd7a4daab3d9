package container

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// ownGroup starts the process in a group of its own, so that it alone can be
// sent a Ctrl-Break, and the console's Ctrl-C does not reach it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// terminate asks the process to end and reports whether it could be asked: Go
// programs take a Ctrl-Break for os.Interrupt.
func (p *process) terminate() bool {
	return windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(p.cmd.Process.Pid)) == nil
}

func (p *process) killGroup() { _ = p.cmd.Process.Kill() }

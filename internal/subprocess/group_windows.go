package subprocess

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// terminate asks the process to end, and reports whether it could be asked. Go
// programs receive a Ctrl-Break as os.Interrupt.
func terminate(cmd *exec.Cmd) bool {
	return windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(cmd.Process.Pid)) == nil
}

// killGroup ends the process alone: the processes that it started are not ended.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

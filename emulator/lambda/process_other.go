//go:build !unix

package lambda

import "os/exec"

// ownGroup does nothing where there are no process groups: what the bootstrap
// starts is its own to end.
func ownGroup(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// terminate tells that there is no way to ask a process to end.
func terminate(*exec.Cmd) bool { return false }

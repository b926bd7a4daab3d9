//go:build !unix && !windows

package subprocess

import "os/exec"

func ownGroup(*exec.Cmd) {}

// terminate reports that a process cannot be asked to end here.
func terminate(*exec.Cmd) bool { return false }

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

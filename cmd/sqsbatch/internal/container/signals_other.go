//go:build !unix && !windows

package container

import "os/exec"

func ownGroup(*exec.Cmd) {}

// terminate tells that there is no way to ask a process to end.
func (p *process) terminate() bool { return false }

func (p *process) killGroup() { _ = p.cmd.Process.Kill() }

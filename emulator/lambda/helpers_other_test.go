//go:build !unix

package lambda_test

import "os/exec"

const canTerminate = false

func ownSession(*exec.Cmd) {}

func alive(int) bool { return false }

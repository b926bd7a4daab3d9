//go:build !unix

package sqsserver

import "syscall"

func ownGroup() *syscall.SysProcAttr { return nil }

//go:build !linux

package main

import (
	"context"
	"errors"
)

func run(context.Context, []string, string) ([]chunk, error) {
	return nil, errors.New("a recording needs Linux")
}

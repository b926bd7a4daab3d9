//go:build !linux

package main

var onLinux []check

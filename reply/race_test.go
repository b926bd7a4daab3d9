//go:build race

package reply_test

func init() { raceDetector = true }

package handler

import (
	"log/slog"
	"testing"
)

func TestLambdasLogLevels(t *testing.T) {
	for level, want := range map[string]struct{ debug, info, err bool }{
		"TRACE": {true, true, true}, "": {false, true, true}, "FATAL": {false, false, false},
	} {
		log := lambdaLogger(level).With("logger", "sqsbatch").WithGroup("g")
		if d, i, e := log.Enabled(t.Context(), slog.LevelDebug), log.Enabled(t.Context(), slog.LevelInfo), log.Enabled(t.Context(), slog.LevelError); d != want.debug || i != want.info || e != want.err {
			t.Errorf("%q: debug %v, info %v, error %v", level, d, i, e)
		}
	}
}

package handler

import (
	"bytes"
	"log/slog"
	"strings"
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

func TestALevelOfItsOwnKeepsAttributesAndGroups(t *testing.T) {
	var buf bytes.Buffer
	h := leveled{slog.NewTextHandler(&buf, nil), slog.LevelInfo}
	slog.New(h).With("logger", "sqsbatch").WithGroup("g").Info("x", "n", 1)
	if !strings.Contains(buf.String(), "logger=sqsbatch g.n=1") {
		t.Errorf("%s", buf.String())
	}
}

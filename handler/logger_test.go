package handler

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/settings"
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

func TestTheLogsLevels(t *testing.T) {
	for name, c := range map[string]struct {
		least slog.Level
		warns bool
	}{
		"": {slog.LevelInfo, false}, "TRACE": {slog.LevelDebug, false}, "DEBUG": {slog.LevelDebug, false}, "debug": {slog.LevelDebug, false},
		"INFO": {slog.LevelInfo, false}, "WARN": {slog.LevelWarn, false}, "ERROR": {slog.LevelError, false}, "FATAL": {slog.LevelError + 4, false},
		"abc": {slog.LevelInfo, true}, "5": {slog.LevelInfo, true},
	} {
		log := containerLogger(name)
		if !log.Enabled(t.Context(), c.least) || log.Enabled(t.Context(), c.least-1) {
			t.Errorf("%q: the least level is not %v", name, c.least)
		}
		t.Setenv(settings.LogLevel, name)
		_, warnings, _ := new(Config).setUp(containerLogger, 0)
		if got := strings.Join(warnings, "\n"); (got != "") != c.warns || c.warns && !strings.Contains(got, `AWS_LAMBDA_LOG_LEVEL is "`+name+`", must be TRACE, DEBUG, INFO, WARN, ERROR or FATAL`) {
			t.Errorf("%q: warned %q", name, got)
		}
	}
}

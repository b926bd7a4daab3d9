package view

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// pad fills s with spaces up to width characters.
func pad(s string, width int) string {
	if n := width - utf8.RuneCountInString(s); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}

// short is d with two or three significant digits.
func short(d time.Duration) string {
	switch {
	case d < 0:
		return "-"
	case d < 100*time.Microsecond:
		return "<0.1ms"
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		s := fmt.Sprintf("%.1fs", d.Seconds())
		return strings.Replace(s, ".0s", "s", 1)
	case d < time.Hour:
		d = d.Round(time.Second)
		return strings.TrimSuffix(fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60), "00s")
	default:
		d = d.Round(time.Minute)
		return strings.TrimSuffix(fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60), "00m")
	}
}

func plural(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}

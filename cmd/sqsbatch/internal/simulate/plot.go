package simulate

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

// plotWidth is the number of columns of a plot in text.
const plotWidth = 60

// bars are the heights of a column of a plot.
var bars = []rune(" ▁▂▃▄▅▆▇█")

// plot returns a line of columns, each the largest of its values. Anything above 0 has a bar.
func plot(values []float64, most float64, width int) string {
	var line strings.Builder
	for column := range width {
		from, to := column*len(values)/width, (column+1)*len(values)/width
		largest := 0.0
		for _, v := range values[from:max(to, min(from+1, len(values)))] {
			largest = max(largest, v)
		}
		height := 0
		if largest > 0 && most > 0 {
			height = max(1, int(math.Ceil(largest/most*float64(len(bars)-1))))
		}
		line.WriteRune(bars[min(height, len(bars)-1)])
	}
	return line.String()
}

// axis returns the line of times below plots: the beginning, the quarters and the end.
func axis(length time.Duration, width int) string {
	line := []byte(strings.Repeat(" ", width))
	const parts = 4
	for i := range parts + 1 {
		text := clock((length * time.Duration(i) / parts).Seconds())
		at := min(i*width/parts, width-len(text))
		copy(line[at:], text)
	}
	return strings.TrimRight(string(line), " ")
}

// counted returns a number with commas, and a noun. The plural is noun with an s if it is not
// given.
func counted(n int, noun string, plural ...string) string {
	return show.Number(n) + strings.TrimPrefix(show.Count(n, noun, plural...), strconv.Itoa(n))
}

// brief returns a duration without parts that are zero, in whole seconds from a minute on: 1h30m
// rather than 1h30m0s.
func brief(d time.Duration) string {
	switch {
	case d >= time.Minute:
		d = d.Round(time.Second)
	case d >= time.Second:
		d = d.Round(100 * time.Millisecond)
	default:
		d = d.Round(time.Millisecond)
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// dollars returns an amount with at least two digits that count.
func dollars(amount float64) string {
	switch {
	case amount != 0 && amount < 0.01:
		return fmt.Sprintf("$%.4f", amount)
	case amount < 1:
		return fmt.Sprintf("$%.3f", amount)
	default:
		return fmt.Sprintf("$%.2f", amount)
	}
}

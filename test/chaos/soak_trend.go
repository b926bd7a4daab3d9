package main

import (
	"bytes"
	"fmt"
	"slices"
)

// figures are what is judged of the samples.
var figures = []struct {
	name string
	of   func(sample) float64
}{
	{"resident memory, MiB", func(s sample) float64 { return s.memory }},
	{"heap in use, MiB", func(s sample) float64 { return s.Heap }},
	{"goroutines", func(s sample) float64 { return s.Goroutines }},
	{"descriptors", func(s sample) float64 { return s.descriptors }},
	{"requests a message", func(s sample) float64 { return s.requests }},
	{"age of the oldest message, s", func(s sample) float64 { return s.oldest }},
}

// trend compares the last quarter of a series with the second one. The first is for warming up.
type trend struct {
	second, last    float64 // medians
	highest, lowest float64 // the highest median of a fifth of the second quarter, the lowest of one of the last
}

func trendOf(series []float64) trend {
	n := len(series) / 4
	second, last := series[n:2*n], series[len(series)-n:]
	return trend{median(second), median(last), slices.Max(fifths(second)), slices.Min(fifths(last))}
}

// rises reports whether each fifth of the last quarter is above each fifth of the second one. Without a trend that
// happens once in 252 times, however much a figure varies. The medians must differ by a tenth as well, because a figure that hardly
// varies may take a step, such as one connection more.
func (t trend) rises() bool { return t.lowest > t.highest && t.last > 1.1*t.second }

// fifths are the medians of the five parts of a list.
func fifths(list []float64) (medians []float64) {
	for i := range 5 {
		medians = append(medians, median(list[i*len(list)/5:(i+1)*len(list)/5]))
	}
	return medians
}

func median(list []float64) float64 { return slices.Sorted(slices.Values(list))[len(list)/2] }

func (s *soak) series(of func(sample) float64) (list []float64) {
	for _, one := range s.samples {
		list = append(list, of(one))
	}
	return list
}

// report prints what each figure was, and adds those that rise to the violations.
func (s *soak) report() {
	fmt.Println("| figure | second quarter | its highest fifth | last quarter | its lowest fifth | |\n| --- | --- | --- | --- | --- | --- |")
	for _, f := range figures {
		t, verdict := trendOf(s.series(f.of)), "flat"
		if t.rises() {
			verdict = "RISES"
			s.violations.add("%s: rises from %.3g to %.3g", f.name, t.second, t.last)
		}
		fmt.Printf("| %s | %.3g | %.3g | %.3g | %.3g | %s |\n", f.name, t.second, t.highest, t.last, t.lowest, verdict)
	}
}

// svg plots each figure over the time of the run, from zero, with the two medians that are compared. Peaks, which are a fiftieth
// of the samples, are cut off.
func (s *soak) svg() []byte {
	const width, height, top, step = 900, 90, 24, 130
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="13">`+"\n", width+20, step*len(figures)+2*top)
	fmt.Fprintln(&out, `<rect width="100%" height="100%" fill="white"/>`)
	for i, f := range figures {
		series := s.series(f.of)
		t, highest := trendOf(series), slices.Sorted(slices.Values(series))[len(series)*49/50]
		y := func(v float64) float64 { return height * max(0, 1-v/max(1.1*highest, 1e-9)) }
		fmt.Fprintf(&out, `<g transform="translate(10,%d)"><text y="-8">%s: at most %.3g, median %.3g in the second quarter, %.3g in the last</text>`+"\n",
			i*step+2*top, f.name, slices.Max(series), t.second, t.last)
		fmt.Fprintf(&out, `<path d="M0 0V%d H%d" fill="none" stroke="#999"/><polyline fill="none" stroke="#2563eb" points="`, height, width)
		for n, v := range series {
			fmt.Fprintf(&out, "%.1f,%.1f ", width*float64(n)/float64(len(series)), y(v))
		}
		fmt.Fprintln(&out, `"/>`)
		for quarter, median := range map[int]float64{1: t.second, 3: t.last} {
			fmt.Fprintf(&out, `<path d="M%d %.1fh%d" stroke="#dc2626" stroke-width="2"/>`, quarter*width/4, y(median), width/4)
		}
		fmt.Fprintln(&out, `</g>`)
	}
	fmt.Fprintf(&out, `<text x="10" y="%d">%v, a sample each %v</text></svg>`+"\n", step*len(figures)+top+8, s.lasts, s.interval)
	return out.Bytes()
}

package main

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Sizes in pixels. GitHub shows a README some 830 wide.
const (
	cellWidth, cellHeight = 7.2, 16
	fontSize              = 12
	margin, bar           = 14, 26
	width                 = columns*cellWidth + 2*margin
	height                = rows*cellHeight + 2*margin + bar
)

const longestPause = time.Second // of the animation; the real one is longer while Go builds

// The colours are GitHub's dark ones, on a background of their own: so they are readable on
// any page.
const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]g %[2]d" width="%[1]g" height="%[2]d" role="img" aria-labelledby="t">
<title id="t">%[3]s</title>
<style>
text{font:%[4]dpx ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;white-space:pre;fill:#e6edf3}
.b{font-weight:700;fill:#fff}.d{fill:#9198a1}.r{fill:#ff7b72}.g{fill:#56d364}.y{fill:#e3b341}
@keyframes show{from{opacity:0}}
.l{animation:show 1ms both}
%[5]s@media (prefers-reduced-motion:reduce){*{animation:none!important}}
</style>
<rect x=".5" y=".5" width="%[6]g" height="%[7]d" rx="8" fill="#0d1117" stroke="#6e7681"/>
<circle cx="18" cy="14" r="5" fill="#ff5f57"/><circle cx="36" cy="14" r="5" fill="#febc2e"/><circle cx="54" cy="14" r="5" fill="#28c840"/>
<svg x="%[8]d" y="%[9]d" width="%[10]g" height="%[11]d" xml:space="preserve"><g class="s" transform="translate(0,%[12]d)">
`

const foot = "</g></svg>\n</svg>\n"

var classes = map[string]string{"1": "b", "2": "d", "31": "r", "32": "g", "33": "y"}

// draw returns an SVG in which the lines appear as they did in the terminal. It ends with,
// and without animation it is, the terminal's last screen.
func draw(list []line) string {
	times := appear(list)
	delays := slices.Compact(slices.Clone(times))
	var css strings.Builder
	for i, d := range delays {
		fmt.Fprintf(&css, ".t%d{animation-delay:%gs}\n", i, d.Seconds())
	}
	css.WriteString(scrolling(times, delays))
	var b strings.Builder
	fmt.Fprintf(&b, head, float64(width), int(height), escape("A terminal: "+list[0].String()), fontSize, css.String(),
		float64(width)-1, int(height)-1, margin, margin+bar, float64(width)-margin-2, rows*cellHeight, -scrolled(len(list)))
	for i, l := range list {
		fmt.Fprintf(&b, `<g class="l t%d">`, slices.Index(delays, times[i]))
		for _, s := range spans(l) {
			drawSpan(&b, i, s)
		}
		b.WriteString("</g>\n")
	}
	return b.String() + foot
}

// appear returns when each line appears: never before the one above it, and without long pauses.
func appear(list []line) []time.Duration {
	times := make([]time.Duration, len(list))
	for i := 1; i < len(list); i++ {
		if list[i].at.IsZero() { // an empty line
			list[i].at = list[i-1].at
		}
		pause := list[i].at.Sub(list[i-1].at).Round(50 * time.Millisecond)
		if list[i-1].at.IsZero() { // the first line of output comes after the command
			pause = longestPause
		}
		times[i] = times[i-1] + max(0, min(pause, longestPause))
	}
	return times
}

func scrolled(lines int) int { return max(0, lines-rows) * cellHeight }

// scrolling is the style of the lines' group, which moves up whenever lines appear below
// the last row.
func scrolling(times, delays []time.Duration) string {
	whole := delays[len(delays)-1] + time.Second
	var b strings.Builder
	b.WriteString("@keyframes up{")
	for _, d := range delays {
		shown, _ := slices.BinarySearch(times, d+1)
		fmt.Fprintf(&b, "%.2f%%{transform:translate(0,-%dpx)}", 100*d.Seconds()/whole.Seconds(), scrolled(shown))
	}
	fmt.Fprintf(&b, "to{transform:translate(0,-%dpx)}}\n.s{animation:up %gs step-end both}\n", scrolled(len(times)), whole.Seconds())
	return b.String()
}

// A span is characters of one style in a line.
type span struct {
	column int
	text   string
	style  string
}

func spans(l line) (list []span) {
	for i, c := range l.cells {
		if n := len(list); n > 0 && list[n-1].style == c.style {
			list[n-1].text += string(c.char)
		} else {
			list = append(list, span{i, string(c.char), c.style})
		}
	}
	return list
}

// drawSpan forces the width of each span, so that columns stay columns in any font.
func drawSpan(b *strings.Builder, row int, s span) {
	text := strings.TrimLeft(s.text, " ")
	s.column += len(s.text) - len(text)
	text = strings.TrimRight(text, " ")
	if text == "" {
		return
	}
	class := ""
	if name, ok := classes[s.style]; ok {
		class = ` class="` + name + `"`
	}
	fmt.Fprintf(b, `<text%s x="%.1f" y="%d" textLength="%.1f">%s</text>`,
		class, float64(s.column)*cellWidth, row*cellHeight+fontSize, float64(len([]rune(text)))*cellWidth, escape(text))
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder does not fail
	return b.String()
}

// textOf returns the lines of a drawing.
func textOf(drawing string) (list []string, err error) {
	var svg struct {
		Lines []struct {
			Spans []struct {
				X    float64 `xml:"x,attr"`
				Text string  `xml:",chardata"`
			} `xml:"text"`
		} `xml:"svg>g>g"`
	}
	if err := xml.Unmarshal([]byte(drawing), &svg); err != nil {
		return nil, err
	}
	for _, l := range svg.Lines {
		row := ""
		for _, s := range l.Spans {
			column := int(s.X/cellWidth + 0.5)
			row += strings.Repeat(" ", max(0, column-len([]rune(row)))) + s.Text
		}
		list = append(list, row)
	}
	return list, nil
}

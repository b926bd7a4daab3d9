package main

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// A chunk is what a command wrote at one time.
type chunk struct {
	at   time.Time
	text string
}

// A cell is a character with its SGR codes ("ECMA-48", Select Graphic Rendition).
type cell struct {
	char  rune
	style string
}

// A line is one of the terminal, and when it got what it shows at the end.
type line struct {
	cells []cell
	at    time.Time
}

func (l line) String() string {
	var b strings.Builder
	for _, c := range l.cells {
		b.WriteRune(c.char)
	}
	return strings.TrimRight(b.String(), " ")
}

// plain is the text of the lines.
func plain(list []line) (text []string) {
	for _, l := range list {
		text = append(text, l.String())
	}
	return text
}

// prompt is a command as one types it.
func prompt(command []string) line {
	return line{cells: cells("$ "+strings.Join(command, " "), "1")}
}

func cells(text, style string) (list []cell) {
	for _, c := range text {
		list = append(list, cell{c, style})
	}
	return list
}

var token = regexp.MustCompile(`(?s)\x1b\[([0-9;]*)([A-Za-z])|.`)

// lines are those that a terminal shows at the end of the output, which it can scroll back to.
// Empty ones at the end are left out. It knows what cmd/sqsbatch writes: characters, styles, "\n",
// and a line that is written once more, which begins with "\r" and erases the rest of the one
// before. cmd/sqsbatch breaks lines that are longer than the terminal is wide. Chunks may cut
// characters and sequences in two.
func lines(output []chunk) []line {
	text := ""
	var ends []int // of the chunks in the text
	for _, c := range output {
		text += c.text
		ends = append(ends, len(text))
	}
	list := []line{{}}
	style, again := "", false
	for _, m := range token.FindAllStringSubmatchIndex(text, -1) {
		chunk, _ := slices.BinarySearch(ends, m[1])
		last := &list[len(list)-1]
		switch token := text[m[0]:m[1]]; {
		case token == "\n":
			list, again = append(list, line{}), false
		case token == "\r":
			again = true
		case m[4] < 0 || text[m[4]:m[5]] == "K": // a character, or the end of the line is erased
			if again {
				*last, again = line{at: output[chunk].at}, false
			}
			if m[4] < 0 {
				last.cells, last.at = append(last.cells, cell{[]rune(token)[0], style}), output[chunk].at
			}
		case text[m[4]:m[5]] == "m":
			style = strings.TrimPrefix(text[m[2]:m[3]], "0")
		}
	}
	for len(list) > 0 && list[len(list)-1].String() == "" {
		list = list[:len(list)-1]
	}
	return list
}

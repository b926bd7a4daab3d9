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

// A line is one row of the terminal, and when it got what it shows at the end.
type line struct {
	cells  []cell
	at     time.Time
	goesOn bool // in the next row, because it is too long for one
}

func (l line) String() string {
	var b strings.Builder
	for _, c := range l.cells {
		b.WriteRune(c.char)
	}
	return strings.TrimRight(b.String(), " ")
}

// plain is the text of the lines, each of them whole.
func plain(list []line) (text []string) {
	before := ""
	for _, l := range list {
		if before += l.String(); !l.goesOn {
			text = append(text, before)
			before = ""
		}
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

// A screen follows what a terminal does with the output. It knows what cmd/sqsbatch
// writes: characters, styles, "\r", "\n", and the erasing of a line's end.
type screen struct {
	lines  []line
	row    int
	column int
	style  string
}

var token = regexp.MustCompile(`(?s)\x1b\[([0-9;]*)([A-Za-z])|.`)

// lines are the rows at the end of the output, those that have scrolled away included.
// Empty ones at the end are left out. Chunks may cut characters and sequences in two.
func lines(output []chunk) []line {
	s := screen{lines: make([]line, 1)}
	text := ""
	var ends []int // of the chunks in the text
	for _, c := range output {
		text += c.text
		ends = append(ends, len(text))
	}
	for _, m := range token.FindAllStringSubmatchIndex(text, -1) {
		last, _ := slices.BinarySearch(ends, m[1])
		parameters, final := "", ""
		if m[2] >= 0 {
			parameters, final = text[m[2]:m[3]], text[m[4]:m[5]]
		}
		s.write(text[m[0]:m[1]], parameters, final, output[last].at)
	}
	for len(s.lines) > 0 && s.lines[len(s.lines)-1].String() == "" {
		s.lines = s.lines[:len(s.lines)-1]
	}
	return s.lines
}

func (s *screen) write(token, parameters, final string, at time.Time) {
	switch {
	case final == "m":
		s.style = parameters
		if parameters == "0" {
			s.style = ""
		}
	case final == "K":
		l := &s.lines[s.row]
		if s.column < len(l.cells) {
			l.cells, l.at = l.cells[:s.column], at
		}
	case final != "":
	case token == "\r":
		s.column = 0
	case token == "\n":
		s.newLine()
	default:
		s.put([]rune(token)[0], at)
	}
}

func (s *screen) newLine() {
	s.row++
	if s.row == len(s.lines) {
		s.lines = append(s.lines, line{})
	}
}

func (s *screen) put(char rune, at time.Time) {
	if s.column == columns {
		s.lines[s.row].goesOn = true
		s.column = 0
		s.newLine()
	}
	l := &s.lines[s.row]
	for len(l.cells) <= s.column {
		l.cells = append(l.cells, cell{char: ' '})
	}
	if now := (cell{char, s.style}); l.cells[s.column] != now {
		l.cells[s.column], l.at = now, at
	}
	s.column++
}

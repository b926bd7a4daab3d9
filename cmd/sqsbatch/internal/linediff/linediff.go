// Package linediff compares texts by their lines.
package linediff

import "slices"

// A Line of a difference: ' ' if both texts have it, '-' if only the first has it, '+' if only
// the second has it.
type Line struct {
	Sign byte
	Text string
}

// maxEdits bounds the memory, which grows by its square: 8 MB.
const maxEdits = 1000

// Compare finds the shortest edit from one list of lines to another. If that has more than
// 1,000 lines, it replaces all between the first and the last line that differ.
func Compare(a, b []string) []Line {
	if lines, ok := shortest(a, b); ok {
		return lines
	}
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	lines := signed(nil, ' ', a[:head])
	lines = signed(lines, '-', a[head:len(a)-tail])
	lines = signed(lines, '+', b[head:len(b)-tail])
	return signed(lines, ' ', a[len(a)-tail:])
}

func signed(lines []Line, sign byte, texts []string) []Line {
	for _, text := range texts {
		lines = append(lines, Line{sign, text})
	}
	return lines
}

// A row is the state before round d: for each diagonal from -d-1 to d+1, how far in the first
// list d-1 edits come. On diagonal k one is k lines further in the first list than in the second.
type row []int

func (r row) at(k int) *int { return &r[len(r)/2+k] }

// adds reports whether the last of d edits that end on diagonal k adds a line.
func (r row) adds(k, d int) bool { return k == -d || k != d && *r.at(k - 1) < *r.at(k + 1) }

// shortest is by Myers, "An O(ND) Difference Algorithm and Its Variations".
func shortest(a, b []string) (lines []Line, ok bool) {
	rows := []row{make(row, 3)}
	for d := range maxEdits + 1 {
		before, after := rows[d], make(row, 2*d+5)
		for k := -d; k <= d; k += 2 {
			x := *before.at(k - 1) + 1
			if before.adds(k, d) {
				x = *before.at(k + 1)
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			*after.at(k) = x
			if x >= len(a) && x-k >= len(b) {
				return script(a, b, rows), true
			}
		}
		rows = append(rows, after)
	}
	return nil, false
}

// script reads the edits from the end of both lists to their start.
func script(a, b []string, rows []row) (lines []Line) {
	x, y := len(a), len(b)
	for d := len(rows) - 1; d >= 0; d-- {
		k := x - y
		from := k - 1
		if rows[d].adds(k, d) {
			from = k + 1
		}
		fromX := *rows[d].at(from)
		for x > max(fromX, 0) && y > max(fromX-from, 0) {
			x, y = x-1, y-1
			lines = append(lines, Line{' ', a[x]})
		}
		switch {
		case d == 0:
		case x == fromX:
			y--
			lines = append(lines, Line{'+', b[y]})
		default:
			x--
			lines = append(lines, Line{'-', a[x]})
		}
	}
	slices.Reverse(lines)
	return lines
}

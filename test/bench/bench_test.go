package main

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

const source = `// Package p is a comment.
package main

import "fmt" // 2

/* A comment
over two lines. */ var a = 1 /* 3: code before and after */

// F has a comment.
func (t T) F() { // 4

	// Inside.
	fmt.Println(` + "`raw // no comment" + ` // 5

two` + "`" + `) // 6 is blank, but of the raw string; 7
	/* alone */
} // 8

func g() {} // 9
`

func TestCodeLines_CountsLinesWithTokens(t *testing.T) {
	for text, want := range map[string]int{source: 9, "": 0, "package p": 1, "\n// Comment.\n\npackage p\n": 1} {
		if got := codeLines([]byte(text)); got != want {
			t.Errorf("codeLines is %d, want %d, of:\n%s", got, want, text)
		}
	}
}

func TestAWaitingMessageKeepsTheBound(t *testing.T) {
	var got int64
	if err := must.Run(func() { got = heapEach(t.Context(), 50_000) }); err != nil {
		t.Fatal(err)
	}
	if got < waitingBody || got > waitingBound+waitingBody {
		t.Errorf("a waiting message costs %d bytes, want %d to %d", got, waitingBody, waitingBound+waitingBody)
	}
}

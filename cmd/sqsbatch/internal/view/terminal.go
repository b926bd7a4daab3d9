package view

import (
	"io"
	"os"

	"golang.org/x/term"
)

// A Terminal says what the output can do. The zero value is a file or a pipe:
// no colour, no redrawing, lines of any length.
type Terminal struct {
	Redraw bool
	Colour bool
	// Width returns the number of columns; nil means no limit.
	Width func() int
}

// Detect finds out what an output can do. It honours NO_COLOR and TERM=dumb.
func Detect(w io.Writer) Terminal {
	f, ok := w.(*os.File)
	if !ok {
		return Terminal{}
	}
	fd := int(f.Fd())
	if !term.IsTerminal(fd) || os.Getenv("TERM") == "dumb" || !enableEscapes(f) {
		return Terminal{}
	}
	return Terminal{
		Redraw: true,
		Colour: os.Getenv("NO_COLOR") == "",
		Width: func() int {
			width, _, err := term.GetSize(fd)
			if err != nil || width <= 0 {
				return 80
			}
			return width
		},
	}
}

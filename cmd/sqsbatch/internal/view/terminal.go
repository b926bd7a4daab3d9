package view

import (
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

// Detect finds out what f can do. It honours NO_COLOR and TERM=dumb.
func Detect(f *os.File) Terminal {
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

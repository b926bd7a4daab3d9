package local

import "io"

// output ends the run when standard output can no longer be written.
type output struct {
	w      io.Writer
	failed func(error) // called for every write that fails
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil {
		o.failed(err)
	}
	return n, err
}

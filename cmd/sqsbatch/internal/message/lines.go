package message

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// maxBody is the largest message that SQS takes ("Amazon SQS message quotas").
const maxBody = 1 << 20

// Lines gives each line of r, blank ones left out, to send as the body of a
// message. It ends at the end of r, with r's error, with send's, or when a line
// is longer than SQS takes.
func Lines(r io.Reader, send func(Message) error) error {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, 64<<10), maxBody+2) // with its line end
	n := 0
	for in.Scan() {
		n++
		body := strings.TrimSuffix(in.Text(), "\r")
		if strings.TrimSpace(body) == "" {
			continue
		}
		if err := send(Message{Body: body}); err != nil {
			return err
		}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("standard input, line %d: %w", n+1, err)
	}
	return nil
}

package sqsevent

import (
	"fmt"
	"strings"

	"github.com/sqsbatch/sqsbatch/internal/jsontext"
)

// maxDepth bounds the nesting of what is skipped.
const maxDepth = 1000

// scanner reads JSON as RFC 8259 has it, accepting what encoding/json accepts.
type scanner struct {
	src   string
	pos   int
	depth int
	// unescaped holds the strings that are not literally in src. What has been
	// taken from it stays intact when it grows.
	unescaped strings.Builder
}

// peek skips white space and returns the next byte, or 0 at the end.
func (s *scanner) peek() byte {
	s.pos = jsontext.SpaceEnd(s.src, s.pos)
	if s.pos == len(s.src) {
		return 0
	}
	return s.src[s.pos]
}

func (s *scanner) unexpected(wanted string) error {
	if s.pos >= len(s.src) {
		return fmt.Errorf("it is not valid JSON: it ends at offset %d, where %s was expected", s.pos, wanted)
	}
	return fmt.Errorf("it is not valid JSON: %q at offset %d, where %s was expected", s.src[s.pos], s.pos, wanted)
}

func (s *scanner) enter() error {
	s.depth++
	if s.depth > maxDepth {
		return fmt.Errorf("it is nested deeper than %d levels, at offset %d", maxDepth, s.pos)
	}
	return nil
}

// object reads an object, calling member at each value.
func (s *scanner) object(member func(key string) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	s.pos++ // {
	if s.peek() == '}' {
		s.pos++
		s.depth--
		return nil
	}
	for {
		if s.peek() != '"' {
			return s.unexpected("a name")
		}
		key, err := s.str()
		if err != nil {
			return err
		}
		if s.peek() != ':' {
			return s.unexpected("':'")
		}
		s.pos++
		s.peek()
		if err := member(key); err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.pos++
		case '}':
			s.pos++
			s.depth--
			return nil
		default:
			return s.unexpected("',' or '}'")
		}
	}
}

// array reads an array, calling element at each value.
func (s *scanner) array(element func() error) error {
	if err := s.enter(); err != nil {
		return err
	}
	s.pos++ // [
	if s.peek() == ']' {
		s.pos++
		s.depth--
		return nil
	}
	for {
		s.peek()
		if err := element(); err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.pos++
		case ']':
			s.pos++
			s.depth--
			return nil
		default:
			return s.unexpected("',' or ']'")
		}
	}
}

// skip reads any value and drops it.
func (s *scanner) skip() error {
	switch c := s.peek(); {
	case c == '{':
		return s.object(func(string) error { return s.skip() })
	case c == '[':
		return s.array(s.skip)
	case c == '"':
		_, err := s.str()
		return err
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	default:
		return s.unexpected("a value")
	}
}

func (s *scanner) literal(word string) error {
	if !strings.HasPrefix(s.src[s.pos:], word) {
		return s.unexpected(word)
	}
	s.pos += len(word)
	return nil
}

func (s *scanner) number() error {
	if s.at('-') {
		s.pos++
	}
	if s.at('0') {
		s.pos++
	} else if err := s.digits(); err != nil {
		return err
	}
	if s.at('.') {
		s.pos++
		if err := s.digits(); err != nil {
			return err
		}
	}
	if s.at('e') || s.at('E') {
		s.pos++
		if s.at('+') || s.at('-') {
			s.pos++
		}
		return s.digits()
	}
	return nil
}

func (s *scanner) at(c byte) bool { return s.pos < len(s.src) && s.src[s.pos] == c }

func (s *scanner) digits() error {
	start := s.pos
	for s.pos < len(s.src) && s.src[s.pos] >= '0' && s.src[s.pos] <= '9' {
		s.pos++
	}
	if s.pos == start {
		return s.unexpected("a digit")
	}
	return nil
}

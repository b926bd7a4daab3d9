package letter_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/message"
)

// vi and emacs run commands that they find in a file: no message brings one.
func TestEditable_HasNoModelines(t *testing.T) {
	command := regexp.MustCompile(`(?i)(^|\s)(vim?|ex)([<=>]?\d*):|-\*-|Local Variables:`) // vim: ":help modeline"
	for _, text := range []string{
		" vim: set modeline foldexpr=system('id'):", "ex:set x", "\tvi:noai", "vim>700: set x", "Vim: set y", "-*- eval: (shell-command \"id\") -*-",
		"Local Variables:\neval: (shell-command \"id\")\nEnd:", "x /* vim: set z: */",
	} {
		for _, body := range []string{text, string(marshalled(json.Marshal(map[string]string{text: text})))} {
			l := letter.Letter{Message: message.Message{Body: body, GroupID: "ex:g", Attributes: map[string]batch.MessageAttribute{"a": {DataType: "String", StringValue: text}}}}
			shown := letter.Editable(l)
			for line := range strings.Lines(string(shown)) {
				if found := command.FindString(line); found != "" {
					t.Errorf("%q has %q", line, found)
				}
			}
			same, err := letter.FromEdited(l, shown)
			if err != nil || same.Body != body || same.GroupID != "ex:g" || same.Attributes["a"].StringValue != text {
				t.Errorf("%q became %+v, %v", body, same, err)
			}
		}
	}
}

func marshalled(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// Man returns a command's help as a manual page, with the macros of man(7).
func Man(cmd *cobra.Command) string {
	var out strings.Builder
	page := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	fmt.Fprintf(&out, ".TH %s 1 \"\" sqsbatch\n.SH NAME\n%s \\- %s\n", strings.ToUpper(page), roff(page), roff(cmd.Short))
	list := Parts(cmd)
	list[0], list[1] = list[1], list[0] // the synopsis comes first
	for _, s := range list {
		title := s.Title
		switch title {
		case "":
			title = "DESCRIPTION"
		case "Usage":
			title = "SYNOPSIS"
		}
		fmt.Fprintf(&out, ".SH %s\n", roff(strings.ToUpper(title)))
		for _, r := range s.Rows {
			fmt.Fprintf(&out, ".TP\n.B %s\n%s\n", roff(r.Name), strings.ReplaceAll(roff(r.Text), "\n", "\n.br\n"))
		}
		for _, p := range Paragraphs(s.Text) {
			if strings.HasPrefix(p, " ") {
				fmt.Fprintf(&out, ".PP\n.nf\n%s\n.fi\n", roff(p))
			} else {
				fmt.Fprintf(&out, ".PP\n%s\n", roff(p))
			}
		}
		if s.Code != "" {
			fmt.Fprintf(&out, ".nf\n%s\n.fi\n", roff(s.Code))
		}
	}
	return out.String()
}

// roff returns text with roff's special characters escaped: backslashes, hyphens, and dots
// and quotes at the start of a line.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	var out strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			line = `\&` + line
		}
		out.WriteString(line)
	}
	return out.String()
}

// manCommand returns a hidden command that writes the manual pages, for releases (make man).
func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIRECTORY",
		Short:  "write the manual pages of all commands to a directory",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			return writeMan(cmd.Root(), args[0])
		},
	}
}

func writeMan(cmd *cobra.Command, dir string) error {
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
	if err := os.WriteFile(filepath.Join(dir, name), []byte(Man(cmd)), 0o644); err != nil {
		return err
	}
	for _, c := range cmd.Commands() {
		if !c.IsAvailableCommand() {
			continue
		}
		if err := writeMan(c, dir); err != nil {
			return err
		}
	}
	return nil
}

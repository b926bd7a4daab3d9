package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

// pageWidth is the width of the documentation's lines.
const pageWidth = 140

// Markdown returns a command's help as a page of the documentation.
func Markdown(cmd *cobra.Command) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n\n", cmd.CommandPath())
	for _, s := range sections(cmd) {
		if s.title != "" {
			fmt.Fprintf(&out, "## %s\n\n", s.title)
		}
		for _, r := range s.rows {
			fmt.Fprintf(&out, "- `%s`: %s\n", r.name, strings.ReplaceAll(escape(r.text), "\n", "<br>\n  "))
		}
		if len(s.rows) > 0 {
			out.WriteByte('\n')
		}
		for _, p := range paragraphs(s.text) {
			if strings.HasPrefix(p, " ") {
				p = "```sh\n" + p + "\n```"
			} else {
				p = strings.Join(show.Wrap(escape(p), pageWidth), "\n")
			}
			out.WriteString(p + "\n\n")
		}
		if s.code != "" {
			fmt.Fprintf(&out, "```sh\n%s\n```\n\n", strings.TrimSuffix(s.code, "\n"))
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// escape returns text with Markdown's special characters escaped.
func escape(text string) string {
	return strings.NewReplacer("*", `\*`, "<", `\<`).Replace(text)
}

// Man returns a command's help as a manual page, with the macros of man(7).
func Man(cmd *cobra.Command) string {
	var out strings.Builder
	page := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	fmt.Fprintf(&out, ".TH %s 1 \"\" sqsbatch\n.SH NAME\n%s \\- %s\n", strings.ToUpper(page), roff(page), roff(cmd.Short))
	list := sections(cmd)
	list[0], list[1] = list[1], list[0] // the synopsis comes first
	for _, s := range list {
		title := s.title
		switch title {
		case "":
			title = "DESCRIPTION"
		case "Usage":
			title = "SYNOPSIS"
		}
		fmt.Fprintf(&out, ".SH %s\n", roff(strings.ToUpper(title)))
		for _, r := range s.rows {
			fmt.Fprintf(&out, ".TP\n.B %s\n%s\n", roff(r.name), strings.ReplaceAll(roff(r.text), "\n", "\n.br\n"))
		}
		for _, p := range paragraphs(s.text) {
			if strings.HasPrefix(p, " ") {
				fmt.Fprintf(&out, ".PP\n.nf\n%s\n.fi\n", roff(p))
			} else {
				fmt.Fprintf(&out, ".PP\n%s\n", roff(p))
			}
		}
		if s.code != "" {
			fmt.Fprintf(&out, ".nf\n%s\n.fi\n", roff(s.code))
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

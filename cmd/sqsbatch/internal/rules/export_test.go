package rules

import "github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"

// Diff returns a unified diff of two texts, "" if they are equal.
func Diff(path string, from, to []byte) string { return diff(path, from, to, 0) }

// Grants lists the permissions of a role. It returns an error if the role has them by means that
// are not known.
func Grants(st *template.Stack, role template.Resource) ([]Grant, error) {
	grants := attachmentsOf(st).grants(role)
	for _, g := range grants {
		if g.May != nil {
			return nil, g.May
		}
	}
	return grants, nil
}

// CheckRole returns what the rules say of a role.
func CheckRole(r Role) []Finding {
	c := newCollector()
	apply(c, Roles, Subject{}, r)
	return c.Findings
}

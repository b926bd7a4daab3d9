package cli

import "github.com/sqsbatch/sqsbatch/internal/webguard"

// Hosts is a flag that collects host names and may be repeated.
type Hosts []string

func (h *Hosts) String() string { return "" }

// Type implements pflag.Value.
func (h *Hosts) Type() string { return "NAME" }

// Set implements pflag.Value.
func (h *Hosts) Set(name string) error {
	if err := webguard.CheckName(name); err != nil {
		return err
	}
	*h = append(*h, name)
	return nil
}

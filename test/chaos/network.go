package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// network is the way from one slot's worker to the server: toxiproxy.
type network struct {
	proxy *toxiproxy.Proxy
	added []string
}

func newNetwork(slot int, upstream string) (*network, error) {
	zerolog.SetGlobalLevel(zerolog.Disabled)
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := toxiproxy.NewProxy(server, fmt.Sprintf("slot %d", slot), "127.0.0.1:0", upstream)
	if err := p.Start(); err != nil {
		return nil, fmt.Errorf("proxy of slot %d: %w", slot, err)
	}
	return &network{proxy: p}, nil
}

func (n *network) address() string { return n.proxy.Listen }

// begin adds a toxic to what the worker sends (upstream) or gets (downstream).
func (n *network) begin(toxic, stream string, attributes map[string]int) error {
	text, err := json.Marshal(map[string]any{"name": toxic + stream, "type": toxic, "stream": stream, "attributes": attributes})
	if err != nil {
		return err
	}
	if _, err := n.proxy.Toxics.AddToxicJson(strings.NewReader(string(text))); err != nil {
		return fmt.Errorf("toxic %s: %w", text, err)
	}
	n.added = append(n.added, toxic+stream)
	return nil
}

// end makes it good again.
func (n *network) end() error {
	for _, name := range n.added {
		if err := n.proxy.Toxics.RemoveToxic(context.Background(), name); err != nil {
			return fmt.Errorf("toxic %s: %w", name, err)
		}
	}
	n.added = nil
	return nil
}

// refuse closes the port and all connections; accept opens it again.
func (n *network) refuse() { n.proxy.Stop() }

func (n *network) accept() error { return n.proxy.Start() }

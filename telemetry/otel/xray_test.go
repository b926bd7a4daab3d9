package otel

import (
	"testing"

	"go.opentelemetry.io/otel/trace"
)

func TestParseXRay(t *testing.T) {
	const ids = "5759e988bd862e3fe1be46a994272793 53995c3f42cd8ad8 "
	for header, want := range map[string]string{
		"Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1":              ids + "01",
		"Sampled=0;Parent=53995c3f42cd8ad8;Root=1-5759e988-bd862e3fe1be46a994272793":              ids + "00",
		"Root=1-5759e988-bd862e3fe1be46a994272793; Parent=53995c3f42cd8ad8; Sampled=?":            ids + "00",
		"Self=1-a;Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Lineage=25:a;": ids + "00",
		"Root=1-5759E988-BD862E3FE1BE46A994272793;Parent=53995C3F42CD8AD8":                        ids + "00",
		"Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1":                                      "",
		"Parent=53995c3f42cd8ad8;Sampled=1":                                                       "",
		"Root=2-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8":                        "",
		"Root=1-5759e988bd862e3fe1be46a9942727931;Parent=53995c3f42cd8ad8":                        "",
		"Root=1-5759e988-bd862e3fe1be46a99427279g;Parent=53995c3f42cd8ad8":                        "",
		"Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad":                         "",
		"Root=1-00000000-000000000000000000000000;Parent=53995c3f42cd8ad8":                        "",
		"Root=1-5759e988-bd862e3fe1be46a994272793;Parent=0000000000000000":                        "",
		"Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Root=nothing":           "",
		"": "", ";;=;": "", "Root=": "", "Root": "",
	} {
		sc, got := parseXRay(header), ""
		if sc.IsValid() {
			got = sc.TraceID().String() + " " + sc.SpanID().String() + " " + sc.TraceFlags().String()
		}
		if got != want || sc.IsRemote() != (want != "") {
			t.Errorf("%q is %q, remote %v; want %q", header, got, sc.IsRemote(), want)
		}
	}
}

func FuzzParseXRay(f *testing.F) {
	f.Add("Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1")
	f.Add("Root=1-5759e988-bd862e3fe1be46a994272793;Parent=;Sampled=?;Lineage=a:0")
	f.Fuzz(func(t *testing.T, header string) {
		sc := parseXRay(header)
		if !sc.IsValid() {
			if !sc.Equal(trace.SpanContext{}) {
				t.Fatalf("%q is not valid and not empty: %v", header, sc)
			}
			return
		}
		if again := parseXRay(formatXRay(sc)); !again.Equal(sc) {
			t.Fatalf("%q is %v, then %v", header, sc, again)
		}
	})
}

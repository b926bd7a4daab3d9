package main

import (
	"math/rand/v2"
	"testing"
)

func TestTrend_OnlyWhatGrowsRises(t *testing.T) {
	for name, c := range map[string]struct {
		at    func(n int, noise float64) float64
		rises bool
	}{
		"noise":                           {func(_ int, noise float64) float64 { return 30 + 20*noise }, false},
		"noise around 0":                  {func(_ int, noise float64) float64 { return noise }, false},
		"a leak of one at each sample":    {func(n int, noise float64) float64 { return 30 + 20*noise + float64(n) }, true},
		"a leak within the noise":         {func(n int, noise float64) float64 { return 30 + 20*noise + float64(n)/20 }, true},
		"one more connection":             {func(n int, _ float64) float64 { return 30 + float64(n/500) }, false},
		"a peak in the last quarter":      {func(n int, noise float64) float64 { return 30 + 20*noise + float64(n/970*200) }, false},
		"growth while warming up":         {func(n int, noise float64) float64 { return 30 + noise + float64(min(n, 250)) }, false},
		"nothing":                         {func(int, float64) float64 { return 0 }, false},
		"as much again, after the middle": {func(n int, noise float64) float64 { return (1 + noise) * float64(1+n/500) }, true},
	} {
		random := rand.New(rand.NewPCG(1, 1))
		series := make([]float64, 1000)
		for n := range series {
			series[n] = c.at(n, random.Float64())
		}
		if got := trendOf(series); got.rises() != c.rises {
			t.Errorf("%s: rises is %v, want %v: %+v", name, got.rises(), c.rises, got)
		}
	}
}

package metric_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sqsbatch/sqsbatch/telemetry/metric"
)

func TestValuesAreExactUpToABound(t *testing.T) {
	var v metric.Values
	for i := range 10 * metric.MaxExact {
		v.Observe(float64(metric.MaxExact-i%metric.MaxExact) / 8)
	}
	got := v.Append(nil)
	if len(got) != metric.MaxExact || v.Count != 10*metric.MaxExact {
		t.Fatalf("%d values of %d observations", len(got), v.Count)
	}
	for i, x := range got {
		if want := (metric.Value{Value: float64(i+1) / 8, Count: 10}); x != want {
			t.Errorf("value %d is %v, want %v", i, x, want)
		}
	}
	v.Observe(math.NaN())
	v.Observe(math.Inf(1))
	if v.Count != 10*metric.MaxExact || v.Sum != 5*metric.MaxExact*(metric.MaxExact+1)/8 {
		t.Errorf("count %d, sum %v", v.Count, v.Sum)
	}
	v.Observe(-3)
	if got := v.Append(nil); got[0] != (metric.Value{Value: 0, Count: 1}) || v.Min != 0 {
		t.Errorf("a negative value is %v", got[0])
	}
	if none := (&metric.Values{}); len(none.Append(nil)) != 0 || none.Quantile(0.5) != 0 {
		t.Errorf("without observations it has %v", none.Append(nil))
	}
}

// Each observation stands for one within the error; ends and sum are exact.
func TestRoundedValuesStayWithinTheError(t *testing.T) {
	for name, next := range map[string]func(*rand.Rand) float64{
		"durations":   func(r *rand.Rand) float64 { return math.Round(math.Exp(r.NormFloat64()*2+3)*1e3) / 1e3 },
		"with zeros":  func(r *rand.Rand) float64 { return float64(r.IntN(1000)) * float64(r.IntN(2)) },
		"small":       func(r *rand.Rand) float64 { return r.Float64() / 1e6 },
		"all decades": func(r *rand.Rand) float64 { return math.Pow(10, r.Float64()*21-9) },
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			var v metric.Values
			var all []float64
			sum := 0.0
			for range 5000 {
				x := next(r)
				all, sum = append(all, x), sum+x
				v.Observe(x)
			}
			slices.Sort(all)
			got := v.Append(nil)
			if len(got) >= len(all)/4 || v.Sum != sum || v.Count != len(all) {
				t.Errorf("%d values of %d, sum %v, want %v", len(got), v.Count, v.Sum, sum)
			}
			if v.Min != all[0] || v.Max != all[len(all)-1] || got[0].Value != v.Min || got[len(got)-1].Value != v.Max {
				t.Errorf("from %v to %v, as values from %v to %v; want from %v to %v", v.Min, v.Max, got[0].Value, got[len(got)-1].Value, all[0], all[len(all)-1])
			}
			at := 0
			for i, x := range got {
				if i > 0 && x.Value <= got[i-1].Value {
					t.Errorf("%v follows %v", x.Value, got[i-1].Value)
				}
				for range x.Count {
					if math.Abs(x.Value-all[at]) > metric.Error*all[at] && all[at] > 1e-9 {
						t.Fatalf("%v stands for %v", x.Value, all[at])
					}
					at++
				}
			}
			if at != len(all) {
				t.Errorf("%d values stand for %d", at, len(all))
			}
			for _, q := range []float64{0.01, 0.5, 0.9, 0.999, 1} {
				want := all[int(math.Ceil(q*float64(len(all))))-1]
				if got := v.Quantile(q); math.Abs(got-want) > metric.Error*want {
					t.Errorf("the quantile %v is %v, want %v", q, got, want)
				}
			}
		})
	}
}

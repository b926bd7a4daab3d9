package metric

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// MaxExact is the number of different values that a [Values] keeps exactly.
const MaxExact = 64

// Error is the largest relative error of a value if there are more than MaxExact.
const Error = 0.02

// Value is a value and the number of its observations.
type Value struct {
	Value float64
	Count int
}

// Values is a distribution in little memory, for percentiles. It is exact up to [MaxExact]
// different values. Beyond that, values are rounded by at most [Error]. Count, Sum, Min and
// Max are always exact. The zero value is ready to use. It is not safe for concurrent use.
//
// It takes 1 KiB while it is exact, and then 8 bytes for each bucket between the smallest and
// the largest value, 59 buckets for each power of ten.
type Values struct {
	Count         int
	Sum, Min, Max float64

	exact []Value
	// buckets[i] counts the values that round to representative(first+i). It is nil while
	// the distribution is exact. zeros are in no bucket.
	buckets []int
	first   int
	zeros   int
}

// Observe adds a value. A value below 0 counts as 0. NaN and infinities are ignored.
func (v *Values) Observe(x float64) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return
	}
	x = max(x, 0)
	if v.Count == 0 {
		v.Min, v.Max = x, x
	}
	v.Min, v.Max = min(v.Min, x), max(v.Max, x)
	v.Count++
	v.Sum += x
	if v.buckets != nil {
		v.round(x, 1)
		return
	}
	for i := range v.exact {
		if v.exact[i].Value == x {
			v.exact[i].Count++
			return
		}
	}
	if len(v.exact) < MaxExact {
		v.exact = append(v.exact, Value{x, 1})
		return
	}
	for _, e := range v.exact {
		v.round(e.Value, e.Count)
	}
	v.exact = v.exact[:0]
	v.round(x, 1)
}

// gamma is the ratio of neighboring buckets. (gamma-1)/(gamma+1) is 1.91 %, which leaves
// room in [Error] for rounding to four digits.
const gamma = 1.039

var perLog = 1 / math.Log(gamma)

// least is the smallest value other than 0: a nanosecond, in seconds. Smaller values count
// as it.
const least = 1e-9

func (v *Values) round(x float64, n int) {
	if x == 0 {
		v.zeros += n
		v.buckets = slices.Grow(v.buckets, 1) // not nil any more
		return
	}
	b := int(math.Floor(math.Log(max(x, least)) * perLog))
	switch {
	case len(v.buckets) == 0:
		v.first = b
		v.buckets = append(v.buckets, 0)
	case b < v.first:
		v.buckets = slices.Insert(v.buckets, 0, make([]int, v.first-b)...)
		v.first = b
	}
	for b >= v.first+len(v.buckets) {
		v.buckets = append(v.buckets, 0)
	}
	v.buckets[b-v.first] += n
}

// representative returns the value for bucket b: between gamma^b and gamma^(b+1), with the same
// relative error to both, in four digits.
func representative(b int) float64 {
	return digits(2 * math.Pow(gamma, float64(b+1)) / (1 + gamma))
}

func digits(x float64) float64 {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	return rounded
}

// Append appends the values in ascending order, each once, with their counts. The first is
// Min and the last is Max, even if the values between them are rounded.
func (v *Values) Append(to []Value) []Value {
	from := len(to)
	if v.buckets == nil {
		to = append(to, v.exact...)
		slices.SortFunc(to[from:], func(a, b Value) int { return cmp.Compare(a.Value, b.Value) })
		return to
	}
	put := func(x float64, n int) {
		if n == 0 {
			return
		}
		x = min(max(x, v.Min), v.Max)
		if last := len(to) - 1; last >= from && to[last].Value == x {
			to[last].Count += n
		} else {
			to = append(to, Value{x, n})
		}
	}
	put(0, v.zeros)
	for i, n := range v.buckets { // the first and the last one have values
		if n == 0 {
			continue
		}
		if i == 0 && v.zeros == 0 {
			put(v.Min, 1)
			n--
		}
		if i == len(v.buckets)-1 && n > 0 {
			put(representative(v.first+i), n-1)
			put(v.Max, 1)
		} else {
			put(representative(v.first+i), n)
		}
	}
	return to
}

// Quantile returns the q-quantile of the values, q from 0 to 1; 0 if there are none.
func (v *Values) Quantile(q float64) float64 {
	rank := int(math.Ceil(q * float64(v.Count)))
	for _, x := range v.Append(nil) {
		if rank -= x.Count; rank <= 0 {
			return x.Value
		}
	}
	return v.Max
}

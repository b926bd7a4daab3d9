package letter_test

import (
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
)

func BenchmarkWhere(b *testing.B) {
	for name, size := range map[string]int{"1KB": 1 << 10, "1MB": 1 << 20} {
		b.Run(name, func(b *testing.B) {
			s, err := letter.Criteria{Where: `.body.items[0].qty > 1 and (.reason | test("customer"))`}.Compile()
			if err != nil {
				b.Fatal(err)
			}
			l := order()
			item := `{"sku": "a-1", "qty": 2},`
			l.Body = `{"items": [` + strings.Repeat(item, size/len(item)) + `0]}`
			b.ReportAllocs()
			for b.Loop() {
				if ok, err := s.Matches(l, now); err != nil || !ok {
					b.Fatal(ok, err)
				}
			}
		})
	}
}

package wirejson_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/emulator/internal/wirejson"
)

// BenchmarkWhole reads ten entries with texts of 500 bytes: plain texts, and JSON with
// escaped quotes.
func BenchmarkWhole(b *testing.B) {
	for name, text := range map[string]string{
		"plain":   strings.Repeat("a plain body of words, and of nothing else. ", 500/44),
		"escaped": strings.Repeat(`{\"id\":\"o-1\",\"note\":\"\u00e4\n\"},`, 500/38),
	} {
		entries := make([]string, 10)
		for i := range entries {
			entries[i] = fmt.Sprintf(`{"Text":"m-%d","Int":%d,"Kept":"%s"}`, i, i, text)
		}
		request := `{"Text":"http://127.0.0.1/q","Many":[` + strings.Join(entries, ",") + `]}`
		b.Run("text="+name, func(b *testing.B) {
			b.SetBytes(int64(len(request)))
			for b.Loop() {
				var o thing
				if !wirejson.NewScanner(request).Whole(&o) || len(o.Many) != len(entries) {
					b.Fatal("it is not taken")
				}
			}
		})
	}
}

package lambda_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// The operators of "Control which events Lambda sends to your function", with a JSON body.
func TestFilterMatch(t *testing.T) {
	const body = `{
		"customer": {"name": "Ana", "city": "Seattle", "note": "", "phone": null, "tags": ["new", "vip"], "orders": []},
		"total": 300, "rate": 3.0e2, "tiny": -0.5, "huge": 6e9, "paid": true, "code": "300",
		"items": [{"sku": "a", "count": 1}, {"sku": "b", "count": 5}],
		"nested": [["deep"], [{"x": 1}]], "file": "Photo.PNG", "street": "STRASSE"
	}`
	for _, c := range []struct {
		pattern string // of body
		want    bool
	}{
		{`{"customer": {"name": ["Ana"]}}`, true},
		{`{"customer": {"name": ["ana"]}}`, false}, // no case folding
		{`{"customer": {"name": ["Bob", "Ana"]}}`, true},
		{`{"customer": {"name": ["Ana"], "city": ["Berlin"]}}`, false}, // all fields
		{`{"customer": {"nobody": ["Ana"]}}`, false},
		{`{"customer": {"phone": [null]}}`, true},
		{`{"customer": {"name": [null]}}`, false},
		{`{"customer": {"nobody": [null]}}`, false},
		{`{"customer": {"note": [""]}}`, true},
		{`{"customer": {"name": [""]}}`, false},
		{`{"customer": ["Ana"]}`, false}, // an object is not a value
		{`{"paid": [true]}`, true},
		{`{"paid": ["true"]}`, false},
		// Numbers are compared as text, except by numeric.
		{`{"total": [300]}`, true},
		{`{"rate": [300]}`, false},
		{`{"rate": [3.0e2]}`, true},
		{`{"total": ["300"]}`, false},
		{`{"code": [300]}`, false},
		{`{"rate": [{"numeric": ["=", 300]}]}`, true},
		{`{"code": [{"numeric": ["=", 300]}]}`, false},
		{`{"total": [{"numeric": [">", 300]}]}`, false},
		{`{"total": [{"numeric": [">=", 300]}]}`, true},
		{`{"total": [{"numeric": ["<=", 300]}]}`, true},
		{`{"total": [{"numeric": ["<", 300]}]}`, false},
		{`{"total": [{"numeric": [">", 10, "<=", 300]}]}`, true},
		{`{"total": [{"numeric": [">", 10, "<", 300]}]}`, false},
		{`{"tiny": [{"numeric": ["<", 0]}]}`, true},
		{`{"huge": [{"numeric": [">", 0]}]}`, false}, // above the limit of numeric
		{`{"customer": {"city": [{"prefix": "Sea"}]}}`, true},
		{`{"customer": {"city": [{"prefix": "sea"}]}}`, false},
		{`{"customer": {"city": [{"prefix": {"equals-ignore-case": "sEA"}}]}}`, true},
		{`{"customer": {"city": [{"prefix": {"equals-ignore-case": "Seattles"}}]}}`, false},
		{`{"total": [{"prefix": "3"}]}`, false}, // strings only
		{`{"file": [{"suffix": ".PNG"}]}`, true},
		{`{"file": [{"suffix": ".png"}]}`, false},
		{`{"file": [{"suffix": {"equals-ignore-case": ".png"}}]}`, true},
		{`{"file": [{"suffix": {"equals-ignore-case": "a photo.png"}}]}`, false},
		{`{"file": [{"equals-ignore-case": "photo.png"}]}`, true},
		{`{"file": [{"equals-ignore-case": "photo.pn"}]}`, false},
		{`{"customer": {"name": [{"exists": true}]}}`, true},
		{`{"customer": {"nobody": [{"exists": true}]}}`, false},
		{`{"customer": {"nobody": [{"exists": false}]}}`, true},
		{`{"customer": {"phone": [{"exists": true}]}}`, true},
		{`{"customer": [{"exists": true}]}`, false}, // leaves only
		{`{"customer": [{"exists": false}]}`, true},
		{`{"nobody": {"at": {"all": [{"exists": false}]}}}`, true},
		{`{"customer": {"orders": [{"exists": false}]}}`, true}, // an empty list has no leaf
		{`{"customer": {"orders": {"id": [{"exists": false}]}}}`, true},
		{`{"customer": {"city": [{"anything-but": "Berlin"}]}}`, true},
		{`{"customer": {"city": [{"anything-but": ["Berlin", "Seattle"]}]}}`, false},
		{`{"customer": {"nobody": [{"anything-but": ["Berlin"]}]}}`, false}, // must be there
		{`{"total": [{"anything-but": [100, 200]}]}`, true},
		{`{"total": [{"anything-but": 300}]}`, false},
		{`{"rate": [{"anything-but": 300}]}`, false},
		{`{"total": [{"anything-but": "300"}]}`, true},
		{`{"paid": [{"anything-but": "true"}]}`, true},
		{`{"customer": {"city": [{"anything-but": {"prefix": "Sea"}}]}}`, false},
		{`{"customer": {"city": [{"anything-but": {"prefix": ["Ber", "Lon"]}}]}}`, true},
		{`{"file": [{"anything-but": {"suffix": ".PNG"}}]}`, false},
		{`{"file": [{"anything-but": {"suffix": [".jpg"]}}]}`, true},
		{`{"file": [{"anything-but": {"equals-ignore-case": ["x", "PHOTO.png"]}}]}`, false},
		{`{"total": [{"anything-but": {"prefix": "3"}}]}`, true},
		// Lists: one value is enough; objects in them match as a whole.
		{`{"customer": {"tags": ["vip"]}}`, true},
		{`{"customer": {"tags": ["old"]}}`, false},
		{`{"customer": {"tags": [{"anything-but": "vip"}]}}`, true},
		{`{"items": {"sku": ["a"], "count": [1]}}`, true},
		{`{"items": {"sku": ["a"], "count": [5]}}`, false},
		{`{"nested": ["deep"]}`, true},
		{`{"nested": {"x": [1]}}`, true},
		// $or
		{`{"$or": [{"customer": {"city": ["Berlin"]}}, {"paid": [true]}]}`, true},
		{`{"$or": [{"customer": {"city": ["Berlin"]}}, {"paid": [false]}]}`, false},
		{`{"total": [1], "$or": [{"paid": [false]}, {"paid": [true]}]}`, false},
		{`{"customer": {"$or": [{"city": ["Berlin"]}, {"name": ["Ana"], "note": [""]}]}}`, true},
		{`{"$or": [{"paid": [false]}, {"$or": [{"total": [1]}, {"total": [300]}]}]}`, true},
		{`{"$or": [300]}`, false}, // one value: a field's name
	} {
		f, err := lambda.ParseFilter(`{"body": ` + c.pattern + `}`)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if got := f.Match(body); got != c.want {
			t.Errorf("%s: %v, want %v", c.pattern, got, c.want)
		}
	}
}

// The table of "Using event filtering with an Amazon SQS event source": the formats of a
// body and of a pattern. Its rows without a pattern of body are in the test of errors.
func TestFilterFormats(t *testing.T) {
	const (
		plain  = `{"body": [{"prefix": "order"}, "42", {"exists": true}]}`
		object = `{"body": {"status": [{"exists": false}, "paid"]}}`
		either = `{"$or": [` + plain + `, ` + object + `]}`
	)
	for _, c := range []struct {
		pattern, body string
		want          bool
	}{
		{plain, "order 7", true},
		{plain, "anything: it exists", true},
		{plain, `{"status": "paid"}`, false},
		{plain, `42`, false}, // valid JSON
		{plain, `"order"`, false},
		{object, `{"status": "paid"}`, true},
		{object, `{"status": "open"}`, false},
		{object, ` {} `, true},
		{object, `[{"status": "open"}, {"status": "paid"}]`, true},
		{object, `[]`, true},
		{object, `42`, true}, // JSON that has no status
		{object, "order 7", false},
		{object, `{"status": "paid"} {}`, false}, // not JSON
		{object, `{"status": "paid"`, false},
		{either, "order 7", true},
		{either, `{"status": "paid"}`, true},
		{either, `{"status": "open"}`, false},
		{`{"body": [{"anything-but": "order"}]}`, "other", true},
		{`{"body": [{"anything-but": "order"}]}`, "order", false},
	} {
		f, err := lambda.ParseFilter(c.pattern)
		if err != nil {
			t.Fatalf("%s: %v", c.pattern, err)
		}
		if got := f.Match(c.body); got != c.want {
			t.Errorf("%s on %s: %v, want %v", c.pattern, c.body, got, c.want)
		}
	}
}

func TestFilterErrors(t *testing.T) {
	body := func(rule string) string { return `{"body": {"a": ` + rule + `}}` }
	for _, c := range []struct{ pattern, want string }{
		{``, "not JSON"},
		{`{`, "not JSON"},
		{"{\"body\": [\"\xff\"]}", "not UTF-8"},
		{`null`, "pattern: need an object"},
		{`[{"body": ["a"]}]`, "pattern: need an object"},
		{`{}`, "pattern: is empty"},
		{`{"body": {}}`, "pattern.body: is empty"},
		{`{"body": "a"}`, `pattern.body: need a list of values or an object, not "a"`},
		{`{"body": null}`, "pattern.body: need a list"},
		{`{"body": []}`, "pattern.body: the list is empty"},
		{`{"messageAttributes": {"kind": ["a"]}}`, `"messageAttributes": messages of SQS are filtered by their "body" only`},
		{`{"$or": [{"body": ["a"]}, {"messageId": ["a"]}]}`, `"messageId": messages of SQS`},
		{`{"$or": [{"body": ["a"]}]}`, "pattern.$or[0].body: Lambda has no such operator"},
		{`{"$or": [{"body": ["a"]}, {"body": []}]}`, "pattern.$or[1].body: the list is empty"},
		{body(`[["a"]]`), "pattern.body.a[0]: need a value or an operator"},
		{body(`[{}]`), "pattern.body.a[0]: need one operator, have 0"},
		{body(`["x", {"prefix": "a", "suffix": "b"}]`), "pattern.body.a[1]: need one operator, have 2"},
		{body(`[{"wildcard": "a*"}]`), "pattern.body.a[0].wildcard: Lambda has no such operator"},
		{body(`[{"prefix": 7}]`), "pattern.body.a[0].prefix: need a string, not 7"},
		{body(`[{"prefix": null}]`), "need a string, not null"},
		{body(`[{"prefix": {"suffix": "a"}}]`), `need a string or {"equals-ignore-case": string}`},
		{body(`[{"suffix": {}}]`), "need one operator"},
		{body(`[{"equals-ignore-case": {"prefix": "a"}}]`), "need a string"},
		{body(`[{"exists": "true"}]`), `exists: need true or false, not "true"`},
		{body(`[{"exists": null}]`), "exists: need true or false"},
		{body(`[{"anything-but": []}]`), "anything-but: the list is empty"},
		{body(`[{"anything-but": ["a", 1]}]`), "anything-but: need strings only or numbers only"},
		{body(`[{"anything-but": null}]`), "need strings or numbers, not null"},
		{body(`[{"anything-but": [true]}]`), "need strings or numbers, not true"},
		{body(`[{"anything-but": {}}]`), "need one operator"},
		{body(`[{"anything-but": {"numeric": [">", 1]}}]`), "anything-but takes prefix, suffix or equals-ignore-case"},
		{body(`[{"anything-but": {"prefix": []}}]`), "anything-but.prefix: the list is empty"},
		{body(`[{"anything-but": {"prefix": [1]}}]`), "anything-but.prefix: need a string, not 1"},
		{body(`[{"anything-but": 6e9}]`), "6e9: need a number from -5e+09 to 5e+09"},
		{body(`[{"numeric": 1}]`), "numeric: need [operator, number]"},
		{body(`[{"numeric": []}]`), "numeric: need [operator, number]"},
		{body(`[{"numeric": [">", 1, "<"]}]`), "numeric: need [operator, number]"},
		{body(`[{"numeric": ["!", 1]}]`), "! is not one of the operators"},
		{body(`[{"numeric": [1, ">"]}]`), "1 is not one of the operators"},
		{body(`[{"numeric": [">", "1"]}]`), "1 is not a number"},
		{body(`[{"numeric": [">", 6e9]}]`), "need a number from"},
		{body(`[{"numeric": ["<", 1, ">", 0]}]`), "a range is > or >= and then < or <="},
		{body(`[{"numeric": ["=", 1, "<", 2]}]`), "a range is"},
		{body(`[{"numeric": [">", 1, "=", 2]}]`), "a range is"},
		{body(`[{"numeric": [">", 2, "<", 2]}]`), "the range from 2 to 2 is empty"},
		{body(`["` + strings.Repeat("é", 4096) + `"]`), "characters, limit 4096"},
	} {
		if _, err := lambda.ParseFilter(c.pattern); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s: error %v, want %q", c.pattern, err, c.want)
		}
	}
	longest := fmt.Sprintf(`{"body":["%s"]}`, strings.Repeat("é", 4096-len(`{"body":[""]}`)))
	if _, err := lambda.ParseFilter(longest); err != nil {
		t.Errorf("4096 characters: %v", err)
	}
}

// Every pattern and body give an error or a result. A pattern for JSON never passes plain
// text, not even with {"exists": false}.
func FuzzFilter(f *testing.F) {
	for _, seed := range []struct{ pattern, body string }{
		{`{"body": {"a": [{"numeric": [">", 1, "<=", 2]}]}}`, `{"a": [1, 2]}`},
		{`{"body": [{"anything-but": {"prefix": ["a"]}}]}`, `b`},
		{`{"$or": [{"body": {"a": [null]}}, {"body": ["x"]}]}`, `[[{"a": null}]]`},
		{`{"body": {"a": [{"exists": false}, {"prefix": {"equals-ignore-case": "ß"}}]}}`, `{"a": {}}`},
	} {
		f.Add(seed.pattern, seed.body)
	}
	f.Fuzz(func(t *testing.T, pattern, body string) {
		filter, err := lambda.ParseFilter(pattern)
		if err != nil {
			return
		}
		filter.Match(body)
		if strings.Contains(pattern, "$or") {
			return
		}
		if filter.Match(`{}`) && filter.Match("plain") {
			t.Errorf("%s matches JSON and plain text", pattern)
		}
	})
}

// A message that matches no filter is deleted without an invocation, does not count in a
// batch, and is reported.
func TestMappingFilters(t *testing.T) {
	virtual(t, func(w *world) {
		url := w.queue("orders", 30)
		var filtered []string
		m := lambda.Mapping{
			QueueURL: url, BatchSize: 3, Window: 10 * time.Second,
			Filters: []string{`{"body": [{"prefix": "a"}]}`, `{"body": [{"suffix": "z"}]}`},
			Filtered: func(f lambda.Filtered) {
				for i, r := range f.Records {
					if !f.Verdicts[i].Deleted || f.Verdicts[i].Err != nil {
						w.Errorf("%s: %+v", r.Body, f.Verdicts[i])
					}
					filtered = append(filtered, r.Body)
				}
			},
		}
		w.send(url, "a1", "b1", "b2", "yz", "b3", "b4")
		stop := w.run(m)
		w.after(5 * time.Second)
		w.wantDeleted("b1", "b2", "b3", "b4")
		w.send(url, "b5", "a2", "c")
		w.after(9 * time.Second)
		w.wantTimes("5s:3")
		w.wantDeleted("a1", "a2", "yz", "b1", "b2", "b3", "b4", "b5", "c")
		stop()
		slices.Sort(filtered)
		if want := []string{"b1", "b2", "b3", "b4", "b5", "c"}; !slices.Equal(filtered, want) {
			w.Errorf("filtered %v, want %v", filtered, want)
		}
	})
}

// A filtered message that cannot be deleted is reported with the reason. Run waits for the
// delete.
func TestFilteredAndNotDeleted(t *testing.T) {
	virtual(t, func(w *world) {
		url := w.queue("orders", 30)
		ok(t, w.server.Inject(sqs.Fault{Kind: sqs.Refused, Operation: "DeleteMessageBatch"}))
		var told []lambda.Filtered
		w.send(url, "plain")
		stop := w.run(lambda.Mapping{
			QueueURL: url, Filters: []string{`{"body": {"a": [1]}}`},
			Filtered: func(f lambda.Filtered) { told = append(told, f) },
		})
		w.after(time.Millisecond)
		stop()
		if len(told) != 1 || told[0].Verdicts[0].Deleted || told[0].Verdicts[0].Err == nil || told[0].Records[0].Body != "plain" {
			t.Errorf("told %+v", told)
		}
		if len(w.pollErrors) == 0 || w.pollErrors[len(w.pollErrors)-1].Operation != "DeleteMessageBatch" {
			t.Errorf("errors %v, want one of the deletion", w.pollErrors)
		}
		w.wantTimes()
	})
}

// A queue that is slow to delete delays polling, so that the number of waiting deletions is
// limited.
func TestFilteredFasterThanDeleted(t *testing.T) {
	virtual(t, func(w *world) {
		url := w.queue("orders", 30)
		ok(t, w.server.Inject(sqs.Fault{Kind: sqs.Latency, Latency: time.Second, Operation: "DeleteMessageBatch"}))
		w.send(url, numbered(300)...)
		w.runUntil(500*time.Millisecond, lambda.Mapping{QueueURL: url, Filters: []string{`{"body": {"a": [1]}}`}}) // waits for running deletions
		atOnce, calls := 0, w.server.Calls("DeleteMessageBatch")
		for _, c := range calls {
			if c.Began.Equal(w.begin) {
				atOnce++
			}
		}
		if atOnce != 10 || len(calls) > 11 {
			t.Errorf("%d deletions at a time, %d in all; want 10, and one more at most", atOnce, len(calls))
		}
	})
}

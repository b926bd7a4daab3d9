package s3payload_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/payload/s3payload"
)

func TestTheObjectIsDeletedAfterASuccess(t *testing.T) {
	no := errors.New("no")
	late := func(ctx context.Context) error { <-ctx.Done(); return nil }
	for name, c := range map[string]struct {
		fn      func(context.Context) error
		delete  bool
		deleted bool
	}{
		"a success":                {func(context.Context) error { return nil }, true, true},
		"a success, not asked for": {func(context.Context) error { return nil }, false, false},
		"a failure":                {func(context.Context) error { return no }, true, false},
		"a failure for good":       {func(context.Context) error { return batch.Permanent(no) }, true, false},
		"a success after its time": {late, true, false}, // the message may come again
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newS3(t, "a/1")
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				w := &warned{}
				cfg := s3payload.Config{Buckets: buckets, Client: f.client(), DeleteAfterSuccess: c.delete, Warnings: w}
				for _, h := range []batch.Handler{
					s3payload.Unwrap(cfg)(batch.Text(func(ctx context.Context, _ string) error { return c.fn(ctx) })),
					s3payload.Stream(func(ctx context.Context, _ s3payload.Object) error { return c.fn(ctx) }, cfg),
				} {
					f.objects["payloads/a/1"] = order
					_ = h.Handle(ctx, record(newer, size(len(order))))
					if _, there := f.objects["payloads/a/1"]; there == c.deleted {
						t.Errorf("deleted: %v; calls: %s", !there, f.called())
					}
					if len(w.list) != 0 {
						t.Errorf("warnings: %v", w.list)
					}
				}
			})
		})
	}
}

func TestADeleteThatFailsFailsNoRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, w := newS3(t, "a/1"), &warned{}
		f.refuseAll(http.MethodDelete, 403, "AccessDenied")
		cfg := s3payload.Config{Buckets: buckets, Client: f.client(), DeleteAfterSuccess: true, Warnings: w}
		h := s3payload.Unwrap(cfg)(batch.Text(func(context.Context, string) error { return nil }))
		handle := func(times int) {
			for range times {
				ok(t, h.Handle(t.Context(), record(newer, nil)))
			}
		}
		handle(5)
		time.Sleep(time.Minute)
		handle(1)
		if len(w.list) != 2 {
			t.Fatalf("%d warnings, want one a minute", len(w.list))
		}
		first, second := w.list[0], w.list[1]
		if first.MessageID != "m-1" || !strings.Contains(first.Message, "could not be deleted from S3: the role needs s3:DeleteObject") || !strings.Contains(first.Err.Error(), "AccessDenied") {
			t.Errorf("%+v", first)
		}
		if !strings.HasSuffix(second.Message, "; 4 more of these since the last line") {
			t.Errorf("%+v", second)
		}
	})
}

func TestADelete_DoesNotHoldUpOthersForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newS3(t, "a/1")
		cfg := s3payload.Config{Buckets: buckets, Client: f.client(), DeleteAfterSuccess: true, Warnings: panics{}}
		h := s3payload.Unwrap(cfg)(batch.Text(func(context.Context, string) error {
			f.slow = time.Hour
			return nil
		}))
		begin := time.Now()
		if err := h.Handle(t.Context(), record(newer, nil)); err != nil || time.Since(begin) > 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}

type panics struct{}

func (panics) Warned(context.Context, batch.Warning) { panic("a hook of the user's") }

func TestAMissingObjectMayBeIgnored(t *testing.T) {
	f, w := newS3(t), &warned{}
	cfg := s3payload.Config{Buckets: buckets, IgnoreMissing: true, Warnings: w}
	_, called, err := handle(t.Context(), f, cfg, record(newer, nil))
	if called || err != nil || len(w.list) != 1 || w.list[0].MessageID != "m-1" || !strings.Contains(w.list[0].Message, "was taken as handled before") {
		t.Errorf("called: %v, %v, %v", called, err, w.list)
	}
	// Denied is not missing, and all objects of a bucket that does not exist were not handled.
	for code, status := range map[string]int{"AccessDenied": 403, "NoSuchBucket": 404} {
		f.refuseAll("", status, code)
		if _, _, err = handle(t.Context(), f, cfg, record(newer, nil)); err == nil {
			t.Errorf("an object of which S3 says %s was taken for handled", code)
		}
	}
	// An error of the function's own that looks like it is the function's.
	f.fault = nil
	f.objects["payloads/a/1"] = order
	cfg.Client = f.client()
	h := s3payload.Unwrap(cfg)(batch.Text(func(context.Context, string) error {
		_, _, err := handle(t.Context(), f, s3payload.Config{Buckets: buckets}, record(strings.Replace(newer, "a/1", "a/2", 1), nil))
		return err
	}))
	if err := h.Handle(t.Context(), record(newer, nil)); err == nil {
		t.Error("the function's error was taken for a missing object of the record")
	}
}

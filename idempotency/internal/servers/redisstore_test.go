package servers_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/internal/histories"
	"github.com/sqsbatch/sqsbatch/idempotency/redisstore"
	"github.com/sqsbatch/sqsbatch/idempotency/storetest"
	"github.com/valkey-io/valkey-go"
)

// redisPrograms are the programs of the servers that are named.
func redisPrograms() []string {
	if *redisServers == "" {
		return nil
	}
	return strings.Split(*redisServers, ",")
}

// newRedisNode is a node of Redis or Valkey with more settings. Its socket is redisSocket.
func newRedisNode(program string, settings ...string) (*node, error) {
	n, err := newNode(false)
	if err == nil {
		n.args = append([]string{program, "--unixsocket", redisSocket(n), "--save", "", "--dir", n.folder}, settings...)
	}
	return n, err
}

func redisSocket(n *node) string { return filepath.Join(n.folder, "redis") }

func (n *node) redis() *redis.Client {
	return redis.NewClient(&redis.Options{Network: "unix", Addr: redisSocket(n), MaxRetries: -1, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})
}

func (n *node) startRedis() error {
	client := n.redis()
	defer client.Close()
	return n.start(func() error { return client.Ping(context.Background()).Err() })
}

var redisNodes = map[string]*node{} // by program

// server returns the socket of a server of Redis or Valkey, started once.
func server(t testing.TB, program string) (socket string) {
	t.Helper()
	n := redisNodes[program]
	if n == nil {
		var err error
		if n, err = newRedisNode(program, "--port", "0"); err != nil {
			t.Fatal(err)
		}
		stops = append(stops, n.remove)
		if err := n.startRedis(); err != nil {
			t.Fatal(err)
		}
		redisNodes[program] = n
	}
	return redisSocket(n)
}

// client is a client's package, with a server.
type client struct {
	name, socket string
	// store is a store of a new client.
	store func(t testing.TB) *redisstore.Store
}

// servedBy are the clients, with each server that is named.
func servedBy(t testing.TB) (all []client) {
	t.Helper()
	for _, program := range redisPrograms() {
		socket := server(t, program)
		dial := func() (net.Conn, error) { return net.Dial("unix", socket) }
		for name, store := range map[string]func(testing.TB, func() (net.Conn, error)) *redisstore.Store{"go-redis": goRedis, "valkey-go": valkeyGo} {
			all = append(all, client{filepath.Base(program) + " " + name, socket, func(t testing.TB) *redisstore.Store { return store(t, dial) }})
		}
	}
	return all
}

func goRedisClient(t testing.TB, dial func() (net.Conn, error)) *redis.Client {
	c := redis.NewClient(&redis.Options{
		Dialer:                func(context.Context, string, string) (net.Conn, error) { return dial() },
		ContextTimeoutEnabled: true, MaxRetries: -1, ConnMaxIdleTime: 2 * time.Second,
		// Its goroutines outlive a connection that breaks during its handshake.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func goRedis(t testing.TB, dial func() (net.Conn, error)) *redisstore.Store {
	c := goRedisClient(t, dial)
	return redisstore.New(func(ctx context.Context, script string, keys, args []string) (any, error) {
		return redis.NewScript(script).Run(ctx, c, keys, args).Result()
	})
}

func valkeyGo(t testing.TB, dial func() (net.Conn, error)) *redisstore.Store {
	c, err := valkey.NewClient(valkey.ClientOption{
		InitAddress:  []string{"unused:1"},
		DialCtxFn:    func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) { return dial() },
		DisableRetry: true, DisableCache: true, ForceSingleClient: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return redisstore.New(func(ctx context.Context, script string, keys, args []string) (any, error) {
		return valkey.NewLuaScript(script).Exec(ctx, c, keys, args).ToAny()
	})
}

// eachClient runs a test with each of servedBy.
func eachClient(t *testing.T, test func(t *testing.T, c client)) {
	for _, c := range servedBy(t) {
		t.Run(c.name, func(t *testing.T) { test(t, c) })
	}
}

func TestRedis_Store(t *testing.T) {
	eachClient(t, func(t *testing.T, c client) {
		store := c.store(t)
		storetest.Run(t, func(*testing.T) idempotency.Store { return store })
	})
}

func TestRedis_Histories(t *testing.T) {
	eachClient(t, func(t *testing.T, c client) {
		store, drawn := c.store(t), drawn()
		drawn.Store = func(f *histories.Faults) idempotency.Store { return f.Around(store) }
		histories.Check(t, drawn)
	})
}

// raw is a client that looks at values.
func (c client) raw(t *testing.T) *redis.Client {
	raw := redis.NewClient(&redis.Options{Network: "unix", Addr: c.socket})
	t.Cleanup(func() { _ = raw.Close() })
	return raw
}

func claimOf(t *testing.T, owner string) idempotency.Claim {
	return idempotency.Claim{Key: t.Name(), Owner: owner, Lease: 90 * time.Second, Remember: 24 * time.Hour, Content: "c0ffee"}
}

// The values are Powertools', with its names and types. The validation hash is kept.
func TestRedis_ValuesArePowertools(t *testing.T) {
	eachClient(t, func(t *testing.T, c client) {
		ctx, store, raw := t.Context(), c.store(t), c.raw(t)
		now := time.Now()
		claim := claimOf(t, "A")
		if _, err := store.Claim(ctx, claim); err != nil {
			t.Fatal(err)
		}
		wantValue(t, raw, now, map[string]any{
			"status": "INPROGRESS", "owner": "A", "validation": "c0ffee", "remember": float64(86400),
			"in_progress_expiration": now.Add(90 * time.Second), "expiration": now.Add(90*time.Second + 24*time.Hour),
		})
		if err := store.Complete(ctx, claim.Key, "A", idempotency.Completion{Result: []byte(`{"a":"é"}`), Remember: time.Hour}); err != nil {
			t.Fatal(err)
		}
		wantValue(t, raw, now, map[string]any{
			"status": "COMPLETED", "owner": "A", "validation": "c0ffee", "data": `{"a":"é"}`, "expiration": now.Add(time.Hour),
		})
		if left := raw.PTTL(ctx, claim.Key).Val(); left > time.Hour || left < time.Hour-10*time.Second {
			t.Errorf("the key lasts for %v, want an hour", left)
		}
	})
}

// wantValue compares a value. Times are whole numbers within ten seconds.
func wantValue(t *testing.T, raw *redis.Client, now time.Time, want map[string]any) {
	t.Helper()
	text, err := raw.Get(t.Context(), t.Name()).Result()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&got); err != nil {
		t.Fatal(err)
	}
	for name, w := range want {
		g := got[name]
		if n, ok := g.(json.Number); ok {
			i, err := n.Int64()
			if err != nil {
				t.Errorf("%s is %s, want a whole number", name, n)
			}
			g = float64(i)
			if at, ok := w.(time.Time); ok {
				unit := int64(1)
				if name == "expiration" {
					unit = 1000
				}
				if late := time.UnixMilli(i * unit).Sub(at); late <= -time.Millisecond || late > 10*time.Second { // the clock of scripts has milliseconds
					t.Errorf("%s is off by %v", name, late)
				}
				continue
			}
		}
		if g != w {
			t.Errorf("%s is %v, want %v", name, g, w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("the value is %s, want the names of %v", text, want)
	}
}

func TestRedis_ValuesOfPowertools(t *testing.T) {
	for _, c := range servedBy(t) {
		store := c.store(t)
		hour := time.Now().Add(time.Hour)
		for name, test := range map[string]struct {
			value string
			want  idempotency.Found
		}{
			"Python's completion":         {fmt.Sprintf(`{"data": "{\"a\": 1.0}", "status": "COMPLETED", "expiration": %d}`, hour.Unix()), idempotency.Found{State: idempotency.Completed, Result: []byte(`{"a": 1.0}`)}},
			"TypeScript's completion":     {fmt.Sprintf(`{"status":"COMPLETED","expiration":%d,"data":{"a":[],"n":12345678901234567890},"validation":"v"}`, hour.Unix()), idempotency.Found{State: idempotency.Completed, Result: []byte(`{"a":[],"n":12345678901234567890}`), Content: "v"}},
			"no result":                   {fmt.Sprintf(`{"data": null, "status": "COMPLETED", "expiration": %d}`, hour.Unix()), idempotency.Found{State: idempotency.Completed}},
			"in progress":                 {fmt.Sprintf(`{"status": "INPROGRESS", "expiration": %d, "in_progress_expiration": %d}`, hour.Unix(), hour.UnixMilli()), idempotency.Found{State: idempotency.InProgress, Left: time.Hour}},
			"in progress without an end":  {fmt.Sprintf(`{"status": "INPROGRESS", "expiration": %d}`, hour.Unix()), idempotency.Found{State: idempotency.InProgress, Left: time.Hour}},
			"in progress, which is over":  {fmt.Sprintf(`{"status": "INPROGRESS", "expiration": %d, "in_progress_expiration": 1700000000000}`, hour.Unix()), idempotency.Found{State: idempotency.Claimed}},
			"in progress with a null end": {`{"status": "INPROGRESS", "expiration": 1, "in_progress_expiration": null}`, idempotency.Found{State: idempotency.InProgress, Left: time.Hour}},
		} {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				if err := c.raw(t).Set(t.Context(), t.Name(), test.value, time.Hour).Err(); err != nil {
					t.Fatal(err)
				}
				for _, err := range []error{store.Renew(t.Context(), t.Name(), "A", time.Hour), store.Complete(t.Context(), t.Name(), "A", idempotency.Completion{}), store.Release(t.Context(), t.Name(), "A")} {
					if !errors.Is(err, idempotency.ErrNotOwner) {
						t.Errorf("%v, want ErrNotOwner", err)
					}
				}
				found, err := store.Claim(t.Context(), claimOf(t, "A"))
				if off := test.want.Left - found.Left; err != nil || found.State != test.want.State || string(found.Result) != string(test.want.Result) ||
					(found.Result == nil) != (test.want.Result == nil) || found.Content != test.want.Content || off < 0 || off > 10*time.Second {
					t.Errorf("%v %s %v %q, %v", found.State, found.Result, found.Left, found.Content, err)
				}
			})
		}
	}
}

// What is no claim is an error, which has no key, and no other call changes it.
func TestRedis_OtherValues(t *testing.T) {
	for _, c := range servedBy(t) {
		store := c.store(t)
		for _, value := range []string{"", "no JSON", "{}", `{"status":"EXPIRED"}`, "[]", "5"} {
			t.Run(c.name+"/"+value, func(t *testing.T) {
				raw := c.raw(t)
				if err := raw.Set(t.Context(), t.Name(), value, time.Hour).Err(); err != nil {
					t.Fatal(err)
				}
				if found, err := store.Claim(t.Context(), claimOf(t, "A")); err == nil || strings.Contains(err.Error(), t.Name()) {
					t.Error(found, err)
				}
				_ = store.Renew(t.Context(), t.Name(), "A", time.Hour)
				_ = store.Complete(t.Context(), t.Name(), "A", idempotency.Completion{})
				_ = store.Release(t.Context(), t.Name(), "A")
				if got := raw.Get(t.Context(), t.Name()).Val(); got != value {
					t.Errorf("the value is %s now", got)
				}
			})
		}
	}
}

// A server that has lost its scripts, as after a restart, gets them again.
func TestRedis_ScriptsAreLost(t *testing.T) {
	eachClient(t, func(t *testing.T, c client) {
		store, raw := c.store(t), c.raw(t)
		for range 2 {
			if err := raw.ScriptFlush(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			if found, err := store.Claim(t.Context(), claimOf(t, "A")); err != nil || found.State != idempotency.Claimed {
				t.Error(found, err)
			}
		}
	})
}

// A server that is short of memory evicts the claim of a worker that is at work. No other worker
// has the key, so the work counts.
func TestRedis_ClaimIsEvicted_WorkIsDoneOnce(t *testing.T) {
	eachClient(t, func(t *testing.T, c client) {
		admin := c.raw(t)
		handled := 0
		h := batch.Chain(batch.HandlerFunc(func(ctx context.Context, _ batch.Record) error {
			handled++
			return admin.FlushAll(ctx).Err()
		}), idempotency.New(c.store(t), idempotency.Config{Key: idempotency.MessageID, Prefix: c.name}))
		r := batch.Record{MessageID: "1"}
		if err := h.Handle(t.Context(), r); err != nil {
			t.Error(err)
		}
		if err := h.Handle(t.Context(), r); !errors.Is(err, batch.ErrDuplicate) || handled != 1 {
			t.Errorf("%v, handled %d times; want a duplicate", err, handled)
		}
	})
}

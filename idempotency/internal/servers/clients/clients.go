// Package clients makes redisstore stores for clients of Redis and Valkey.
package clients

import (
	"context"

	"github.com/redis/go-redis/v9"
	"github.com/sqsbatch/sqsbatch/idempotency/redisstore"
	"github.com/valkey-io/valkey-go"
)

// GoRedis returns a store for github.com/redis/go-redis/v9, with ContextTimeoutEnabled in the
// client's options.
func GoRedis(client redis.UniversalClient) *redisstore.Store {
	return redisstore.New(func(ctx context.Context, script string, keys, args []string) (any, error) {
		return redis.NewScript(script).Run(ctx, client, keys, args).Result()
	})
}

// ValkeyGo returns a store for github.com/valkey-io/valkey-go.
func ValkeyGo(client valkey.Client) *redisstore.Store {
	return redisstore.New(func(ctx context.Context, script string, keys, args []string) (any, error) {
		return valkey.NewLuaScript(script).Exec(ctx, client, keys, args).ToAny()
	})
}

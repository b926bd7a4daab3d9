// Package clients makes stores of clients.
package clients

import (
	"context"

	"github.com/redis/go-redis/v9"
	"github.com/sqsbatch/sqsbatch/idempotency/redisstore"
	"github.com/valkey-io/valkey-go"
)

// GoRedis is for github.com/redis/go-redis/v9, with ContextTimeoutEnabled in its options.
func GoRedis(client redis.UniversalClient) *redisstore.Store {
	return redisstore.New(func(ctx context.Context, script string, keys, args []string) (any, error) {
		return redis.NewScript(script).Run(ctx, client, keys, args).Result()
	})
}

// ValkeyGo is for github.com/valkey-io/valkey-go.
func ValkeyGo(client valkey.Client) *redisstore.Store {
	return redisstore.New(func(ctx context.Context, script string, keys, args []string) (any, error) {
		return valkey.NewLuaScript(script).Exec(ctx, client, keys, args).ToAny()
	})
}

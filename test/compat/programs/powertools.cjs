// One invocation of a function with the idempotency of Powertools for TypeScript:
//
//     node powertools.cjs MILLISECONDS BODY    the invocation has so much time left
//
// What it prints and reads is what powertools.py does.

const readline = require("node:readline");
const { IdempotencyConfig, makeIdempotent } = require("@aws-lambda-powertools/idempotency");
const { DynamoDBPersistenceLayer } = require("@aws-lambda-powertools/idempotency/dynamodb");

const [milliseconds, body] = process.argv.slice(2);
const say = (line) => console.log(JSON.stringify(line));

async function ship(order) {
  say({ event: "began" });
  const input = readline.createInterface({ input: process.stdin });
  for await (const line of input) {
    if (line === "fail") throw Object.assign(new Error("told to fail"), { name: "RuntimeError" });
    break;
  }
  return { shipped: order.orderId };
}

const config = new IdempotencyConfig({ eventKeyJmesPath: "orderId", throwOnNoIdempotencyKey: true });
config.registerLambdaContext({ getRemainingTimeInMillis: () => Number(milliseconds) });

const shipOrder = makeIdempotent(ship, {
  persistenceStore: new DynamoDBPersistenceLayer({ tableName: "idempotency" }),
  config,
  keyPrefix: "ship-order",
});

shipOrder(JSON.parse(body)).then(
  (result) => say({ event: "ended", result }),
  (e) => say({ event: "ended", error: e.name }),
);

// sqs-consumer and sqs-producer, as consumer in ../clients.go explains.
const readline = require("node:readline");
const { Consumer } = require("sqs-consumer");
const { Producer } = require("sqs-producer");
const { SQSClient } = require("@aws-sdk/client-sqs");

const queueUrl = process.env.QUEUE_URL;
const fifo = queueUrl.endsWith(".fifo");
const sqs = new SQSClient();

const producer = Producer.create({ queueUrl, sqs });

function messageOf(body) {
  const [n, group] = body.split(" ");
  return {
    id: n,
    body,
    ...(fifo && { groupId: group, deduplicationId: n }),
    messageAttributes: {
      number: { DataType: "Number", StringValue: n },
      note: { DataType: "String", StringValue: process.env.NOTE },
    },
  };
}

async function send() {
  let bodies = [];
  for await (const line of readline.createInterface({ input: process.stdin })) {
    if (line !== "") {
      bodies.push(line);
      continue;
    }
    await producer.send(bodies.map(messageOf));
    bodies = [];
    console.log("sent");
  }
}

async function handle(message) {
  const [n, , fails, millis] = message.Body.split(" ");
  const receives = message.Attributes.ApproximateReceiveCount;
  const say = (what) => console.log([
    what, n, receives, message.Attributes.MessageGroupId ?? "-",
    message.MessageAttributes.number.StringValue, message.MessageAttributes.note.StringValue,
  ].join("\t"));
  say("started");
  await new Promise((resolve) => setTimeout(resolve, Number(millis)));
  if (Number(receives) <= Number(fails)) {
    say("failed");
    throw new Error("as planned");
  }
  say("done");
  return message;
}

const consumer = Consumer.create({
  queueUrl,
  sqs,
  // The messages of a batch are handled at once: one at a time keeps the order.
  batchSize: fifo ? 1 : 10,
  suppressFifoWarning: true,
  messageSystemAttributeNames: ["ApproximateReceiveCount", "MessageGroupId"],
  messageAttributeNames: ["All"],
  waitTimeSeconds: 20,
  terminateVisibilityTimeout: true,
  pollingCompleteWaitTimeMs: 20000,
  handleMessage: handle,
});
consumer.on("processing_error", () => {}); // what handlers throw
consumer.on("error", (error) => {
  console.error(error);
  process.exitCode = 1;
});
process.once("SIGTERM", () => {
  process.stdin.destroy();
  consumer.stop();
});
consumer.start();
send();

// Looks into a memory with the official client of Foxglove's WebSocket protocol, and prints
// what it gets as lines of JSON: node view.mjs URL SECONDS [COMMAND…]
//   sub:TOPIC         subscribe to a channel (sub:* to all)
//   param             get all parameters
//   graph             ask for the connection graph
//   asset:URI         fetch an asset
//   call:NAME:JSON    call a service
//   publish:TOPIC:SCHEMA:JSON   publish a message
// It ends after SECONDS, or earlier when its standard input ends.
import { createRequire } from "node:module";
import WebSocket from "ws";
const require = createRequire(import.meta.url);
const { FoxgloveClient } = require("@foxglove/ws-protocol");
const protobuf = require("protobufjs");
require("protobufjs/ext/descriptor");
const { FileDescriptorSet } = require("protobufjs/ext/descriptor");

const [url, seconds, ...commands] = process.argv.slice(2);
const say = (kind, what) => process.stdout.write(JSON.stringify({ kind, ...what }, (_, v) => typeof v === "bigint" ? String(v) : v) + "\n");

const client = new FoxgloveClient({ ws: new WebSocket(url, [FoxgloveClient.SUPPORTED_SUBPROTOCOL]) });
const channels = new Map(), subscriptions = new Map(), readers = new Map(), counts = new Map();
const text = new TextEncoder();

function reader(channel) {
  if (!readers.has(channel.schemaName)) {
    const set = FileDescriptorSet.decode(Buffer.from(channel.schema, "base64"));
    readers.set(channel.schemaName, protobuf.Root.fromDescriptor(set).lookupType(channel.schemaName));
  }
  return readers.get(channel.schemaName);
}

client.on("open", () => say("open", {}));
client.on("error", (e) => say("error", { message: String(e?.message ?? e) }));
client.on("close", (e) => { say("close", { code: e?.code, reason: e?.reason }); process.exit(0); });
client.on("serverInfo", (info) => say("serverInfo", { info }));
client.on("status", (s) => say("status", s));
client.on("time", ({ timestamp }) => { counts.set("time", (counts.get("time") ?? 0) + 1); });
client.on("parameterValues", (p) => say("parameters", p));
client.on("connectionGraphUpdate", (g) => say("graph", g));
client.on("fetchAssetResponse", (a) => say("asset", { status: a.status, error: a.error, text: a.data && Buffer.from(a.data.buffer, a.data.byteOffset, a.data.byteLength).toString() }));
client.on("serviceCallResponse", (r) => say("answer", { encoding: r.encoding, json: JSON.parse(Buffer.from(r.data.buffer, r.data.byteOffset, r.data.byteLength).toString()) }));
client.on("serviceCallFailure", (f) => say("failure", f));
client.on("message", ({ subscriptionId, timestamp, data }) => {
  const channel = subscriptions.get(subscriptionId);
  const n = (counts.get(channel.topic) ?? 0) + 1;
  counts.set(channel.topic, n);
  if (n > 3) return;
  try {
    const value = reader(channel).decode(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    let json = JSON.stringify(value);
    if (json.length > 2000) json = json.slice(0, 2000);
    say("message", { topic: channel.topic, schema: channel.schemaName, timestamp, bytes: data.byteLength, json });
  } catch (e) { say("unreadable", { topic: channel.topic, schema: channel.schemaName, message: String(e) }); }
});
client.on("advertise", (news) => {
  for (const c of news) {
    channels.set(c.id, c);
    say("channel", { id: c.id, topic: c.topic, encoding: c.encoding, schemaName: c.schemaName, schemaEncoding: c.schemaEncoding });
    if (commands.includes("sub:*") || commands.includes("sub:" + c.topic)) subscriptions.set(client.subscribe(c.id), c);
  }
});
client.on("advertiseServices", (services) => {
  say("services", { names: services.map((s) => s.name) });
  let call = 0;
  for (const command of commands) {
    const [verb, ...rest] = command.split(":");
    if (verb === "param") client.getParameters([], "p1");
    if (verb === "graph") client.subscribeConnectionGraph();
    if (verb === "asset") client.fetchAsset(rest.join(":"), 1);
    if (verb === "call") {
      const service = services.find((s) => s.name === rest[0]);
      client.sendServiceCallRequest({ serviceId: service?.id ?? 9999, callId: ++call, encoding: "json", data: text.encode(rest.slice(1).join(":")) });
    }
    if (verb === "publish") {
      const id = client.advertise({ topic: rest[0], encoding: "json", schemaName: rest[1] });
      client.sendMessage(id, text.encode(rest.slice(2).join(":")));
    }
  }
});
function finish() {
  say("counts", { counts: Object.fromEntries(counts) });
  client.close();
  setTimeout(() => process.exit(0), 500);
}
process.stdin.on("end", finish);
process.stdin.resume();
setTimeout(finish, Number(seconds) * 1000);

// Is a robot with the official server of Foxglove's WebSocket protocol: node serve.mjs
// It prints its port, and says what it has once somebody subscribes: texts of ROS 1 and ROS 2
// and JSON at once; then a channel that comes late, goes, and comes again with another
// schema. It ends when its standard input does.
import { createRequire } from "node:module";
import { WebSocketServer } from "ws";
const require = createRequire(import.meta.url);
const { FoxgloveServer } = require("@foxglove/ws-protocol");

const server = new FoxgloveServer({ name: "robot", capabilities: ["time", "parameters"], supportedEncodings: ["cdr"] });
const ws = new WebSocketServer({ port: 0, host: "127.0.0.1", handleProtocols: (protocols) => server.handleProtocols(protocols) });
ws.on("listening", () => process.stdout.write(ws.address().port + "\n"));
ws.on("connection", (conn, request) => server.handleConnection(conn, String(request.socket.remoteAddress)));
server.on("error", (e) => process.stderr.write(String(e) + "\n"));
server.on("getParameters", ({ id }, conn) =>
  server.publishParameterValues([{ name: "/robot_state_publisher.robot_description", value: "<robot name='official'/>" }, { name: "/rate", value: 3 }], id, conn));

let now = BigInt(Date.now()) * 1000000n;
const text = new TextEncoder();
function ros1(s) {
  const b = text.encode(s), out = new Uint8Array(4 + b.length);
  new DataView(out.buffer).setUint32(0, b.length, true);
  out.set(b, 4);
  return out;
}
function cdr(s) {
  const b = text.encode(s), out = new Uint8Array(8 + b.length + 1);
  out.set([0, 1, 0, 0]);
  new DataView(out.buffer).setUint32(4, b.length + 1, true);
  out.set(b, 8);
  return out;
}
const cdrInt = (n) => new Uint8Array([0, 1, 0, 0, n, 0, 0, 0]);
function send(id, ...payloads) {
  for (const p of payloads) {
    now += 1000000n;
    server.broadcastTime(now);
    server.sendMessage(id, now, p);
  }
}

const of = new Map(); // what happens when a channel is subscribed to
function offer(topic, encoding, schemaName, schema, schemaEncoding, then) {
  of.set(server.addChannel({ topic, encoding, schemaName, schema, schemaEncoding }), then);
}
server.on("subscribe", (id) => of.get(id)?.(id));
offer("/one", "ros1", "std_msgs/String", "string data\n", undefined, (id) => send(id, ros1("a"), ros1("b")));
offer("/json", "json", "thing", "{}", "jsonschema", (id) => send(id, text.encode('{"n": 7}')));
offer("/two", "cdr", "std_msgs/msg/String", "string data\n", "ros2msg", (id) => {
  send(id, ...Array.from({ length: 100 }, (_, i) => cdr("number " + i)));
  offer("/late", "cdr", "my_msgs/msg/Thing", "int32 a", "ros2msg", (id) => {
    send(id, cdrInt(1));
    server.removeChannel(id);
    offer("/late", "cdr", "my_msgs/msg/Thing", "int32 b", "ros2msg", (id) => {
      send(id, cdrInt(2));
      server.sendStatus({ level: 1, message: "that was all" });
    });
  });
});
process.stdin.on("end", () => process.exit(0));
process.stdin.resume();

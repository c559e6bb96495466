// Reads an export for ROS with readers that are not ours: an MCAP file with CDR, or a bag.
// Prints a line of JSON for each message: topic, type, log time, the message as it is decoded
// by its definition.
//
//   node read.mjs FILE
import { open } from "node:fs/promises";

const path = process.argv[2];
const plain = (_, v) =>
  typeof v === "bigint" ? v.toString()
  : ArrayBuffer.isView(v) ? Array.from(v, (e) => (typeof e === "bigint" ? e.toString() : Number.isFinite(e) ? e : String(e)))
  : typeof v === "number" && !Number.isFinite(v) ? String(v) : v;
const print = (record) => console.log(JSON.stringify(record, plain));

if (path.endsWith(".bag")) {
  const { Bag } = await import("@foxglove/rosbag");
  const { FileReader } = await import("@foxglove/rosbag/node.js");
  const { parse } = await import("@foxglove/rosmsg");
  const bag = new Bag(new FileReader(path), { parse: false });
  await bag.open();
  const { MessageReader } = await import("@foxglove/rosmsg-serialization");
  const readers = new Map();
  for await (const m of bag.messageIterator()) {
    const c = bag.connections.get(m.connectionId);
    if (!readers.has(m.connectionId)) readers.set(m.connectionId, new MessageReader(parse(c.messageDefinition)));
    const time = BigInt(m.timestamp.sec) * 1000000000n + BigInt(m.timestamp.nsec);
    print({ topic: m.topic, type: c.type, md5sum: c.md5sum, log: time, size: m.data.length, message: readers.get(m.connectionId).readMessage(m.data) });
  }
} else {
  const { McapIndexedReader } = await import("@mcap/core");
  const { decompress } = await import("fzstd");
  const { parse } = await import("@foxglove/rosmsg");
  const { MessageReader } = await import("@foxglove/rosmsg2-serialization");
  const file = await open(path);
  const size = BigInt((await file.stat()).size);
  const readable = {
    size: async () => size,
    read: async (offset, length) => {
      const buffer = new Uint8Array(Number(length));
      await file.read(buffer, 0, buffer.length, Number(offset));
      return buffer;
    },
  };
  const decompressHandlers = { zstd: (buffer, n) => decompress(buffer, new Uint8Array(Number(n))) };
  const reader = await McapIndexedReader.Initialize({ readable, decompressHandlers });
  if (reader.header.profile !== "ros2") throw new Error(`profile ${reader.header.profile}`);
  const readers = new Map();
  for await (const m of reader.readMessages({ validateCrcs: true })) {
    const channel = reader.channelsById.get(m.channelId);
    const schema = reader.schemasById.get(channel.schemaId);
    if (channel.messageEncoding !== "cdr" || schema.encoding !== "ros2msg") throw new Error(`${channel.topic} is ${channel.messageEncoding} by ${schema.encoding}`);
    if (!readers.has(m.channelId)) {
      readers.set(m.channelId, new MessageReader(parse(new TextDecoder().decode(schema.data), { ros2: true })));
    }
    print({ topic: channel.topic, type: schema.name, log: m.logTime, size: m.data.length, message: readers.get(m.channelId).readMessage(m.data) });
  }
  await file.close();
}

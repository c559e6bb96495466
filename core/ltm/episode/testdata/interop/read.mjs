// Reads an MCAP file with @mcap/core, once by its index and once as a stream, and
// prints what it finds as JSON lines: one for each message, metadata record and
// attachment, and at the end the counts.
//
//   node read.mjs FILE
import { McapIndexedReader, McapStreamReader } from "@mcap/core";
import { decompress } from "fzstd";
import { createHash } from "node:crypto";
import { open, readFile } from "node:fs/promises";

const decompressHandlers = { zstd: (buffer, size) => decompress(buffer, new Uint8Array(Number(size))) };
const path = process.argv[2];
const print = (record) =>
  console.log(JSON.stringify(record, (_, v) => (typeof v === "bigint" ? v.toString() : v instanceof Map ? Object.fromEntries(v) : v)));
const hash = (bytes) => createHash("sha256").update(bytes).digest("hex");
const message = (how, channels, schemas, m) => {
  const channel = channels.get(m.channelId);
  const schema = schemas.get(channel.schemaId);
  print({
    how, channel: m.channelId, topic: channel.topic, schema: schema.name, encoding: schema.encoding, schemaHash: hash(schema.data),
    codec: channel.metadata.get("codec") ?? "", id: channel.metadata.get("id") ?? "",
    sequence: m.sequence, log: m.logTime, publish: m.publishTime, size: m.data.length, hash: hash(m.data),
  });
};

const file = await open(path);
const size = BigInt((await file.stat()).size);
const readable = {
  size: async () => size,
  read: async (offset, length) => {
    const buffer = new Uint8Array(Number(length));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, Number(offset));
    if (bytesRead !== buffer.length) throw new Error(`${bytesRead} bytes at ${offset} instead of ${length}`);
    return buffer;
  },
};
const reader = await McapIndexedReader.Initialize({ readable, decompressHandlers });
for await (const m of reader.readMessages({ validateCrcs: true })) {
  message("index", reader.channelsById, reader.schemasById, m);
}
for await (const m of reader.readMetadata()) print({ how: "metadata", name: m.name, metadata: m.metadata });
for await (const a of reader.readAttachments({ validateCrcs: true })) print({ how: "attachment", name: a.name, size: a.data.length });

const stream = new McapStreamReader({ validateCrcs: true, decompressHandlers });
stream.append(await readFile(path));
const channels = new Map(), schemas = new Map();
for (let record; (record = stream.nextRecord()); ) {
  switch (record.type) {
    case "Schema": schemas.set(record.id, record); break;
    case "Channel": channels.set(record.id, record); break;
    case "Message": message("stream", channels, schemas, record); break;
  }
}
print({ how: "end", done: stream.done(), bytesRemaining: stream.bytesRemaining(), statistics: reader.statistics });
await file.close();

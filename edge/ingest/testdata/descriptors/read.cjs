// Reads payloads by their descriptors with protobuf-es, as read.py does. It runs in a folder that has protobuf-es.
const { existsSync, readdirSync, readFileSync } = require('node:fs')
const require_ = require('node:module').createRequire(process.cwd() + '/x.js')
const { createFileRegistry, fromBinary, toJson } = require_('@bufbuild/protobuf')
const { FileDescriptorSetSchema } = require_('@bufbuild/protobuf/wkt')

const found = {}
for (const folder of process.argv.slice(2)) {
  for (const file of readdirSync(folder).filter((f) => f.endsWith('.binpb'))) {
    const path = `${folder}/${file}`
    const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(path)))
    const schema = registry.getMessage(file.slice(0, -'.binpb'.length))
    const payload = path.replace(/binpb$/, 'payload')
    found[path] = existsSync(payload) && schema ? toJson(schema, fromBinary(schema, readFileSync(payload)), { registry }) : schema && {}
  }
}
console.log(JSON.stringify(found))

// Watches objects, and says where each is that was seen with confidence; then where the robot is.
//
//	node examples/objects.mjs [http://127.0.0.1:7411]
import { Memory, range, now, SECOND } from 'engram-client'

const m = new Memory(process.argv[2])

// What there is, and how much of it came in the last ten seconds.
for await (const s of m.query('Object/Instance', { where: 'confidence > 0.8' })) {
  let times = 0
  for await (const _ of m.query(s.entity, { snapshots: [range(now() - 10n * SECOND)], payload: 'none' })) times++
  console.log(s.entity, 'at', s.value.pose?.position, `seen ${times} times in 10 s`)
}

// What changes, until five updates have come.
let n = 0
for await (const u of m.watch('Object/Instance', { backfill: 1, fields: ['pose'] })) {
  console.log(u.id)
  if (++n === 5) break
}

const { position, orientation } = await m.pose('Simulation/map', 'Simulation/base_link')
console.log('the robot is at', position, orientation)

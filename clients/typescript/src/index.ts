/**
 * Client of Engram, the memory of a robot, for browsers and Node.js.
 *
 *	import { Memory, range } from 'engram-client'
 *
 *	const m = new Memory('http://127.0.0.1:7411')
 *	await m.commit('GeneralPurpose/Kitchen/cook/stove', { celsius: 21 })
 *	for await (const s of m.query('Object/Instance', { where: 'confidence > 0.8' })) console.log(s.id, s.value)
 *
 * Times are nanoseconds since 1970, as bigint. Errors are EngramError: code, thing, and what to do.
 */
export * from './errors.js'
export * from './ids.js'
export * from './memory.js'
export * from './select.js'
export * from './snapshots.js'
export * from './times.js'

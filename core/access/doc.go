// Package access says who may do what: identities, the rules about them, and the
// guard that an edge puts before what it serves.
//
// A server that has rules serves a [Guard] instead of itself. The guard asks
// the [Control], which holds the rules in force, for each call of an identity that an
// edge has put into the call's context ([WithIdentity]). What may not be read does
// not exist for who asks: queries, statistics, descriptions, subscriptions, copies
// and names neither hold nor count it, because the memory answers them within a scope
// (engram.WithScope). What may not be changed is refused with engram.Forbidden,
// whether it exists or not.
//
// Callers in the server's own process use the server itself and are not asked.
// The package knows no transport; docs/security.md is the guide.
package access

// Package contract is what copies between memory servers speak about: what the owner
// of provider segments offers to the holders of copies of them ([Source]), what a
// holder's memory offers to put copies into ([Memory]), and how copies are
// administered ([Admin]). A server offers the first two, package copies holds
// copies, and edge/transport/rpc carries all of it; none of them needs to know the others.
//
// It holds meanings and hardly any behaviour. docs/distribution.md is the guide.
package contract

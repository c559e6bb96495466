// Package credentials is who programs of one deployment prove to be: an authority
// that signs certificates, files of credentials (certificate, key, authority), and
// mutual TLS by them.
//
// A certificate names its [access.Identity] in a URI, "engram:identity:NAME", and
// says by its extended key usages whether it is a server's. Host names and addresses
// are not looked at: robots change networks. Whoever has a server's certificate is a
// server of the deployment; others are never taken for one.
//
// Keys are read from files that nobody else may read, and are in no message.
package credentials

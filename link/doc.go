// Package link follows the links in payloads both ways, in the memories of one server: to the
// targets of something, and to its sources (back-links).
//
// [Index] is a secondary index of links. It lies in RAM, is empty until the first question, and
// can always be filled anew, from the working memory and from the lists in episodes. [Local]
// answers from the index and from queries. Its answers have nothing evicted, superseded or
// forgotten, and nothing beyond the caller's rights. Package link/service walks traces over
// such answers, of one server or of many; link/why says traces in sentences.
//
// The package knows no transport and no server. [Config] has all that it reads.
package link

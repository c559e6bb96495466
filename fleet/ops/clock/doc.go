// Package clock finds out how far the clocks of other memory servers are from this
// one's, and shows it. It changes no time, neither a clock nor one in the data: who
// compares times of two computers must know how far he can.
//
// A measurement is the one of NTP (RFC 5905, section 8): the server tells its clock when
// the question came (t2) and when the answer left (t3), the asker has its own at both
// ends (t1, t4). The offset is wrong by at most half of what the message was on its way.
// Of several measurements the one with the least delay counts: what waited in queues
// says little.
package clock

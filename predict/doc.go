// Package predict says what numbers will be: the members of an entity's snapshots at a time to
// come, each with its uncertainty, and how well such predictions did lately.
//
// A [Tracker] is level 1, in working memory. It follows one entity, learns from each snapshot,
// and keeps several models side by side: the last value, a line, a damped trend, a filter of
// position and velocity, a rate that is told beside the value, a period, and a recursive least-squares regression on what went before.
// For each member and horizon their errors in the past say which of them count. Its memory is
// bounded and an update allocates nothing.
//
// A [Model] is level 2, trained from episodes: ridge regressions on longer windows, also of other
// entities, such as the commanded joints of measured ones. It takes part in a Tracker as one more
// model, and so is used where it proves better and not where it does not.
//
// The package knows no server, no transport and no clock; see package predict/service for those.
// What it follows: Holt's and Gardner's damped trend, the alpha-beta filter, recursive least squares
// with forgetting, and adaptive conformal intervals (Gibbs and Candès, 2021).
package predict

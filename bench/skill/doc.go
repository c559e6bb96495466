// Package skill measures how soon a provider of skills in another process is called, by a request or by
// an update that fulfils a condition, and how soon its answer is back; and what standing conditions cost
// updates that concern none of them. See the tests.
package skill

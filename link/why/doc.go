// Package why says traces in sentences: why something was done, what it was made of, how it
// ended and why it failed. Its templates know the types of the memories by the names of their
// members, and one of them any type. Nothing is said that no snapshot says: what is not
// there, or may not be read, is left out.
package why

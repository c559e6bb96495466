// Package follow keeps views of what is committed.
package follow

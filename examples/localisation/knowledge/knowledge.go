// Package knowledge is what the example robot knows of objects before it sees any.
package knowledge

import "embed"

// Files are prior knowledge for memories.WithPriorKnowledge.
//
//go:embed Object
var Files embed.FS

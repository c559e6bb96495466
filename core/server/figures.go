package server

import "github.com/seed-301d4374/engram/core/wm"

// Figures returns what operators watch of the working memory.
func (s *Server) Figures() wm.Figures { return s.wm.Figures() }
